// @vitest-environment jsdom
// The page around the composer: the goal, what waits, the queue, notices, the transcript, and how they stay together.
import { describe, expect, it } from 'vitest';
import type { ApprovalRequest, QuestionRequest } from '../../src/lsp/protocol';
import type { Waiting } from '../../src/session/waiting';
import type { ViewState } from '../../src/views/messages';
import { WaitingCards } from '../../webview/parts/waitingCards';
import { drawn, FakeHost, Page } from './page';
import { goal, Log, session } from './values';

async function pageWith(more: Partial<ViewState> = {}): Promise<Page> {
  const page = new Page();
  await page.show(more);
  return page;
}
const withGoal = (more: Parameters<typeof goal>[0]) => ({ session: session({ goal: goal(more) }) });

describe('the goal card', () => {
  it('tells phase and activation apart, and why it does not move', async () => {
    const page = await pageWith(withGoal({ activation: 'disarmed', disarmedBy: 'The session was just opened.' }));
    expect(page.all('.goal .badge').map(({ textContent }) => textContent)).toEqual(['active', 'disarmed']);
    expect(page.text('.goal .rounds')).toBe('round 3/20');
    expect(page.text('.goal .why')).toBe('Disarmed: The session was just opened.');
    await page.show(
      withGoal({ phase: 'blocked', blockedReason: { code: 'no-progress', message: 'Nothing changed.' } }),
    );
    expect(page.text('.goal .why')).toBe('Blocked (no-progress): Nothing changed.');
  });

  const check = { kind: 'user' } as const;
  it.each([
    [{}, ['Pause', 'Edit', 'Clear…']],
    [{ activation: 'disarmed' }, ['Pause', 'Resume', 'Edit', 'Clear…']],
    [{ phase: 'paused', activation: 'disarmed' }, ['Resume', 'Edit', 'Clear…']],
    [{ phase: 'paused', activation: 'disarmed', checks: [check] }, ['Resume', 'Accept', 'Edit', 'Clear…']],
    [{ phase: 'blocked', activation: 'disarmed' }, ['Resume', 'Accept', 'Edit', 'Clear…']],
    [{ phase: 'complete', activation: 'disarmed' }, ['Clear…']],
  ] as const)('has the buttons that fit %j', async (more, buttons) => {
    const page = await pageWith(withGoal({ ...more, checks: 'checks' in more ? [...more.checks] : [] }));
    expect(page.buttons('.goal')).toEqual(buttons);
  });

  it('says that Resume arms it', async () => {
    const page = await pageWith(withGoal({ phase: 'paused' }));
    expect(page.button('Resume').title).toContain('Arms it');
    page.button('Resume').click();
    expect(page.host.of('goal')).toEqual([{ type: 'goal', verb: 'resume' }]);
  });

  it('clears only when it was asked once more', async () => {
    const page = await pageWith(withGoal({}));
    page.button('Clear…').click();
    expect(page.host.of('goal')).toEqual([]);
    page.button('Keep').click();
    page.button('Clear…').click();
    page.button('Clear').click();
    expect(page.host.of('goal')).toEqual([{ type: 'goal', verb: 'clear' }]);
  });

  it('edits the objective in place, and an update does not take the words away', async () => {
    const page = await pageWith(withGoal({}));
    page.button('Edit').click();
    const field = page.field('.goal-editor textarea');
    expect(document.activeElement).toBe(field);
    field.value = 'Make it work well';
    await page.show(withGoal({ roundsStarted: 4 }));
    expect(page.field('.goal-editor textarea').value).toBe('Make it work well');
    page.button('Save').click();
    expect(page.host.of('send')).toMatchObject([{ how: 'goal', text: '/goal edit Make it work well' }]);
  });

  it('shows budgets as bars, and warns where little is left', async () => {
    const page = await pageWith(withGoal({ budgets: { tokens: 2_000, seconds: 600, steps: 5 } }));
    const bars = page.all('.goal progress').map((bar) => [bar.getAttribute('aria-label'), bar.className]);
    expect(bars).toEqual([
      ['tokens: 1.6k of 2k', ''],
      ['seconds: 3.0 s of 10 min', ''],
      ['steps: at most 5', ''],
    ]);
    await page.show(withGoal({ budgets: { tokens: 1_600 } }));
    expect(page.find('.goal progress').className).toBe('scarce');
  });

  it('shows what was proved', async () => {
    const lastVerification = {
      phase: 'claim',
      verdict: 'fail',
      results: [{ checkId: 'check-1', kind: 'command', status: 'fail', evidence: 'make: exited with 2' }],
      tampered: ['file:///w/test_a.py'],
    } as const;
    const page = await pageWith(
      withGoal({
        lastVerification: {
          ...lastVerification,
          results: [...lastVerification.results],
          tampered: ['file:///w/test_a.py'],
        },
      }),
    );
    expect(page.text('.proof')).toContain('not passed (0 of 1 pass)');
    expect(page.text('.proof')).toContain('command check-1 fails – make: exited with 2');
    expect(page.text('.proof')).toContain('test_a.py');
  });

  it('can be looked at and not touched where the session is only read', async () => {
    const page = await pageWith({ ...withGoal({}), opening: { kind: 'readOnly', words: 'why' } });
    expect(page.button('Pause').disabled).toBe(true);
    expect(page.button('Clear…').disabled).toBe(true);
  });

  it('goes with the goal', async () => {
    const page = await pageWith(withGoal({}));
    await page.show();
    expect(page.text('.goal')).toBe('');
  });
});

