// The session of the window against a server that loses, doubles, locks, restarts and changes its mind.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type * as vscode from 'vscode';
import { CurrentSession } from '../../src/session/current';
import { LETTING_GO } from '../../src/session/opening';
import type { StoredEvent } from '../../src/lsp/protocol';
import { Uri, reset } from '../stub/vscode';
import { until } from '../host/tools';
import { FakeMemory, FakeWire, refusal } from './fakeWire';
import { chunks, goal, Log, session } from './values';

const FOLDER = Uri.parse('file:///w') as unknown as vscode.Uri;

describe('the session of the window', () => {
  let wire: FakeWire;
  let memory: FakeMemory;
  let current: CurrentSession;
  let appended: number[];
  const make = (folder: vscode.Uri | undefined = FOLDER) => {
    current = new CurrentSession(wire, memory, () => folder);
    current.onDidAppend((events) => appended.push(...events.map(({ seq }) => seq)));
    return current;
  };
  const seqs = () => current.events().map(({ seq }) => seq);
  const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);
  beforeEach(() => {
    reset();
    wire = new FakeWire();
    memory = new FakeMemory();
    appended = [];
    make();
  });
  afterEach(() => {
    current.dispose();
    vi.useRealTimers();
  });

  describe('which one it is', () => {
    it('is the one that was shown before', async () => {
      memory.kept.set('steersman.session', 's1');
      wire.serve(session(), chunks(3));
      await current.start();
      expect(wire.of('steersman/session/open')).toEqual([{ sessionId: 's1' }]);
      expect(seqs()).toEqual([1, 2, 3]);
      expect(current.opening).toEqual({ kind: 'open' });
    });

    it("is else the folder's latest", async () => {
      wire.serve(session(), []).answer('steersman/session/list', () => ({ sessions: [session()] }));
      await current.start();
      expect(wire.of('steersman/session/list')).toEqual([{ workspaceFolder: 'file:///w', limit: 1 }]);
      expect(current.info?.sessionId).toBe('s1');
      expect(memory.kept.get('steersman.session')).toBe('s1');
    });

    it('is the latest where the one before is deleted', async () => {
      memory.kept.set('steersman.session', 'gone');
      wire
        .serve(session(), [])
        .answer('steersman/session/list', () => ({ sessions: [session()] }))
        .answer('steersman/session/open', ({ sessionId }) => {
          if (sessionId === 'gone') throw refusal('sessionNotFound');
          return session();
        });
      await current.start();
      expect(current.info?.sessionId).toBe('s1');
    });

    it('is none where there is none, and none is made', async () => {
      wire.answer('steersman/session/list', () => ({ sessions: [] }));
      await current.start();
      expect(current.info).toBeUndefined();
      expect(current.opening).toEqual({ kind: 'none' });
      expect(wire.of('steersman/session/new')).toEqual([]);
    });

    it('is made with the first words', async () => {
      wire
        .answer('steersman/session/new', () => session())
        .answer('steersman/turn/prompt', () => ({ messageId: 'm', outcome: 'started' }));
      await current.prompt('hello');
      expect(wire.of('steersman/session/new')).toEqual([{ workspaceFolder: 'file:///w' }]);
      expect(wire.of('steersman/turn/prompt')).toMatchObject([{ sessionId: 's1', text: 'hello' }]);
    });

    it('is asked for when the server runs, without a word about its goal', async () => {
      memory.kept.set('steersman.session', 's1');
      wire.serve(session({ goal: goal({ activation: 'disarmed' }) }), []);
      wire.become('running');
      await until(() => current.opening.kind === 'open', 'it is open');
      expect(wire.asked.filter(({ method }) => method.startsWith('steersman/goal'))).toEqual([]);
    });

    it('gives the one before back, but not one that works on', async () => {
      wire.serve(session(), []).answer('steersman/session/close', () => {
        throw refusal('sessionBusy');
      });
      await current.open('s1');
      wire.serve(session({ sessionId: 's2' }), []);
      await current.open('s2');
      expect(wire.of('steersman/session/close')).toEqual([{ sessionId: 's1' }]);
      expect(current.info?.sessionId).toBe('s2');
    });

    it('is the last that was asked for, whichever answer comes first', async () => {
      let answerFirst: (() => void) | undefined;
      wire.serve(session(), []).answer('steersman/session/close', () => ({}));
      wire.answer('steersman/session/open', async ({ sessionId }) => {
        if (sessionId === 'slow') await new Promise<void>((resolve) => (answerFirst = resolve));
        return session({ sessionId });
      });
      const slow = current.open('slow');
      await current.open('quick');
      answerFirst?.();
      await slow;
      expect(current.info?.sessionId).toBe('quick');
      expect(wire.of('steersman/session/close')).toEqual([{ sessionId: 'slow' }]);
    });

    it('is none after it was closed', async () => {
      wire.serve(session(), chunks(2)).answer('steersman/session/close', () => ({}));
      await current.open('s1');
      await current.close();
      expect(current.info).toBeUndefined();
      expect(current.events()).toEqual([]);
      expect(memory.kept.size).toBe(0);
    });

    it('stays where it is busy and was to be closed', async () => {
      wire.serve(session(), []).answer('steersman/session/close', () => {
        throw refusal('sessionBusy');
      });
      await current.open('s1');
      await expect(current.close()).rejects.toThrow('sessionBusy');
      expect(current.info?.sessionId).toBe('s1');
    });

    it('tells why it could not be opened', async () => {
      wire.answer('steersman/session/open', () => {
        throw refusal('storage', 'The disk is full.');
      });
      await expect(current.open('s1')).rejects.toThrow();
      expect(current.opening).toEqual({ kind: 'failed', words: 'The disk is full.' });
    });
  });

  describe('that another has', () => {
    beforeEach(() => {
      vi.useFakeTimers();
    });

    it('is waited for, visibly, and taken when it is free', async () => {
      let tries = 0;
      wire.serve(session(), []).answer('steersman/session/open', () => {
        tries += 1;
        if (tries < 4) throw refusal('sessionLocked');
        return session();
      });
      const opened = current.open('s1');
      await vi.advanceTimersByTimeAsync(1);
      expect(current.opening).toEqual({ kind: 'opening', words: LETTING_GO });
      await vi.advanceTimersByTimeAsync(2_000);
      await opened;
      expect(current.opening).toEqual({ kind: 'open' });
    });

    it('is only read where it stays so, and nothing is written', async () => {
      wire.serve(session(), chunks(2)).answer('steersman/session/open', ({ readOnly }) => {
        if (!readOnly) throw refusal('sessionLocked');
        return session({ readOnly: true, lastSeq: 2 });
      });
      const opened = current.open('s1');
      await vi.advanceTimersByTimeAsync(10_000);
      await opened;
      expect(current.opening).toMatchObject({ kind: 'readOnly' });
      expect(seqs()).toEqual([1, 2]);
      await expect(current.prompt('hello')).rejects.toThrow('only be read');
      await expect(current.goalCommand('/goal pause')).rejects.toThrow('only be read');
      expect(wire.of('steersman/turn/prompt')).toEqual([]);
    });

    it('is not waited for any more once another was asked for', async () => {
      wire.serve(session(), []).answer('steersman/session/open', ({ sessionId }) => {
        if (sessionId === 's1') throw refusal('sessionLocked');
        return session({ sessionId });
      });
      const first = current.open('s1');
      await vi.advanceTimersByTimeAsync(300);
      await current.open('s2');
      const tries = wire.of('steersman/session/open').length;
      await vi.advanceTimersByTimeAsync(10_000);
      await first;
      expect(wire.of('steersman/session/open')).toHaveLength(tries);
      expect(current.info?.sessionId).toBe('s2');
    });

    it.each([
      ['sessionCorrupt', 'The log is damaged at event 9.', 'damaged at event 9'],
      ['workspaceMismatch', 'No.', 'another folder'],
    ])('is read at once, and why is told: %s', async (kind, message, words) => {
      wire.serve(session(), []).answer('steersman/session/open', ({ readOnly }) => {
        if (!readOnly) throw refusal(kind, message);
        return session({ readOnly: true });
      });
      await current.open('s1');
      expect(current.opening.kind === 'readOnly' && current.opening.words).toContain(words);
    });
  });

  describe('and its events', () => {
    const all = chunks(30);
    const part = (from: number, to: number) => all.slice(from - 1, to);

    it('come once each, whatever is told twice', async () => {
      wire.serve(session(), part(1, 5));
      await current.open('s1');
      wire.append(part(4, 7));
      wire.append(part(6, 8));
      expect(seqs()).toEqual(upTo(8));
      expect(appended).toEqual(upTo(8));
    });

    it('are asked for where there is a hole, and stay in order', async () => {
      wire.serve(session(), part(1, 5));
      await current.open('s1');
      wire.serve(session(), part(1, 12));
      wire.append(part(9, 12));
      await until(() => seqs().length === 12, 'the hole is filled');
      expect(appended).toEqual(upTo(12));
      expect(wire.of('steersman/session/events').at(-1)).toMatchObject({ afterSeq: 5 });
    });

    it('are asked for where the session is told to have more than was told', async () => {
      wire.serve(session(), part(1, 5));
      await current.open('s1');
      wire.serve(session(), part(1, 9));
      wire.change(session({ lastSeq: 9 }));
      await until(() => seqs().length === 9, 'they are here');
      expect(appended).toEqual(upTo(9));
    });

    it('that come while pages are read are not lost', async () => {
      wire.serve(session(), part(1, 8)).answer('steersman/session/events', ({ afterSeq = 0 }) => {
        if (afterSeq === 0) wire.append(part(9, 10));
        return { events: all.slice(afterSeq, afterSeq + 4), lastSeq: 10, hasMore: afterSeq < 6 };
      });
      await current.open('s1');
      expect(seqs()).toEqual(upTo(10));
      expect(appended).toEqual(upTo(10));
    });

    it('of another session are not taken', async () => {
      wire.serve(session(), part(1, 2));
      await current.open('s1');
      wire.append(chunks(5, 's2'), 's2');
      wire.change(session({ sessionId: 's2', title: 'other' }));
      expect(seqs()).toEqual([1, 2]);
      expect(current.info?.title).toBe('A session');
    });

    it('go on from the last one after the server was started again', async () => {
      wire.serve(session(), part(1, 5));
      await current.open('s1');
      const before = wire.of('steersman/session/events').length;
      wire.become('stopped');
      wire.serve(session(), part(1, 9));
      wire.become('running');
      await until(() => seqs().length === 9, 'they are here');
      expect(appended).toEqual(upTo(9));
      expect(wire.of('steersman/session/events')[before]).toMatchObject({ afterSeq: 5 });
      expect(wire.of('steersman/session/list')).toEqual([]);
    });

    it('begin anew where the log was cut back', async () => {
      wire.serve(session(), part(1, 9));
      await current.open('s1');
      let replaced = 0;
      current.onDidReplace(() => (replaced += 1));
      wire.serve(session(), part(1, 4));
      await current.open('s1');
      expect(seqs()).toEqual(upTo(4));
      expect(replaced).toBe(1);
    });

    it('of a long session are the latest ones, and earlier ones on demand', async () => {
      const long: StoredEvent[] = [];
      const log = new Log();
      for (let turn = 1; long.length < 5_600; turn += 1) {
        log.turn(turn, 'words');
        long.push(...log.events.slice(long.length));
      }
      const last = long.length;
      wire.serve(session(), long);
      await current.open('s1');
      expect(current.events()).toHaveLength(4_000);
      expect(current.hasEarlier).toBe(true);
      await current.earlier();
      await current.earlier();
      expect(current.hasEarlier).toBe(false);
      expect(seqs()).toEqual(upTo(last));
    });

    it('hold no chunks whose message has come', async () => {
      const log = new Log().turn(1, 'hi').chunk('a').chunk('b').reply('ab').chunk('c');
      wire.serve(session(), log.events);
      await current.open('s1');
      expect(current.events().map(({ type }) => type)).toEqual([
        'turn/start',
        'step/start',
        'user/message',
        'assistant/message',
        'assistant/chunk',
      ]);
    });
  });

  describe('and what the person says', () => {
    beforeEach(async () => {
      wire
        .serve(session({ goal: goal({ revision: 4 }) }), [])
        .answer('steersman/turn/prompt', () => ({ messageId: 'm', outcome: 'started' }))
        .answer('steersman/turn/steer', () => ({ messageId: 'm', outcome: 'injected' }));
      await current.open('s1');
    });

    it('has an id of its own each time', async () => {
      await current.prompt('again');
      await current.prompt('again');
      const [first, second] = wire.of('steersman/turn/prompt');
      expect(first?.messageId).toMatch(/^[\da-f-]{36}$/);
      expect(first?.messageId).not.toBe(second?.messageId);
    });

    it('keeps its id where no answer came, so that it cannot be doubled', async () => {
      wire.answer('steersman/turn/prompt', () => Promise.reject(new Error('The connection was closed.')));
      await expect(current.prompt('do it')).rejects.toThrow('closed');
      wire.answer('steersman/turn/prompt', () => ({ messageId: 'm', outcome: 'started' }));
      await current.prompt('do it');
      const [first, second] = wire.of('steersman/turn/prompt');
      expect(first?.messageId).toBe(second?.messageId);
    });

    it('has another id where the words are others', async () => {
      wire.answer('steersman/turn/prompt', () => Promise.reject(new Error('no')));
      await expect(current.prompt('one')).rejects.toThrow();
      await expect(current.prompt('two')).rejects.toThrow();
      const [first, second] = wire.of('steersman/turn/prompt');
      expect(first?.messageId).not.toBe(second?.messageId);
    });

    it('takes what is attached along', async () => {
      await current.steer('this', [{ uri: 'file:///w/a.py', kind: 'file' }]);
      expect(wire.of('steersman/turn/steer')).toMatchObject([{ context: [{ uri: 'file:///w/a.py', kind: 'file' }] }]);
      await current.prompt('that', []);
      expect(wire.of('steersman/turn/prompt')[0]).not.toHaveProperty('context');
    });

    it.each([
      ['pause', 'steersman/goal/pause', {}],
      ['resume', 'steersman/goal/resume', {}],
      ['clear', 'steersman/goal/clear', {}],
      ['accept', 'steersman/goal/complete', { accept: true }],
    ] as const)('acts on the goal that is shown: %s', async (verb, method, more) => {
      wire.answer(method, () => goal() as null & ReturnType<typeof goal>);
      await current.goal(verb);
      expect(wire.of(method)).toEqual([{ sessionId: 's1', ref: { id: 'g1', revision: 4 }, ...more }]);
    });

    it('does nothing to a goal that has changed, says so, and shows it as it is', async () => {
      wire
        .answer('steersman/goal/clear', () => {
          throw refusal('goalStale');
        })
        .answer('steersman/goal/get', () => goal({ revision: 5, objective: 'Another' }));
      await expect(current.goal('clear')).rejects.toThrow('has changed meanwhile');
      expect(current.info?.goal).toMatchObject({ revision: 5, objective: 'Another' });
      expect(wire.of('steersman/goal/clear')).toHaveLength(1);
    });

    it('is told that a queued message is taken up already', async () => {
      wire
        .answer('steersman/queue/remove', () => ({ removed: false }))
        .answer('steersman/queue/update', () => ({ updated: false }));
      await expect(current.removeQueued('m')).rejects.toThrow('taken up');
      await expect(current.updateQueued('m', 'words')).rejects.toThrow('taken up');
    });

    it('waits until the session that is being opened is there', async () => {
      let answer: (() => void) | undefined;
      wire
        .answer('steersman/session/close', () => ({}))
        .answer('steersman/session/open', async () => {
          await new Promise<void>((resolve) => (answer = resolve));
          return session({ sessionId: 's2' });
        });
      const opened = current.open('s2');
      const sent = current.prompt('hello');
      await until(() => answer !== undefined, 'it is asked');
      answer?.();
      await Promise.all([opened, sent]);
      expect(wire.of('steersman/turn/prompt')).toMatchObject([{ sessionId: 's2' }]);
    });
  });
});
