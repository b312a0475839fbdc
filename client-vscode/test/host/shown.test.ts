// What the person sees beside the sidebar: status bar, context keys, notifications.
import { beforeEach, describe, expect, it } from 'vitest';
import { ContextKeys } from '../../src/common/contextKeys';
import { statusOf } from '../../src/common/statusBar';
import { WaitingNotices } from '../../src/common/waitingNotices';
import { goalText } from '../../src/commands/goals';
import type { ApprovalRequest, GoalView, QuestionRequest, SessionInfo } from '../../src/lsp/protocol';
import { WaitingRoom } from '../../src/session/waiting';
import { EventEmitter, editor, reset } from '../stub/vscode';
import { neverCancelled, until } from './tools';

const USAGE = {
  requests: 0,
  inputTokens: 0,
  cachedInputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  estimated: false,
  seconds: 0,
};
const GOAL: GoalView = {
  id: 'g1',
  revision: 1,
  objective: 'Make it work',
  kind: 'executing',
  workflow: 'coding',
  phase: 'active',
  activation: 'armed',
  maxRounds: 20,
  roundsStarted: 3,
  budgets: {},
  checks: [],
  usage: USAGE,
  createdAt: 0,
  updatedAt: 0,
};
const INFO: SessionInfo = {
  sessionId: 's1',
  title: 'A session',
  workspaceFolder: null,
  createdAt: 0,
  updatedAt: 0,
  lastSeq: 1,
  state: 'idle',
  waitingOn: null,
  turn: null,
  step: null,
  queue: { nextTurn: [], nextStep: [], held: null },
  goal: null,
  task: 'IDLE',
  plan: null,
  model: null,
  mode: 'agent',
  usage: USAGE,
  context: { usedTokens: 0, windowTokens: null, estimated: false },
  readOnly: false,
};

describe('the status bar', () => {
  it.each([
    ['says what is wrong with the server', 'failed', 'Install it.', undefined, 0, '$(error) Steersman', 'Install it.'],
    ['tells that the server starts', 'starting', undefined, undefined, 0, '$(loading~spin) Steersman', 'starting'],
    ['is calm when nothing happens', 'running', undefined, INFO, 0, '$(compass) Steersman', 'idle'],
    ['calls the person', 'running', undefined, { ...INFO, state: 'running' }, 1, 'waiting for you', 'your answer'],
    [
      'tells round and step',
      'running',
      undefined,
      { ...INFO, state: 'running', step: 2, goal: GOAL },
      0,
      'round 3/20, step 2',
      'at work',
    ],
    [
      'tells a retry',
      'running',
      undefined,
      { ...INFO, state: 'running', step: 2, waitingOn: 'retry' },
      0,
      'trying again',
      'at work',
    ],
    [
      'tells a goal that does not move',
      'running',
      undefined,
      { ...INFO, goal: { ...GOAL, activation: 'disarmed' } },
      0,
      '$(target)',
      'disarmed',
    ],
    [
      'is done with a complete goal',
      'running',
      undefined,
      { ...INFO, goal: { ...GOAL, phase: 'complete' } },
      0,
      '$(compass)',
      'idle',
    ],
  ] as const)('%s', (_what, state, problem, info, waiting, text, tooltip) => {
    const status = statusOf(state, problem, info, waiting);
    expect(status.text).toContain(text);
    expect(status.tooltip).toContain(tooltip);
    expect(status.attention).toBe(state === 'failed' || waiting > 0);
  });
});

describe('the context keys', () => {
  it('tell what commands may do, and only what changed', () => {
    reset();
    const keys = new ContextKeys();
    keys.show('running', { ...INFO, state: 'running', goal: GOAL });
    expect(Object.fromEntries(editor.context)).toEqual({
      'steersman.server': 'running',
      'steersman.hasSession': true,
      'steersman.damaged': false,
      'steersman.readOnly': false,
      'steersman.running': true,
      'steersman.hasGoal': true,
      'steersman.goalPhase': 'active',
      'steersman.goalActivation': 'armed',
    });
    editor.context.clear();
    keys.show('running', INFO);
    expect(Object.fromEntries(editor.context)).toEqual({
      'steersman.running': false,
      'steersman.hasGoal': false,
      'steersman.goalPhase': undefined,
      'steersman.goalActivation': undefined,
    });
  });
});