const approval = (more: Partial<ApprovalRequest> = {}): Waiting => ({
  kind: 'approval',
  id: more.approvalId ?? 'a1',
  request: {
    approvalId: 'a1',
    sessionId: 's1',
    turn: 1,
    callId: 'c1',
    tool: 'run_command',
    title: 'Run make',
    detail: 'It wants to **build**.',
    risk: 'execute',
    argv: ['make', 'a b'],
    ...more,
  },
});
const question = (more: Partial<QuestionRequest> = {}): Waiting => ({
  kind: 'question',
  id: 'q1',
  request: { questionId: 'q1', sessionId: 's1', turn: 1, text: 'Which *side*?', ...more },
});

describe('the objective that is changed', () => {
  it('stays as it was written where it is refused, until it is taken or left', async () => {
    const page = await pageWith(withGoal({}));
    page.button('Edit').click();
    page.field('.goal textarea').value = 'Make it better --rounds 0';
    page.button('Save').click();
    page.button('Save').click();
    expect(page.host.of('send').map(({ text }) => text)).toEqual(['/goal edit Make it better --rounds 0']);
    page.host.tell({ type: 'sent', send: 0, problem: '' });
    expect(page.field('.goal textarea').value).toBe('Make it better --rounds 0');
    page.field('.goal textarea').value = 'Make it better';
    page.button('Save').click();
    await page.show(withGoal({ objective: 'Make it better', revision: 2 }));
    page.host.tell({ type: 'sent', send: 0, problem: undefined });
    expect(page.text('.goal .objective')).toBe('Make it better');
    expect(document.activeElement).toBe(page.button('Edit'));
  });
});

