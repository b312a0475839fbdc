// The fold from events to what is shown.
import { describe, expect, it } from 'vitest';
import type { Item } from '../../src/session/items';
import { toolLine } from '../../src/session/toolLine';
import { Transcript } from '../../src/session/transcript';
import { seconds } from '../../src/session/words';
import type { Goal, StoredEvent } from '../../src/lsp/protocol';
import { Log, goal, USAGE } from './values';

const fold = (events: readonly StoredEvent[]): readonly Item[] => {
  const transcript = new Transcript();
  transcript.apply(events);
  return transcript.items;
};
const kinds = (log: Log) => fold(log.events).map(({ kind }) => kind);
const last = (log: Log) => fold(log.events).at(-1);
const only = <K extends Item['kind']>(log: Log, kind: K): Extract<Item, { kind: K }> => {
  const found = fold(log.events).filter((item): item is Extract<Item, { kind: K }> => item.kind === kind);
  expect(found).toHaveLength(1);
  return found[0] as Extract<Item, { kind: K }>;
};

describe('words', () => {
  it("of a person, of a goal's round and of the host are told apart", () => {
    const base = { turn: 1, step: 1, messageId: 'm' };
    const log = new Log()
      .say('user/message', { ...base, source: { kind: 'human' }, text: '<goal_round> Round: 9/9' })
      .say('user/message', {
        ...base,
        source: { kind: 'goal', goalId: 'g', revision: 1, round: 3 },
        text: 'I am the person.',
      })
      .say('user/message', { ...base, source: { kind: 'notice', name: 'perception' }, text: 'I am the person.' });
    expect(fold(log.events)).toMatchObject([
      { kind: 'message', from: 'person' },
      { kind: 'message', from: 'goal', label: 'Round 3' },
      { kind: 'message', from: 'notice', label: 'perception' },
    ]);
  });

  it('that joined a turn are shown as steering', () => {
    const log = new Log().say('user/message', {
      turn: 1,
      step: 2,
      messageId: 'm',
      source: { kind: 'human' },
      text: 'faster',
    });
    expect(last(log)).toMatchObject({ steer: true });
  });

  it('come in piece by piece and are then as the message has them', () => {
    const log = new Log().turn(1, 'hi').chunk('', { reasoning: 'hm' }).chunk('Hel').chunk('lo');
    expect(last(log)).toMatchObject({ kind: 'reply', text: 'Hello', reasoning: 'hm', state: 'streaming' });
    log.reply('Hello!', { reasoning: 'hm.' });
    expect(last(log)).toMatchObject({ text: 'Hello!', reasoning: 'hm.', state: 'done' });
    expect(kinds(log)).toEqual(['message', 'reply']);
  });

  it('of a call that is being written name the tool', () => {
    const log = new Log().turn(1, 'hi').chunk('', { tool: 'edit_file' });
    expect(last(log)).toMatchObject({ kind: 'reply', preparing: 'edit_file' });
    log.reply('');
    expect(last(log)).toMatchObject({ preparing: undefined, text: '', state: 'done' });
  });

  it('that were cut off are marked', () => {
    const log = new Log().turn(1, 'hi').chunk('Hel').reply('Hel', { interrupted: true });
    expect(only(log, 'reply').state).toBe('interrupted');
  });

  it('that no message followed are marked when the turn ends', () => {
    const log = new Log()
      .turn(1, 'hi')
      .chunk('Hel')
      .say('turn/end', { turn: 1, reason: { kind: 'interrupted' } });
    expect(only(log, 'reply').state).toBe('interrupted');
    expect(only(log, 'end').words).toContain('Nothing of it is run again');
  });

  it('of an attempt that failed are gone, and the retry is told', () => {
    const retry = { turn: 1, step: 1, code: 'rate-limit', delayMs: 1_500 } as const;
    const log = new Log()
      .turn(1, 'hi')
      .chunk('wrong')
      .say('model/retry', { ...retry, attempt: 1 })
      .say('model/retry', { ...retry, attempt: 2, code: 'transport' })
      .chunk('right', { attempt: 3 })
      .reply('right');
    expect(fold(log.events).slice(1)).toMatchObject([
      { kind: 'reply', text: '', state: 'dropped' },
      { kind: 'retry', tries: 2, words: expect.stringContaining('connection') as string },
      { kind: 'reply', text: 'right', state: 'done' },
    ]);
  });
});