describe('an objective', () => {
  it.each([
    ['Make it work', '/goal Make it work'],
    ['pause', '/goal -- pause'],
    ['Edit the readme', '/goal -- Edit the readme'],
    ['pause after the tests', '/goal pause after the tests'],
    ['editor support --rounds 3', '/goal editor support --rounds 3'],
  ])('%j is not taken for a word of the command', (objective, text) => {
    expect(goalText(objective)).toBe(text);
  });
});

describe('a notification of what waits', () => {
  const approval = (more: Partial<ApprovalRequest> = {}): ApprovalRequest => ({
    approvalId: 'a1',
    sessionId: 's1',
    turn: 1,
    callId: 'c1',
    tool: 'run_command',
    title: 'Run a command',
    detail: '',
    risk: 'execute',
    argv: ['make', 'all'],
    ...more,
  });
  const question = (more: Partial<QuestionRequest> = {}): QuestionRequest => ({
    questionId: 'q1',
    sessionId: 's1',
    turn: 1,
    text: 'Which?',
    ...more,
  });

  let room: WaitingRoom;
  let sidebar: {
    visible: boolean;
    onDidChangeVisibility: EventEmitter<boolean>['event'];
    revealed: number;
    reveal(): void;
    show(visible: boolean): void;
  };
  beforeEach(() => {
    reset();
    room = new WaitingRoom();
    const visibility = new EventEmitter<boolean>();
    sidebar = {
      visible: false,
      onDidChangeVisibility: visibility.event,
      revealed: 0,
      reveal() {
        this.revealed += 1;
      },
      show(visible) {
        this.visible = visible;
        visibility.fire(visible);
      },
    };
    new WaitingNotices(room, sidebar);
  });
  const choose = (item: string | undefined, at = 0) => {
    editor.messages[at]?.choose(item);
  };

  it.each([
    ['Allow', 'allowOnce'],
    ['Allow for this session', 'allowSession'],
    ['Deny', 'deny'],
  ])('answers with %s', async (button, decision) => {
    const answer = room.askApproval(approval(), neverCancelled());
    expect(editor.messages[0]?.text).toContain('make all');
    choose(button);
    expect((await answer).decision).toBe(decision);
  });

  it('does not offer to remember what destroys', () => {
    void room.askApproval(approval({ risk: 'destructive' }), neverCancelled());
    expect(editor.messages[0]?.items).toEqual(['Allow', 'Deny', 'Show']);
  });

  it('that is closed is no answer', async () => {
    void room.askApproval(approval(), neverCancelled());
    choose(undefined);
    await Promise.resolve();
    expect(room.pending).toHaveLength(1);
    expect(editor.messages).toHaveLength(1);
  });

  it('that comes too late answers nothing, and says so', async () => {
    const answer = room.askApproval(approval(), neverCancelled());
    room.answerApproval('a1', { decision: 'deny' });
    choose('Allow');
    expect((await answer).decision).toBe('deny');
    await until(() => editor.messages.length === 2, 'it is told');
    expect(editor.messages[1]?.text).toContain('answered already');
  });

  it('is not shown while the sidebar shows it, and is when that is hidden', () => {
    sidebar.visible = true;
    void room.askApproval(approval(), neverCancelled());
    expect(editor.messages).toEqual([]);
    sidebar.show(false);
    expect(editor.messages).toHaveLength(1);
    sidebar.show(false);
    expect(editor.messages).toHaveLength(1);
  });

  it('has no link in it, whatever the model wrote', () => {
    void room.askApproval(approval({ title: '[yes](command:workbench.action.terminal.new)' }), neverCancelled());
    expect(editor.messages[0]?.text).not.toContain('](');
  });

  it('offers the choices of a question', async () => {
    const answer = room.askQuestion(question({ choices: ['left', 'right'] }), neverCancelled());
    expect(editor.messages[0]?.items).toEqual(['left', 'right', 'Show']);
    choose('right');
    expect(await answer).toEqual({ answer: 'right' });
  });

  it('takes a choice that is called like a button for the choice', async () => {
    const answer = room.askQuestion(question({ choices: ['Show', 'Hide'] }), neverCancelled());
    choose('Show');
    expect(await answer).toEqual({ answer: 'Show' });
    expect(sidebar.revealed).toBe(0);
  });
});