describe('what waits for the person', () => {
  it('is shown with the command as it is, and answered by its buttons', async () => {
    const page = await pageWith({ waiting: [approval()] });
    expect(page.text('.waiting-card pre')).toBe('make "a b"');
    expect(page.text('.waiting-card .tag')).toBe('runs a program');
    page.button('Allow for this session').click();
    page.button('Allow').click();
    expect(page.host.of('decide').map(({ decision }) => decision)).toEqual(['allowSession', 'allowOnce']);
  });

  it('is denied with words', async () => {
    const page = await pageWith({ waiting: [approval()] });
    page.field('.feedback').value = ' use ninja ';
    page.button('Deny').click();
    expect(page.host.of('decide')).toEqual([{ type: 'decide', id: 'a1', decision: 'deny', feedback: 'use ninja' }]);
  });

  it('cannot be remembered where it destroys', async () => {
    const page = await pageWith({ waiting: [approval({ risk: 'destructive' })] });
    expect(page.buttons('.waiting-card').some((label) => label.startsWith('Allow for'))).toBe(false);
  });

  it('does not take the focus from the words, and Enter there is no answer', async () => {
    const page = await pageWith();
    page.input.focus();
    page.type('some words');
    await page.show({ waiting: [approval()], session: session({ state: 'running', waitingOn: 'approval' }) });
    expect(document.activeElement).toBe(page.input);
    page.press('Enter');
    expect(page.host.of('decide')).toEqual([]);
    expect(page.host.of('send')).toMatchObject([{ how: 'steer' }]);
  });

  it('is answered by its keys, but not before it could be read, and not by others', () => {
    let now = 0;
    const host = new FakeHost();
    const cards = new WaitingCards(host, () => now);
    cards.update([approval()], 's1');
    const press = (code: string, more: KeyboardEventInit = {}) =>
      document.dispatchEvent(new KeyboardEvent('keydown', { code, altKey: true, shiftKey: true, ...more }));
    press('KeyA');
    now = 1_000;
    press('KeyA', { shiftKey: false });
    press('KeyA', { repeat: true });
    press('KeyA', { ctrlKey: true });
    press('KeyX');
    expect(host.of('decide')).toEqual([]);
    press('KeyD');
    expect(host.of('decide')).toMatchObject([{ decision: 'deny' }]);
    cards.update([], 's1');
    press('KeyA');
    expect(host.of('decide')).toHaveLength(1);
  });

  it('keeps what was written into a card while others come and go', async () => {
    const page = await pageWith({ waiting: [question()] });
    page.field('.feedback').value = 'left, b';
    await page.show({ waiting: [question(), approval()] });
    expect(page.field('.feedback').value).toBe('left, b');
    await page.show({ waiting: [approval()] });
    expect(page.all('.waiting-card')).toHaveLength(1);
    await page.show();
    expect(page.text('.decisions')).toBe('');
  });

  it('is answered by a choice, by own words, or not at all', async () => {
    const page = await pageWith({ waiting: [question({ choices: ['left', 'right'] })] });
    page.button('right').click();
    page.button('Answer').click();
    page.field('.feedback').value = 'both';
    page.button('Answer').click();
    page.button('No answer').click();
    expect(page.host.of('answer').map(({ answer }) => answer)).toEqual(['right', 'both', null]);
  });

  it('says where it comes from another session', async () => {
    const page = await pageWith({ waiting: [approval({ sessionId: 's2' })] });
    expect(page.text('.waiting-card')).toContain('From another session');
  });

  it('says so too once another session is shown while it waits', async () => {
    const page = await pageWith({ waiting: [approval()] });
    expect(page.text('.waiting-card div')).not.toContain('From another session');
    await page.show({ waiting: [approval()], session: session({ sessionId: 's2' }) });
    expect(page.text('.waiting-card div')).toContain('From another session');
    await page.show({ waiting: [approval()] });
    expect(page.text('.waiting-card div')).not.toContain('From another session');
  });

  it('is only words, whatever the model wrote', async () => {
    const hostile = '<img src=x onerror=1> [yes](command:steersman.key.forget)';
    const page = await pageWith({
      waiting: [approval({ title: hostile, detail: hostile }), { ...question({ text: hostile, choices: [hostile] }) }],
    });
    expect(page.root.querySelector('img, a, [href], [onerror]')).toBeNull();
    expect(page.text('.waiting-head')).toContain('<img');
  });
});

