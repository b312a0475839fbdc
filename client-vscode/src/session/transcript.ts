// From events to what is shown: a pure fold. The same events give the same items, however they are cut into pieces.
// An event that it does not know, or cannot read, becomes a quiet line and never an error.
import type { Events, StoredEvent } from '../lsp/protocol';
import type { Item, LineItem, ReplyItem, ToolItem, ToolState } from './items';
import { shortened, toolLine } from './toolLine';
import {
  decisionWords,
  endWords,
  goalWords,
  heldWords,
  remedyOf,
  retryWords,
  unansweredWords,
  verdictWords,
  verificationWords,
} from './words';

type At = Pick<StoredEvent, 'seq' | 'time'>;
type Teller<T extends keyof Events> = (told: Transcript, data: Events[T], at: At) => void;

/** What stands in front of a `tool/start`, and what a result makes of it. */
const OUTCOMES: Record<string, ToolState | undefined> = {
  ok: 'ok',
  error: 'error',
  denied: 'denied',
  timeout: 'timeout',
  aborted: 'aborted',
  'aborted-before-dispatch': 'notRun',
  'not-started': 'notRun',
};
const MEMBERS_SHOWN = 2_000;

export class Transcript {
  private readonly shown: Item[] = [];
  private readonly places = new Map<string, number>();
  private touched = new Set<number>();
  private turnStartedAt: number | undefined;
  /** The reply that is being written. */
  private writing: number | undefined;

  get items(): readonly Item[] {
    return this.shown;
  }

  /** Takes events in order; gives back the places of the items that are new or changed. */
  apply(events: Iterable<StoredEvent>): ReadonlySet<number> {
    this.touched = new Set();
    for (const event of events) this.take(event);
    return this.touched;
  }

  private take(event: StoredEvent): void {
    const teller = Object.hasOwn(TELLERS, event.type)
      ? (TELLERS[event.type as keyof Events] as Teller<keyof Events> | null)
      : undefined;
    if (teller === null) return;
    try {
      if (!teller) throw new TypeError('unknown');
      teller(this, event.data as Events[keyof Events], event);
    } catch {
      this.line(event, { about: 'other', tone: 'quiet', words: event.type, detail: membersOf(event.data) });
    }
  }

  // What the tellers below build with

  add(item: Item, key?: string): void {
    this.touched.add(this.shown.length);
    if (key !== undefined) this.places.set(key, this.shown.length);
    this.shown.push(item);
  }

  line(at: At, line: Pick<LineItem, 'about' | 'tone' | 'words'> & { detail?: string | undefined }): void {
    this.add({ kind: 'line', seq: at.seq, time: at.time, detail: undefined, ...line });
  }

  /** Changes the item of a key, if it is here: it may stand before the first event that the window has. */
  change<K extends Item['kind']>(
    kind: K,
    key: string,
    how: (item: Extract<Item, { kind: K }>) => Partial<Item>,
  ): boolean {
    const place = this.places.get(key);
    const item = place === undefined ? undefined : this.shown[place];
    if (place === undefined || item?.kind !== kind) return false;
    this.put(place, { ...item, ...how(item as Extract<Item, { kind: K }>) } as Item);
    return true;
  }

  /** Another key of the same item. */
  alias(key: string, of: string): void {
    const place = this.places.get(of);
    if (place !== undefined) this.places.set(key, place);
  }

  changeTool(callId: string, how: (item: ToolItem) => Partial<ToolItem>): boolean {
    return this.change('tool', `call ${callId}`, how);
  }

  changeLast<K extends Item['kind']>(kind: K, how: (item: Extract<Item, { kind: K }>) => Partial<Item>): boolean {
    const place = this.shown.length - 1;
    const item = this.shown[place];
    if (item?.kind !== kind) return false;
    this.put(place, { ...item, ...how(item as Extract<Item, { kind: K }>) } as Item);
    return true;
  }

  /** The reply that is being written, which begins here if there is none. */
  write(at: At, how: (reply: ReplyItem) => Partial<ReplyItem>): void {
    if (this.writing === undefined) {
      this.writing = this.shown.length;
      const { seq, time } = at;
      this.add({ kind: 'reply', seq, time, text: '', reasoning: '', state: 'streaming', preparing: undefined });
    }
    const item = this.shown[this.writing];
    if (item?.kind === 'reply') this.put(this.writing, { ...item, ...how(item) });
  }