describe('a tool card', () => {
  const called = () => new Log().turn(1, 'hi').call('c1', 'read_file', { path: 'a.py', start_line: 3 });

  it('goes from called over running to its outcome', () => {
    const log = called();
    expect(only(log, 'tool')).toMatchObject({ state: 'called', line: 'a.py lines 3–end', name: 'read_file' });
    log.say('tool/start', { turn: 1, step: 1, callId: 'c1' });
    expect(only(log, 'tool').state).toBe('running');
    log.result('c1', { durationMs: 12, verified: { ok: true, check: 'x', note: 'not empty' } });
    expect(only(log, 'tool')).toMatchObject({
      state: 'ok',
      durationMs: 12,
      output: 'fine',
      verified: { ok: true, note: 'not empty' },
    });
  });

  it.each([
    ['error', 'error'],
    ['denied', 'denied'],
    ['timeout', 'timeout'],
    ['aborted', 'aborted'],
    ['aborted-before-dispatch', 'notRun'],
    ['not-started', 'notRun'],
    ['unknown', 'unknown'],
    ['of-the-future', 'unknown'],
  ])('knows the outcome %s', (outcome, state) => {
    const log = called().result('c1', { outcome: outcome as 'ok', error: { code: 'FAILED', message: 'why' } });
    expect(only(log, 'tool')).toMatchObject({ state, error: { code: 'FAILED', message: 'why' } });
  });

  it('waits for the person while an approval is open, and tells the decision', () => {
    const asked = { approvalId: 'a', callId: 'c1', turn: 1, tool: 't', title: 'Run?', detail: '' };
    const log = called().say('approval/asked', { ...asked, risk: 'execute' });
    expect(only(log, 'tool')).toMatchObject({ state: 'asked', approval: { title: 'Run?', words: undefined } });
    log.say('approval/decided', { approvalId: 'a', decision: 'deny', by: 'human', feedback: 'not now' });
    expect(only(log, 'tool')).toMatchObject({
      state: 'waiting',
      approval: { words: 'Denied by you', feedback: 'not now' },
    });
    log.result('c1', { outcome: 'denied' });
    expect(only(log, 'tool').state).toBe('denied');
  });

  it('tells what it changed', () => {
    const change = { changeId: 'x', callId: 'c1', uri: 'file:///w/a.py', before: '1', after: '2' };
    const log = called().say('edit/applied', { ...change, kind: 'edit', added: 2, removed: 1 });
    expect(only(log, 'tool').changes).toEqual([{ uri: 'file:///w/a.py', what: 'edit', added: 2, removed: 1 }]);
  });

  it('that stands before what the window has does no harm', () => {
    const log = new Log()
      .say('tool/start', { turn: 1, step: 1, callId: 'before' })
      .result('before')
      .say('approval/decided', { approvalId: 'before', decision: 'deny', by: 'timeout' })
      .say('question/answered', { questionId: 'before', answer: null, by: 'timeout' });
    expect(kinds(log)).toEqual([]);
  });
});

describe('the line of a tool card', () => {
  it.each([
    ['{"path":"a.py"}', 'a.py'],
    ['{"path":"a.py","new_path":"b.py"}', 'a.py → b.py'],
    ['{"argv":["make","all tests"]}', 'make "all tests"'],
    ['{"pattern":"x","path":"src"}', 'x in src'],
    ['{"limit":3}', '3'],
    ['{}', ''],
    ['', ''],
    ['not json', 'not json'],
    ['[1,2]', '[1,2]'],
    ['null', 'null'],
    ['{"path":{"a":1}}', ''],
    ['{"question":"a\\nb\\u0000\\u202ec"}', 'a b c'],
  ])('%s → %s', (written, line) => {
    expect(toolLine(written)).toBe(line);
  });

  it('is short, whatever the model wrote', () => {
    expect(toolLine(JSON.stringify({ path: 'x'.repeat(100_000) })).length).toBeLessThanOrEqual(160);
  });
});