describe('the queue', () => {
  const message = (messageId: string, text: string, more = {}) => ({
    messageId,
    text,
    source: { kind: 'human' as const },
    queuedAt: 0,
    ...more,
  });
  const queued = (held: 'cancelled' | null = null) => ({
    session: session({
      queue: {
        nextStep: [message('m1', 'steering')],
        nextTurn: [
          message('m2', 'later'),
          { ...message('m3', '<goal_round>'), source: { kind: 'goal' as const, goalId: 'g', revision: 1, round: 4 } },
        ],
        held,
      },
    }),
  });

  it('lists what waits, and lets the person change only what a person said', async () => {
    const page = await pageWith(queued());
    expect(page.all('.queued-words').map(({ textContent }) => textContent)).toEqual([
      'steering',
      'later',
      'Round 4 of the goal',
    ]);
    expect(page.buttons('.queue')).toHaveLength(4);
    page.all('.queue li')[1]?.querySelectorAll('button')[1]?.click();
    expect(page.host.of('removeQueued')).toEqual([{ type: 'removeQueued', messageId: 'm2' }]);
  });

  it('changes a message in place', async () => {
    const page = await pageWith(queued());
    page.button('Change this message').click();
    const field = page.field('.queue textarea');
    field.value = 'steering left';
    await page.show({ ...queued(), hasEarlier: true });
    await page.show(queued('cancelled'));
    expect(page.field('.queue textarea').value).toBe('steering left');
    field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }));
    expect(page.host.of('updateQueued')).toEqual([{ type: 'updateQueued', messageId: 'm1', text: 'steering left' }]);
    expect(page.buttons('.queue')).toContain('Release');
  });

  it('keeps the focus on a message that is changed, and gives it to the words when it is gone', async () => {
    const page = await pageWith(queued());
    page.button('Change this message').focus();
    await page.show(queued('cancelled'));
    expect(document.activeElement).toBe(page.button('Change this message'));
    page.button('Change this message').click();
    page.field('.queue textarea').dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }));
    expect(document.activeElement).toBe(page.button('Change this message'));
    await page.show();
    expect(document.activeElement).toBe(page.input);
  });

  it('says why it is held, and lets it go', async () => {
    const page = await pageWith(queued('cancelled'));
    expect(page.text('.held')).toContain('Held: you pressed Stop.');
    page.button('Release').click();
    expect(page.host.of('releaseQueue')).toHaveLength(1);
  });
});

describe('the notices', () => {
  it.each([
    [{ server: { state: 'failed', problem: 'Install it.' } }, 'Install it.', ['Start again', 'Show log']],
    [{ server: { state: 'starting', problem: undefined } }, 'starting', []],
    [{ hasFolder: false }, 'Open a folder', ['Open folder']],
    [{ isTrusted: false }, 'not trusted', ['Manage trust']],
    [{ model: { name: null, isConfigured: false } }, 'No model is set', ['Choose a model', 'Set the key']],
    [{ opening: { kind: 'opening', words: 'letting go…' } }, 'letting go…', []],
    [{ opening: { kind: 'failed', words: 'full' } }, 'full', ['Try again', 'New session']],
    [
      { opening: { kind: 'readOnly', words: 'Another has it.' } },
      'Read only. Another has it.',
      ['Open again', 'New session'],
    ],
  ] as [Partial<ViewState>, string, string[]][])('say what to do: %j', async (more, words, buttons) => {
    const page = await pageWith(more);
    expect(page.text('.notice')).toContain(words);
    expect(page.buttons('.notice')).toEqual(buttons);
  });

  it('offer to repair a damaged session', async () => {
    const page = await pageWith({
      opening: { kind: 'readOnly', words: 'damaged' },
      session: session({ readOnly: true, damaged: { seq: 9, reason: 'x' } }),
    });
    page.button('Cut back').click();
    expect(page.host.of('act')).toEqual([{ type: 'act', action: 'repair' }]);
  });

  it('are none where all is well, and the first steps are shown', async () => {
    const page = await pageWith();
    expect(page.text('.notice')).toBe('');
    expect(page.text('.first-use')).toContain('What shall be done?');
    page.button('Run the tests').click();
    expect(page.input.value).toContain('Run the tests');
    expect(page.host.of('send')).toEqual([]);
  });

  it('tell a word about what the person did, until it is closed', async () => {
    const page = await pageWith();
    page.host.tell({ type: 'told', words: '**Goal** (active)', isProblem: false, isMarkdown: true });
    expect(page.find('.told strong').textContent).toBe('Goal');
    page.button('Close').click();
    expect(page.text('.told')).toBe('');
    page.host.tell({ type: 'told', words: '<b>no</b>', isProblem: true, isMarkdown: false });
    expect(page.text('.told')).toContain('<b>no</b>');
  });

  it('tell no problem any more once the person does something else', async () => {
    const page = await pageWith();
    page.host.tell({ type: 'told', words: 'That cannot be.', isProblem: true, isMarkdown: false });
    page.type('another wor');
    expect(page.text('.told')).toContain('That cannot be.');
    page.press('Enter');
    expect(page.text('.told')).toBe('');
  });
});

