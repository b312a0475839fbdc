// Values as the server tells them, for tests: a session, a goal, and events in order.
import type { Events, GoalView, SessionInfo, StoredEvent, Usage } from '../../src/lsp/protocol';

export const USAGE: Usage = {
  requests: 2,
  inputTokens: 1500,
  cachedInputTokens: 0,
  outputTokens: 60,
  reasoningTokens: 0,
  estimated: false,
  seconds: 3,
};

export function session(more: Partial<SessionInfo> = {}): SessionInfo {
  return {
    sessionId: 's1',
    title: 'A session',
    workspaceFolder: 'file:///w',
    createdAt: 0,
    updatedAt: 0,
    lastSeq: 0,
    state: 'idle',
    waitingOn: null,
    turn: null,
    step: null,
    queue: { nextTurn: [], nextStep: [], held: null },
    goal: null,
    task: 'IDLE',
    plan: null,
    model: 'a-model',
    mode: 'agent',
    usage: USAGE,
    context: { usedTokens: 0, windowTokens: null, estimated: false },
    readOnly: false,
    ...more,
  };
}

export function goal(more: Partial<GoalView> = {}): GoalView {
  return {
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
    ...more,
  };
}

/** Events with seqs from 1 on, ten milliseconds apart. */
export class Log {
  readonly events: StoredEvent[] = [];

  constructor(private readonly sessionId = 's1') {}

  say<T extends keyof Events>(type: T, data: Events[T]): this {
    return this.sayAnything(type, data);
  }

  sayAnything(type: string, data: unknown): this {
    const seq = this.events.length + 1;
    this.events.push({ sessionId: this.sessionId, seq, time: 10 * seq, type, data });
    return this;
  }

  /** A turn up to the model's words. */
  turn(number: number, words: string): this {
    return this.say('turn/start', { turn: number, trigger: 'human' })
      .say('step/start', { turn: number, step: 1 })
      .say('user/message', { turn: number, step: 1, messageId: `m${number}`, source: { kind: 'human' }, text: words });
  }

  chunk(text: string, more: { reasoning?: string; attempt?: number; tool?: string } = {}): this {
    const { reasoning, attempt = 1, tool } = more;
    const delta = {
      ...(text === '' ? {} : { text }),
      ...(reasoning === undefined ? {} : { reasoning }),
      ...(tool === undefined ? {} : { toolCall: { index: 0, name: tool } }),
    };
    return this.say('assistant/chunk', { turn: 1, step: 1, attempt, deltas: [delta] });
  }

  reply(text: string, more: Partial<Events['assistant/message']> = {}): this {
    const told = { turn: 1, step: 1, text, toolCalls: [], finishReason: 'stop', usage: USAGE, ...more };
    return this.say('assistant/message', told);
  }

  call(callId: string, name: string, args: unknown): this {
    const written = typeof args === 'string' ? args : JSON.stringify(args);
    return this.say('tool/call', { turn: 1, step: 1, callId, name, arguments: written, mode: 'exclusive' });
  }

  result(callId: string, more: Partial<Events['tool/result']> = {}): this {
    return this.say('tool/result', { turn: 1, step: 1, callId, outcome: 'ok', content: 'fine', ...more });
  }
}

/** A log of so many chunks, whatever they say. */
export function chunks(count: number, sessionId = 's1'): StoredEvent[] {
  const log = new Log(sessionId);
  for (let seq = 1; seq <= count; seq += 1) log.chunk(`${seq} `);
  return log.events;
}
