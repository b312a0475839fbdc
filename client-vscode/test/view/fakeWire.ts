// A wire whose far end is the test: it answers, refuses, keeps one waiting, and tells things at the wrong moment.
import { EventEmitter } from '../stub/vscode';
import type { Requests, ServerNotifications, SessionInfo, StoredEvent } from '../../src/lsp/protocol';
import type { ServerState, Wire } from '../../src/lsp/wire';

type Method = keyof Requests;
type Answer = (params: never) => unknown;

/** A refusal of the server. */
export function refusal(kind: string, message: string = kind): Error {
  return Object.assign(new Error(message), { data: { kind, retryable: false } });
}

export class FakeWire implements Wire {
  readonly asked: { method: Method; params: Record<string, unknown> }[] = [];
  state: ServerState = 'running';
  problem: string | undefined;
  private readonly appended = new EventEmitter<ServerNotifications['steersman/session/didAppend']>();
  private readonly changed = new EventEmitter<ServerNotifications['steersman/session/didChange']>();
  private readonly stateChanged = new EventEmitter<ServerState>();
  readonly onDidAppend = this.appended.event;
  readonly onDidChange = this.changed.event;
  readonly onDidChangeState = this.stateChanged.event;
  private readonly answers = new Map<Method, Answer>();

  /** What a method is answered with from now on. What throws, refuses. */
  answer<M extends Method>(
    method: M,
    act: (params: Requests[M]['params']) => Requests[M]['result'] | Promise<Requests[M]['result']>,
  ): this {
    this.answers.set(method, act);
    return this;
  }

  /** Serves a session with these events, as the real server would. */
  serve(info: SessionInfo, events: readonly StoredEvent[]): this {
    const now = () => ({ ...info, lastSeq: events.at(-1)?.seq ?? 0 });
    return this.answer('steersman/session/open', now).answer(
      'steersman/session/events',
      ({ afterSeq = 0, limit = 500 }) => {
        const page = events.filter(({ seq }) => seq > afterSeq).slice(0, limit);
        const lastSeq = events.at(-1)?.seq ?? 0;
        return { events: page, lastSeq, hasMore: (page.at(-1)?.seq ?? afterSeq) < lastSeq };
      },
    );
  }

  async request<M extends Method>(method: M, params: Requests[M]['params']): Promise<Requests[M]['result']> {
    this.asked.push({ method, params: params as Record<string, unknown> });
    if (this.state !== 'running') throw new Error('No server runs.');
    const act = this.answers.get(method);
    if (!act) throw new Error(`Nobody answers ${method}.`);
    return (await act(params as never)) as Requests[M]['result'];
  }

  append(events: StoredEvent[], sessionId = 's1'): void {
    this.appended.fire({ sessionId, events });
  }

  change(session: SessionInfo): void {
    this.changed.fire({ session });
  }

  become(state: ServerState): void {
    this.state = state;
    this.stateChanged.fire(state);
  }

  /** The params of every request of a method. */
  of(method: Method): Record<string, unknown>[] {
    return this.asked.filter((each) => each.method === method).map(({ params }) => params);
  }
}

/** A memory that forgets with the test. */
export class FakeMemory {
  readonly kept = new Map<string, unknown>();
  keys(): readonly string[] {
    return [...this.kept.keys()];
  }
  get(key: string, otherwise?: unknown): never {
    return (this.kept.get(key) ?? otherwise) as never;
  }
  update(key: string, value: unknown): Promise<void> {
    if (value === undefined) this.kept.delete(key);
    else this.kept.set(key, value);
    return Promise.resolve();
  }
}
