// What the real server writes, through the real session of the window and the real fold.
import { afterEach, describe, expect, it } from 'vitest';
import type * as vscode from 'vscode';
import type { Item } from '../../src/session/items';
import { CurrentSession } from '../../src/session/current';
import { Transcript } from '../../src/session/transcript';
import { EventEmitter } from '../stub/vscode';
import { RealServer } from '../host/realServer';
import { loudly, pythonWith, until } from '../host/tools';
import { FakeMemory } from './fakeWire';
import type { Wire } from '../../src/lsp/wire';

const python = pythonWith('steersman', 'pytest') ?? '';

/** The real server's requests as a wire. Its notifications come late or never: the session must do without them. */
function wireOf(server: RealServer): Wire {
  const never = new EventEmitter<never>().event as never;
  return {
    request: (method, params) => server.request(method, params),
    onDidAppend: never,
    onDidChange: never,
    state: 'running',
    problem: undefined,
    onDidChangeState: never,
  };
}

const fold = (events: Parameters<Transcript['apply']>[0]): readonly Item[] => {
  const transcript = new Transcript();
  transcript.apply(events);
  return transcript.items;
};

describe.skipIf(loudly(python === '', 'there is no Python with the server'))(
  'a real session',
  { timeout: 60_000 },
  () => {
    let server: RealServer;
    afterEach(() => server.stop());

    const ended = (turns: number) =>
      until(() => server.events.filter(({ type }) => type === 'turn/end').length >= turns, 'the turn ends', 30_000);
    const opened = async (): Promise<CurrentSession> => {
      const current = new CurrentSession(wireOf(server), new FakeMemory(), () => undefined as vscode.Uri | undefined);
      await current.open(server.sessionId);
      return current;
    };

    it('is shown as it was said and done', async () => {
      server = await RealServer.start(
        python,
        [
          { reasoning: 'hm', text: 'I look.', toolCalls: [{ name: 'read_file', arguments: { path: 'a.py' } }] },
          {
            toolCalls: [
              { name: 'read_file', arguments: { path: 'nowhere.py' } },
              { name: 'ask_user', arguments: { question: 'Left?', choices: ['yes', 'no'] } },
            ],
          },
          { error: { status: 503 } },
          { text: '# Done\n\nAll of it.' },
        ],
        { 'a.py': 'x = 1\n' },
      );
      await server.prompt('Look at it.');
      await until(() => server.waiting.pending.length === 1, 'it asks', 30_000);
      const [open] = server.waiting.pending;
      server.waiting.answerQuestion(open?.id ?? '', 'yes');
      await ended(1);
      const current = await opened();
      const items = fold(current.events());
      expect(items).toMatchObject([
        { kind: 'message', from: 'person', text: 'Look at it.' },
        { kind: 'reply', text: 'I look.', reasoning: 'hm', state: 'done' },
        { kind: 'tool', name: 'read_file', line: 'a.py', state: 'ok' },
        { kind: 'reply', text: '' },
        { kind: 'tool', name: 'read_file', state: 'error', error: { code: 'NOT_FOUND' } },
        { kind: 'tool', name: 'ask_user', line: 'Left?', state: 'ok' },
        { kind: 'question', text: 'Left?', choices: ['yes', 'no'], state: 'answered', answer: 'yes' },
        { kind: 'retry', tries: 1 },
        { kind: 'reply', text: '# Done\n\nAll of it.' },
        { kind: 'end', words: 'Done' },
      ]);
      expect(items.some((item) => item.kind === 'line')).toBe(false);
      current.dispose();
    });

    it('with a goal shows its rounds as the goal’s, its checks and its end', async () => {
      const ref = { goal_id: '${goal.id}', revision: '${goal.revision}' };
      server = await RealServer.start(
        python,
        [
          { toolCalls: [{ name: 'update_goal', arguments: { ...ref, action: 'complete', evidence: 'it is so' } }] },
          { text: 'Not yet.' },
          { toolCalls: [{ name: 'update_goal', arguments: { ...ref, action: 'complete', evidence: 'it is so' } }] },
          { text: 'Not yet.' },
          { text: 'Waiting.', chunkDelayMs: 60_000 },
        ],
        {},
      );
      const current = await opened();
      const answer = await current.goalCommand('/goal Make done.txt --rounds 2 --check "test -f done.txt"');
      expect(answer.ok).toBe(true);
      await until(() => server.events.some((event) => isBlocked(event)), 'it is blocked', 30_000);
      const again = await opened();
      const items = fold(again.events());
      const rounds = items.filter((item) => item.kind === 'message').map(({ from, label }) => [from, label]);
      expect(rounds).toEqual(expect.arrayContaining([['goal', 'Round 1'], ['goal', 'Round 2']])); // prettier-ignore
      expect(items.filter((item) => item.kind === 'message' && item.from === 'person')).toEqual([]);
      expect(items.find((item) => item.kind === 'verification')).toMatchObject({
        title: 'Checks of the goal: not passed (0 of 1 pass)',
        results: [{ kind: 'command', status: 'fail' }],
      });
      const lines = items.filter((item) => item.kind === 'line').map(({ words }) => words);
      expect(lines[0]).toBe('You set a goal: Make done.txt');
      expect(lines.at(-1)).toContain('The goal is blocked');
      expect(again.info?.goal).toMatchObject({ phase: 'blocked', roundsStarted: 2 });
      current.dispose();
      again.dispose();
    });

    it('that was stopped in the middle is marked there, and what waited is told as held', async () => {
      server = await RealServer.start(python, [{ text: 'one two three four five six seven', chunkDelayMs: 300 }]);
      const current = await opened();
      await current.prompt('Count.');
      await until(() => server.events.some(({ type }) => type === 'assistant/chunk'), 'it speaks', 30_000);
      await current.prompt('Then go on.');
      await current.cancel();
      await ended(1);
      await current.open(server.sessionId);
      const items = fold(current.events());
      expect(items.find((item) => item.kind === 'reply')?.state).toBe('interrupted');
      expect(items.find((item) => item.kind === 'end')?.words).toBe('Stopped by you');
      expect(items.some((item) => item.kind === 'line' && item.words.includes('held: you pressed Stop'))).toBe(true);
      expect(current.info?.queue.held).toBe('cancelled');
      current.dispose();
    });
  },
);

function isBlocked({ type, data }: { type: string; data: unknown }): boolean {
  return type === 'goal/change' && (data as { operation?: unknown }).operation === 'block';
}