  /** Nothing more is written to the reply. */
  written(state: ReplyItem['state']): void {
    if (this.writing === undefined) return;
    const item = this.shown[this.writing];
    if (item?.kind === 'reply' && item.state === 'streaming') {
      this.put(this.writing, { ...item, state, preparing: undefined });
    }
    this.writing = undefined;
  }

  /** The words of an attempt that failed are no words of the model's. */
  discard(): void {
    const item = this.writing === undefined ? undefined : this.shown[this.writing];
    if (this.writing !== undefined && item?.kind === 'reply') {
      this.put(this.writing, { ...item, text: '', reasoning: '', preparing: undefined, state: 'dropped' });
    }
    this.writing = undefined;
  }

  turn(startedAt: number | undefined): number | undefined {
    const before = this.turnStartedAt;
    this.turnStartedAt = startedAt;
    return before;
  }

  private put(place: number, item: Item): void {
    this.touched.add(place);
    this.shown[place] = item;
  }
}

/** What each type of event tells. Null: it is shown elsewhere, or says nothing to people. */
const TELLERS: { readonly [T in keyof Events]: Teller<T> | null } = {
  'session/created': null,
  'session/opened': (told, { reason }, at) => {
    if (reason === 'new') return;
    const words = {
      resume: 'Opened again',
      fork: 'Forked from another session',
      repair: 'Repaired: what was damaged is cut off',
    };
    told.line(at, { about: 'session', tone: 'quiet', words: words[reason] });
  },
  'session/configured': (told, { title, model, mode }, at) => {
    const parts = [title && `Renamed to “${shortened(title)}”`, model && `Model: ${model}`, mode && `Mode: ${mode}`];
    const words = parts.filter(Boolean).join(', ');
    if (words) told.line(at, { about: 'session', tone: 'quiet', words });
  },
  'inbox/queued': null,
  'inbox/claimed': null,
  'inbox/edited': null,
  'inbox/removed': null,
  'inbox/moved': null,
  'inbox/held': (told, { reason }, at) => {
    told.line(at, { about: 'queue', tone: 'warning', words: `What waits is held: ${heldWords(reason)}` });
  },
  'inbox/released': null,
  'turn/start': (told, _data, at) => {
    told.turn(at.time);
  },
  'turn/end': (told, data, at) => {
    told.written('interrupted');
    const startedAt = told.turn(undefined);
    const durationMs = startedAt === undefined ? undefined : at.time - startedAt;
    told.add({ kind: 'end', seq: at.seq, time: at.time, durationMs, ...endWords(data), ...remedyOf(data) });
  },
  'step/start': null,
  'step/end': (told) => {
    told.written('interrupted');
  },
  'user/message': (told, { source, text, context, step }, at) => {
    const base = { kind: 'message', seq: at.seq, time: at.time, text, context: context ?? [], steer: false } as const;
    switch (source.kind) {
      case 'human':
        told.add({ ...base, from: 'person', label: '', steer: step > 1 });
        break;
      case 'goal':
        told.add({ ...base, from: 'goal', label: `Round ${source.round}` });
        break;
      default:
        told.add({ ...base, from: 'notice', label: source.name });
    }
  },
  'request/header': null,
  'assistant/chunk': (told, { deltas }, at) => {
    told.write(at, (reply) => {
      let { text, reasoning, preparing } = reply;
      for (const delta of deltas) {
        text += delta.text ?? '';
        reasoning += delta.reasoning ?? '';
        if (delta.toolCall?.name) preparing = delta.toolCall.name;
      }
      return { text, reasoning, preparing };
    });
  },
  'assistant/message': (told, { text, reasoning, interrupted }, at) => {
    told.write(at, () => ({ text, reasoning: reasoning ?? '' }));
    told.written(interrupted ? 'interrupted' : 'done');
  },
  'tool/call': (told, { callId, name, arguments: written }, at) => {
    told.add(
      {
        kind: 'tool',
        seq: at.seq,
        time: at.time,
        callId,
        name,
        line: toolLine(written),
        arguments: written,
        state: 'called',
        startedAt: undefined,
        durationMs: undefined,
        output: '',
        error: undefined,
        verified: undefined,
        approval: undefined,
        changes: [],
      },
      `call ${callId}`,
    );
  },
  'tool/start': (told, { callId }, at) => {
    told.changeTool(callId, () => ({ state: 'running', startedAt: at.time }));
  },
  'tool/result': (told, { callId, outcome, content, error, verified, durationMs }) => {
    told.changeTool(callId, () => ({
      state: OUTCOMES[outcome] ?? 'unknown',
      output: content,
      error,
      durationMs,
      verified: verified && { ok: verified.ok, note: verified.note },
    }));
  },
  'model/retry': (told, data, at) => {
    if (data.purpose !== 'summary') told.discard();
    const words = retryWords(data);
    const isAgain = data.attempt > 1 && told.changeLast('retry', ({ tries }) => ({ words, tries: tries + 1 }));
    if (!isAgain) told.add({ kind: 'retry', seq: at.seq, time: at.time, words, tries: 1 });
  },
  'approval/asked': (told, { approvalId, callId, title }, at) => {
    const approval = { title, words: undefined, feedback: undefined };
    const isHere = told.changeTool(callId, () => ({ state: 'asked', approval }));
    if (isHere) told.alias(`approval ${approvalId}`, `call ${callId}`);
    else told.line(at, { about: 'other', tone: 'quiet', words: `May it? ${shortened(title)}` });
  },
  'approval/decided': (told, data) => {
    told.change('tool', `approval ${data.approvalId}`, ({ approval, state }) => ({
      state: state === 'asked' ? 'waiting' : state,
      approval: approval && { ...approval, words: decisionWords(data), feedback: data.feedback },
    }));
  },
  'question/asked': (told, { questionId, text, choices, callId }, at) => {
    if (callId !== undefined) told.changeTool(callId, () => ({ state: 'asked' }));
    told.add(
      { kind: 'question', seq: at.seq, time: at.time, text, choices: choices ?? [], state: 'open', answer: '' },
      `question ${questionId}`,
    );
  },
  'question/answered': (told, { questionId, answer, by }) => {
    told.change('question', `question ${questionId}`, () =>
      answer === null ? { state: 'unanswered', answer: unansweredWords(by) } : { state: 'answered', answer },
    );
  },
  'edit/planned': null,
  'edit/applied': (told, { callId, uri, newUri, kind, added, removed }) => {
    const change = { uri: newUri ?? uri, what: kind, added: added ?? 0, removed: removed ?? 0 };
    told.changeTool(callId, ({ changes }) => ({ changes: [...changes, change] }));
  },
  'tests/receipt': (told, { status, counts, tests, argv, output, durationMs }, at) => {
    const failing = tests.filter(({ outcome }) => outcome === 'failed' || outcome === 'error');
    const command = shortened(argv.join(' '));
    told.add({ kind: 'receipt', seq: at.seq, time: at.time, status, counts, failing, command, output, durationMs });
  },
  'goal/change': (told, data, at) => {
    told.line(at, { about: 'goal', ...goalWords(data) });
  },
  'goal/round': (told, { status, round, reason }, at) => {
    if (status !== 'stale') return;
    const why = reason ? `: ${reason}` : '';
    told.line(at, { about: 'goal', tone: 'quiet', words: `Round ${round} was taken back before it began${why}` });
  },
  'goal/blocker': (told, { message, consecutive }, at) => {
    const words = `The agent reports an obstacle (${consecutive}. time in a row): ${shortened(message, 400)}`;
    told.line(at, { about: 'goal', tone: 'warning', words });
  },
  'goal/verification': (told, data, at) => {
    const { words: title, tone } = verificationWords(data);
    const { results, tampered = [] } = data;
    told.add({ kind: 'verification', seq: at.seq, time: at.time, title, tone, results, tampered });
  },
  'context/compacted': (told, { tokensBefore, tokensAfter, summary }, at) => {
    const words = `Earlier parts are summed up for the model: ${tokensBefore} → ${tokensAfter} tokens`;
    told.line(at, { about: 'context', tone: 'quiet', words, detail: summary });
  },
  'compaction/failed': (told, { reason }, at) => {
    told.line(at, { about: 'context', tone: 'warning', words: `Summing up changed nothing: ${reason}` });
  },
  'exit/verdict': (told, data, at) => {
    told.line(at, { about: 'verdict', ...verdictWords(data), detail: data.evidence });
  },
  'task/state': null,
};

function membersOf(data: unknown): string | undefined {
  const text = JSON.stringify(data) as string | undefined;
  return text === undefined || text === '{}' ? undefined : text.slice(0, MEMBERS_SHOWN);
}