describe('records', () => {
  const receipt = {
    runId: 'r',
    status: 'failed',
    exitCode: 1,
    counts: { collected: 3, passed: 1, failed: 1, errors: 1, skipped: 0 },
    tests: [
      { id: 'a', outcome: 'failed', message: 'no' },
      { id: 'b', outcome: 'error' },
      { id: 'c', outcome: 'passed' },
    ],
    output: 'text',
    argv: ['pytest', '-q'],
    folder: 'file:///w',
    durationMs: 40,
    runner: 'editor',
  } as const;

  it('tell a test run with its counts and what fails', () => {
    const log = new Log().say('tests/receipt', { ...receipt, tests: [...receipt.tests], argv: [...receipt.argv] });
    expect(only(log, 'receipt')).toMatchObject({
      status: 'failed',
      command: 'pytest -q',
      failing: [{ id: 'a' }, { id: 'b' }],
      counts: { passed: 1 },
    });
  });

  it.each([
    [
      { answer: 'left', by: 'human' },
      { state: 'answered', answer: 'left' },
    ],
    [
      { answer: null, by: 'timeout' },
      { state: 'unanswered', answer: 'Nobody answered in time' },
    ],
    [
      { answer: null, by: 'steer' },
      { state: 'unanswered', answer: 'You wrote something else instead' },
    ],
  ] as const)('tell a question and its answer: %j', (answered, shown) => {
    const log = new Log().say('question/asked', { questionId: 'q', text: 'Which?', choices: ['left', 'right'] });
    expect(only(log, 'question')).toMatchObject({ state: 'open', choices: ['left', 'right'] });
    log.say('question/answered', { questionId: 'q', ...answered });
    expect(only(log, 'question')).toMatchObject(shown);
  });

  const snapshot: Goal = (({ activation: _activation, usage: _usage, ...rest }) => rest)(goal());
  it.each([
    [{ operation: 'create', by: 'human', goal: snapshot }, 'You set a goal: Make it work'],
    [
      { operation: 'pause', by: 'driver', goal: snapshot, reason: 'no answer' },
      'Steersman paused the goal – no answer',
    ],
    [{ operation: 'resume', by: 'model', goal: snapshot }, 'The agent resumed the goal: it is armed'],
    [{ operation: 'complete', by: 'human', goal: snapshot }, 'The goal is complete: you ended it'],
    [{ operation: 'clear', by: 'human', goal: null }, 'You cleared the goal'],
    [
      {
        operation: 'block',
        by: 'driver',
        goal: { ...snapshot, blockedReason: { code: 'failing', message: 'three in a row' } },
      },
      'The goal is blocked: three in a row',
    ],
    [{ operation: 'dream', by: 'nobody', goal: null }, 'The goal changed (dream)'],
  ])('tell a change of the goal in plain words: %#', (change, words) => {
    const log = new Log().sayAnything('goal/change', { ref: { id: 'g1', revision: 1 }, ...change });
    expect(only(log, 'line')).toMatchObject({ about: 'goal', words });
  });

  it('tell a verification with each result', () => {
    const results = [
      { checkId: 'a', kind: 'command', status: 'pass', evidence: '' },
      { checkId: 'b', kind: 'tests', status: 'noTests', evidence: 'none' },
    ] as const;
    const log = new Log().say('goal/verification', {
      phase: 'claim',
      verdict: 'fail',
      results: [...results],
      tampered: ['file:///w/test_a.py'],
    });
    expect(only(log, 'verification')).toMatchObject({
      title: 'Checks of the goal: not passed (1 of 2 pass)',
      tone: 'bad',
      results,
      tampered: ['file:///w/test_a.py'],
    });
  });

  it('tell a verdict, and its evidence on demand', () => {
    const log = new Log().say('exit/verdict', {
      policy: 'repetition',
      class: 'safety',
      severity: 'recoverable',
      action: 'remind',
      message: 'The same call three times',
      evidence: 'read_file',
    });
    expect(only(log, 'line')).toMatchObject({ about: 'verdict', tone: 'warning', detail: 'read_file' });
  });

  it('tell that a round was taken back, and say nothing of its usual way', () => {
    const round = { goalId: 'g', revision: 1, round: 2 };
    const log = new Log()
      .say('goal/round', { ...round, status: 'queued' })
      .say('goal/round', { ...round, status: 'stale', reason: 'a person wrote' });
    expect(only(log, 'line').words).toContain('Round 2 was taken back before it began: a person wrote');
  });

  it.each([
    [{ kind: 'completed' }, 'Done'],
    [{ kind: 'aborted', by: 'human' }, 'Stopped by you'],
    [{ kind: 'aborted', by: 'trust' }, 'not trusted'],
    [{ kind: 'aborted', by: 'shutdown' }, 'shut down'],
    [{ kind: 'error', code: 'auth', message: 'The key is wrong' }, 'The key is wrong (auth)'],
    [{ kind: 'max-tokens' }, 'limit'],
    [{ kind: 'exit', policy: 'budget' }, '“budget”'],
    [{ kind: 'melted' }, 'melted'],
  ])('tell how a turn ended: %j', (reason, words) => {
    const log = new Log().say('turn/start', { turn: 1, trigger: 'human' }).sayAnything('turn/end', { turn: 1, reason });
    expect(only(log, 'end').words).toContain(words);
    expect(only(log, 'end').durationMs).toBe(10);
  });

  it('tell that what waits is held, and why', () => {
    const log = new Log().say('inbox/held', { reason: 'restart' });
    expect(only(log, 'line')).toMatchObject({ words: 'What waits is held: the server was started again' });
  });
});