describe('who works with the keyboard', () => {
  it('is at the words again when a decision is made, and what was pressed is gone', async () => {
    const page = await pageWith({ waiting: [approval()] });
    page.button('Deny').focus();
    await page.show();
    expect(document.activeElement).toBe(page.input);
  });

  it('is at the words again after Send and after Stop', async () => {
    const page = await pageWith({ session: session({ state: 'running' }) });
    page.type('faster');
    for (const label of ['Steer', 'Stop']) {
      page.button(label).focus();
      page.button(label).click();
      expect(document.activeElement).toBe(page.input);
    }
  });

  it('stays where it is, while what has the focus stays too', async () => {
    const page = await pageWith(withGoal({}));
    page.button('Pause').focus();
    await page.show(withGoal({ roundsStarted: 4 }));
    expect(document.activeElement).toBe(page.button('Pause'));
  });

  it('is not called back from elsewhere', async () => {
    const page = await pageWith({ waiting: [approval()] });
    await page.show();
    expect(document.activeElement).toBe(document.body);
  });
});

describe('the foot and the activity', () => {
  it('tell model, context, tokens and cost', async () => {
    const page = await pageWith({
      session: session({
        context: { usedTokens: 32_000, windowTokens: 128_000, estimated: false },
        usage: { ...session().usage, inputTokens: 1_234_567, cost: 1.5 },
        mode: 'plan',
      }),
    });
    expect(page.all('.footer span').map(({ textContent }) => textContent)).toEqual([
      'a-model · plan',
      'context 25 %',
      '1.2M in, 60 out',
      'cost 1.50',
    ]);
  });

  it('tell what it waits for', async () => {
    const page = await pageWith({ session: session({ state: 'running', waitingOn: 'retry', turn: 2, step: 3 }) });
    expect(page.text('.activity')).toBe('At work: waiting to try again · turn 2, step 3');
    await page.show({ session: session({ waitingOn: 'pause' }) });
    expect(page.text('.activity')).toContain('pause before the next round');
    await page.show();
    expect(page.text('.activity')).toBe('');
  });
});