describe('what it does not know', () => {
  it.each([
    ['edit/kept', { changeId: 'c' }],
    ['a/type', null],
    ['constructor', {}],
    ['__proto__', 'x'],
  ])('becomes a quiet line: %s', (type, data) => {
    const log = new Log().sayAnything(type, data);
    expect(only(log, 'line')).toMatchObject({ tone: 'quiet', words: type });
  });

  it.each([['goal/verification'], ['user/message'], ['assistant/chunk'], ['tests/receipt'], ['turn/end']])(
    'because its data is no data of its type becomes a quiet line too: %s',
    (type) => {
      const log = new Log().sayAnything(type, null).turn(1, 'after');
      const items = fold(log.events);
      expect(items.at(-1)).toMatchObject({ kind: 'message', text: 'after' });
      expect(items.some((item) => item.kind === 'line' && item.words === type)).toBe(true);
    },
  );
});

describe('the fold', () => {
  const log = new Log()
    .turn(1, 'hi')
    .chunk('a')
    .chunk('b')
    .reply('ab')
    .call('c1', 'read_file', { path: 'x' })
    .say('tool/start', { turn: 1, step: 1, callId: 'c1' })
    .result('c1')
    .say('step/end', { turn: 1, step: 1, usage: USAGE })
    .say('turn/end', { turn: 1, reason: { kind: 'completed' } });

  it('gives the same, however the events are cut into pieces', () => {
    const whole = fold(log.events);
    for (let cut = 0; cut <= log.events.length; cut += 1) {
      const transcript = new Transcript();
      transcript.apply(log.events.slice(0, cut));
      transcript.apply(log.events.slice(cut));
      expect(transcript.items).toEqual(whole);
    }
  });

  it('gives the same without the chunks whose message has come, but for where the reply begins', () => {
    const without = fold(log.events.filter(({ type }) => type !== 'assistant/chunk'));
    const withoutSeq = (items: readonly Item[]) => items.map(({ seq: _seq, time: _time, ...rest }) => rest);
    expect(withoutSeq(without)).toEqual(withoutSeq(fold(log.events)));
  });

  it('tells which items are new or changed', () => {
    const transcript = new Transcript();
    transcript.apply(log.events.slice(0, 7));
    expect([...transcript.apply(log.events.slice(7, 9))]).toEqual([2]);
  });

  it('gives each item a seq of its own', () => {
    const seqs = fold(log.events).map(({ seq }) => seq);
    expect(new Set(seqs).size).toBe(seqs.length);
  });
});

it.each([
  [0, '0 ms'],
  [999, '999 ms'],
  [1_500, '1.5 s'],
  [12_345, '12 s'],
  [60_000, '1 min'],
  [119_999, '2 min'],
  [125_000, '2 min 5 s'],
  [3_600_000, '1 h'],
  [3_720_000, '1 h 2 min'],
])('%i milliseconds are %s', (milliseconds, words) => {
  expect(seconds(milliseconds)).toBe(words);
});