describe('the transcript on the page', () => {
  it('is drawn once a frame, however many pieces come', async () => {
    const page = await pageWith();
    const log = new Log().turn(1, 'hi').chunk('One ').chunk('two ').chunk('three');
    for (const event of log.events) page.host.tell({ type: 'events', events: [event], isAll: false });
    expect(page.all('.row')).toEqual([]);
    await drawn();
    expect(page.text('.row.reply')).toContain('One two three');
    expect(page.text('.row.from-person .words')).toBe('hi');
  });

  it('is that of the session that is shown', async () => {
    const page = await pageWith();
    page.host.tell({ type: 'events', events: new Log().turn(1, 'first').events, isAll: true });
    await drawn();
    page.host.tell({ type: 'events', events: new Log('s2').turn(1, 'second').events, isAll: true });
    await drawn();
    expect(page.text('.scroller')).toContain('second');
    expect(page.text('.scroller')).not.toContain('first');
  });

  it('has nothing left of another session whose first events come a moment later', async () => {
    const page = await pageWith();
    const show = async (log: Log) => {
      page.host.tell({ type: 'events', events: [], isAll: true });
      page.host.tell({ type: 'events', events: log.events, isAll: false });
      await drawn();
    };
    await show(new Log().turn(1, 'one').reply('the first'));
    await show(new Log('s2').turn(1, 'two').call('c1', 'read_file', { path: 'second.py' }));
    expect(page.text('.scroller')).not.toContain('the first');
    expect(page.text('.scroller')).toContain('second');
    page.host.tell({ type: 'events', events: [], isAll: true });
    await drawn();
    expect(page.text('.transcript > [role="status"]')).toBe('');
  });

  it('is shorter where the session was cut back', async () => {
    const page = await pageWith();
    const log = new Log().turn(1, 'first').turn(2, 'second');
    page.host.tell({ type: 'events', events: log.events, isAll: true });
    await drawn();
    page.host.tell({ type: 'events', events: log.events.slice(0, 3), isAll: true });
    await drawn();
    expect(page.all('.words').map(({ textContent }) => textContent)).toEqual(['first']);
  });

  it('keeps a card open while it changes', async () => {
    const page = await pageWith();
    const log = new Log().turn(1, 'hi').call('c1', 'read_file', { path: 'a.py' });
    page.host.tell({ type: 'events', events: log.events, isAll: true });
    await drawn();
    page.unfold('.card.tool');
    expect(page.text('.card.tool')).toContain('Asked for');
    const before = log.events.length;
    log.result('c1', { content: 'the text of a.py' });
    page.host.tell({ type: 'events', events: log.events.slice(before), isAll: false });
    await drawn();
    expect(page.find('.card.tool').hasAttribute('open')).toBe(true);
    expect(page.text('.card.tool')).toContain('the text of a.py');
  });

  const asked = async (name: string, args: unknown) => {
    const page = await pageWith();
    page.host.tell({ type: 'events', events: new Log().call('c1', name, args).events, isAll: true });
    await drawn();
    page.unfold('.card.tool');
    return page;
  };

  it('shows an edit as the lines that go and come', async () => {
    const edits = [
      { old_text: 'a\nb\n', new_text: 'a\nc\n' },
      { old_text: 'd', new_text: '' },
    ];
    const page = await asked('edit_file', { path: 'a.py', edits });
    expect(page.text('.diff .removed')).toBe('− a\n\n− b\n\n− d\n');
    expect(page.text('.diff .added')).toBe('+ a\n\n+ c\n');
  });

  it.each([
    ['edit_file', { path: 'a.py', edits: [null] }, '"edits"'],
    ['edit_file', { path: 'a.py', edits: 'all' }, '"edits"'],
    ['edit_file', '{"path": "a.py", cut', 'cut'],
    ['write_file', { path: 'a.py', content: 'x = 1\n' }, 'x = 1'],
    ['run_command', { argv: ['make'] }, '"argv"'],
  ])('shows what was asked for, whatever the model wrote: %s %j', async (name, args, words) => {
    const page = await asked(name, args);
    expect(page.all('.diff')).toEqual([]);
    expect(page.text('.inside pre')).toContain(words);
  });

  it('offers what helps where a turn ended in an error that a person can mend', async () => {
    const ended = (code: string) => new Log().say('turn/end', { turn: 1, reason: { kind: 'error', code, message: 'No.' } });
    for (const [code, label, action] of [
      ['auth', 'Set the key', 'setKey'],
      ['not-found', 'Check the model', 'setModel'],
    ] as const) {
      const page = await pageWith();
      page.host.tell({ type: 'events', events: ended(code).events, isAll: true });
      await drawn();
      page.button(label).click();
      expect(page.host.of('act')).toEqual([{ type: 'act', action }]);
    }
    const page = await pageWith();
    page.host.tell({ type: 'events', events: ended('server').events, isAll: true });
    await drawn();
    expect(page.buttons('.row.end')).toEqual([]);
  });

  it('opens a changed file in the editor', async () => {
    const page = await pageWith();
    const change = { changeId: 'x', callId: 'c1', uri: 'file:///w/a%20b.py', before: '1', after: '2' };
    const log = new Log().call('c1', 'edit_file', {}).say('edit/applied', { ...change, kind: 'edit', added: 1 });
    page.host.tell({ type: 'events', events: log.events, isAll: true });
    await drawn();
    page.button('a b.py').click();
    expect(page.host.of('openFile')).toEqual([{ type: 'openFile', uri: 'file:///w/a%20b.py', line: undefined }]);
  });

  it('asks for earlier events where there are some', async () => {
    const page = await pageWith({ hasEarlier: true });
    page.host.tell({ type: 'events', events: new Log().turn(1, 'hi').events, isAll: true });
    await drawn();
    page.button('Show earlier').click();
    expect(page.host.of('earlier')).toHaveLength(1);
  });

  it('reads a finished reply out, once', async () => {
    const page = await pageWith();
    const log = new Log().turn(1, 'hi').chunk('Hel').reply('Hello');
    page.host.tell({ type: 'events', events: log.events.slice(0, 4), isAll: false });
    await drawn();
    expect(page.find('.transcript > .sr-only').textContent).toBe('');
    page.host.tell({ type: 'events', events: log.events.slice(4), isAll: false });
    await drawn();
    expect(page.find('.transcript > .sr-only').textContent).toBe('Hello');
  });

  it('shows every kind of item, and nothing of their words becomes markup', async () => {
    const hostile = '<img src=x onerror=1>';
    const base = { turn: 1, step: 1, messageId: 'm', text: hostile };
    const log = new Log()
      .say('user/message', { ...base, source: { kind: 'human' }, context: [{ uri: hostile }] })
      .say('user/message', { ...base, source: { kind: 'goal', goalId: 'g', revision: 1, round: 1 } })
      .say('user/message', { ...base, source: { kind: 'notice', name: hostile } })
      .reply(hostile, { reasoning: hostile })
      .call('c1', hostile, { path: hostile })
      .result('c1', { outcome: 'error', content: hostile, error: { code: hostile, message: hostile } })
      .say('question/asked', { questionId: 'q', text: hostile })
      .say('model/retry', { attempt: 1, code: 'server', delayMs: 1, message: hostile })
      .say('tests/receipt', {
        runId: 'r',
        status: 'failed',
        exitCode: 1,
        counts: { collected: 1, passed: 0, failed: 1, errors: 0, skipped: 0 },
        tests: [{ id: hostile, outcome: 'failed', message: hostile, uri: hostile }],
        output: hostile,
        argv: [hostile],
        folder: 'file:///w',
        durationMs: 1,
        runner: 'editor',
      })
      .say('goal/verification', {
        phase: 'claim',
        verdict: 'fail',
        results: [{ checkId: hostile, kind: hostile, status: 'fail', evidence: hostile }],
      })
      .say('goal/blocker', { goalId: 'g', revision: 1, round: 1, key: 'k', message: hostile, consecutive: 1 })
      .sayAnything(hostile, hostile)
      .say('turn/end', { turn: 1, reason: { kind: 'error', code: hostile, message: hostile } });
    const page = await pageWith();
    page.host.tell({ type: 'events', events: log.events, isAll: true });
    await drawn();
    page.unfold('details');
    expect(page.root.querySelector('img, [onerror], [href], script')).toBeNull();
    expect(page.all('.row')).toHaveLength(12);
    for (const row of page.all('.row')) expect(row.textContent).toContain('<img');
  });
});
