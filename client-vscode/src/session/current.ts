// The session that this window shows: which one, its events without a hole, and what the person says to it.
// It keeps no state of its own beside what the server told, and it arms nothing.
import { randomUUID } from 'node:crypto';
import * as vscode from 'vscode';
import type { ContextItem, GoalAnswer, GoalView, Requests, SessionInfo, StoredEvent } from '../lsp/protocol';
import { refusalOf, wordsOf, type Wire } from '../lsp/wire';
import { EventLog } from './eventLog';
import { openPatiently, type Taken } from './opening';
import type { GoalVerb, Opening } from './values';

const REMEMBERED = 'steersman.session';
/** Events that are read at once when a session is opened, and when earlier ones are asked for. */
const WINDOW = 4_000;
const PAGE = 1_000;

type Send = 'steersman/turn/prompt' | 'steersman/turn/steer';

interface Shown {
  info: SessionInfo;
  readonly log: EventLog;
  filling: Promise<void> | undefined;
}

export class CurrentSession implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly appended = new vscode.EventEmitter<readonly StoredEvent[]>();
  private readonly replaced = new vscode.EventEmitter<void>();
  /** The info, or how it stands with having one, is another now. */
  readonly onDidChange = this.changed.event;
  /** New events, in order. */
  readonly onDidAppend = this.appended.event;
  /** `events()` begins anew: another session, or earlier events in front. */
  readonly onDidReplace = this.replaced.event;

  private readonly hooks: vscode.Disposable[];
  private shown: Shown | undefined;
  private stands: Opening = { kind: 'none' };
  /** Counts what was asked to be opened; only the last one counts. */
  private attempt = 0;
  private taking: Promise<void> | undefined;
  private unsent: { key: string; messageId: string } | undefined;

  constructor(
    private readonly wire: Wire,
    private readonly memory: vscode.Memento,
    private readonly folder: () => vscode.Uri | undefined,
  ) {
    this.hooks = [
      wire.onDidAppend(({ sessionId, events }) => {
        const { shown } = this;
        if (shown?.info.sessionId === sessionId) this.take(shown, events);
      }),
      wire.onDidChange(({ session }) => {
        const { shown } = this;
        if (shown?.info.sessionId !== session.sessionId) return;
        shown.info = session;
        this.changed.fire();
        this.fillIfNeeded(shown);
      }),
      wire.onDidChangeState((state) => {
        if (state === 'running') void this.start().catch(() => undefined); // `opening` tells what failed
      }),
    ];
  }

  get info(): SessionInfo | undefined {
    return this.shown?.info;
  }

  get opening(): Opening {
    return this.stands;
  }

  /** All that the window has of the session, oldest first, by seq, without gap or double. */
  events(): readonly StoredEvent[] {
    return this.shown?.log.events ?? [];
  }

  /** Whether the session has events before the first of `events()`. */
  get hasEarlier(): boolean {
    return (this.shown?.log.startSeq ?? 0) > 0;
  }

  /** Shows the session that was shown before, else the folder's latest. Where there is none, none is made. */
  start(): Promise<void> {
    return this.become(async (wanted) => {
      const known = this.shown?.info.sessionId ?? this.memory.get<string>(REMEMBERED);
      if (known !== undefined) {
        try {
          return await this.patiently(known, wanted);
        } catch (error) {
          if (refusalOf(error)?.kind !== 'sessionNotFound') throw error;
          this.drop();
        }
      }
      const latest = await this.latest();
      return latest === undefined ? undefined : await this.patiently(latest, wanted);
    });
  }

  newSession(folder = this.folder()): Promise<void> {
    return this.become(async () => {
      const params = folder ? { workspaceFolder: folder.toString() } : {};
      return { info: await this.wire.request('steersman/session/new', params) };
    });
  }

  /** Shows a copy of the session as it is now; what either does from here on is its own. */
  fork(): Promise<void> {
    const here = this.here();
    return this.become(async () => ({ info: await this.wire.request('steersman/session/fork', here) }));
  }

  open(sessionId: string): Promise<void> {
    return this.become((wanted) => this.patiently(sessionId, wanted));
  }

  /** Gives the session back to the server. Rejects with `sessionBusy` while it runs. */
  async close(): Promise<void> {
    const { shown } = this;
    if (!shown) return;
    if (!shown.info.readOnly) {
      await this.wire.request('steersman/session/close', { sessionId: shown.info.sessionId });
    }
    if (this.shown !== shown) return;
    this.attempt += 1;
    this.drop();
    this.stand({ kind: 'none' });
  }

  /** Puts the events before those that are here in front of them. */
  async earlier(): Promise<void> {
    const { shown } = this;
    if (!shown || !this.hasEarlier) return;
    const before = shown.log.startSeq;
    const afterSeq = Math.max(0, before - PAGE);
    const { sessionId } = shown.info;
    const page = await this.wire.request('steersman/session/events', { sessionId, afterSeq, limit: before - afterSeq });
    if (this.shown === shown && shown.log.addEarlier(afterSeq, page.events)) this.replaced.fire();
  }

  async prompt(text: string, context?: ContextItem[]): Promise<void> {
    await this.send('steersman/turn/prompt', text, context);
  }

  async steer(text: string, context?: ContextItem[]): Promise<void> {
    await this.send('steersman/turn/steer', text, context);
  }

  async cancel(): Promise<void> {
    const sessionId = this.info?.sessionId;
    if (sessionId !== undefined) await this.wire.request('steersman/turn/cancel', { sessionId });
  }

  async goalCommand(text: string): Promise<GoalAnswer> {
    const sessionId = await this.writable();
    return this.wire.request('steersman/goal/command', { sessionId, text });
  }

  /** Acts on the goal as it is shown. Rejects, and says so, where it has changed since. */
  async goal(verb: GoalVerb): Promise<void> {
    const sessionId = await this.writable();
    const goal = this.info?.goal;
    if (!goal) throw new Error('There is no goal. Create one: /goal and what shall be reached.');
    const at = { sessionId, ref: { id: goal.id, revision: goal.revision } };
    try {
      if (verb === 'accept') await this.wire.request('steersman/goal/complete', { ...at, accept: true });
      else await this.wire.request(`steersman/goal/${verb}`, at);
    } catch (error) {
      if (refusalOf(error)?.kind !== 'goalStale') throw error;
      const now = await this.wire.request('steersman/goal/get', { sessionId });
      this.goalIsNow(sessionId, now);
      throw new Error('The goal has changed meanwhile, so nothing was done. Look at it as it is now, and try again.');
    }
  }

  async removeQueued(messageId: string): Promise<void> {
    const { removed } = await this.wire.request('steersman/queue/remove', { ...this.here(), messageId });
    if (!removed) throw new Error('That message is not waiting any more: it has been taken up.');
  }

  async updateQueued(messageId: string, text: string): Promise<void> {
    const { updated } = await this.wire.request('steersman/queue/update', { ...this.here(), messageId, text });
    if (!updated) throw new Error('That message is not waiting any more: it has been taken up.');
  }

  async releaseQueue(): Promise<void> {
    await this.wire.request('steersman/queue/release', this.here());
  }

  dispose(): void {
    this.attempt += 1;
    this.shown = undefined;
    for (const hook of this.hooks) hook.dispose();
    for (const emitter of [this.changed, this.appended, this.replaced]) emitter.dispose();
  }

  // What is shown

  private patiently(sessionId: string, wanted: () => boolean): Promise<Taken | undefined> {
    const say = (words: string) => {
      if (wanted()) this.stand({ kind: 'opening', words });
    };
    return openPatiently(this.wire, sessionId, say, wanted);
  }

  private async latest(): Promise<string | undefined> {
    const folder = this.folder();
    if (!folder) return undefined;
    const params = { workspaceFolder: folder.toString(), limit: 1 };
    return (await this.wire.request('steersman/session/list', params)).sessions[0]?.sessionId;
  }

  /** Opens something and shows it. A later call makes an earlier one that still waits void. */
  private become(open: (wanted: () => boolean) => Promise<Taken | undefined>): Promise<void> {
    this.attempt += 1;
    const { attempt } = this;
    const wanted = () => this.attempt === attempt;
    this.stand({ kind: 'opening', words: 'Opening the session…' });
    const taking = this.replace(open, wanted).finally(() => {
      if (this.taking === taking) this.taking = undefined;
    });
    this.taking = taking;
    return taking;
  }

  private async replace(
    open: (wanted: () => boolean) => Promise<Taken | undefined>,
    wanted: () => boolean,
  ): Promise<void> {
    try {
      const taken = await open(wanted);
      if (!wanted()) {
        if (taken && taken.info.sessionId !== this.info?.sessionId) this.letGo(taken.info);
        return;
      }
      if (!taken) {
        this.stand(this.shown ? { kind: 'open' } : { kind: 'none' });
        return;
      }
      const shown = this.show(taken);
      await this.fill(shown);
    } catch (error) {
      if (!wanted()) return;
      this.stand({ kind: 'failed', words: wordsOf(error) });
      throw error;
    }
  }

  private show({ info, readOnlyBecause }: Taken): Shown {
    const before = this.shown;
    const isSame = before?.info.sessionId === info.sessionId && before.log.lastSeq <= info.lastSeq;
    const log = isSame ? before.log : new EventLog(Math.max(0, info.lastSeq - WINDOW));
    const shown: Shown = { info, log, filling: undefined };
    this.shown = shown;
    void this.memory.update(REMEMBERED, info.sessionId);
    if (before && before.info.sessionId !== info.sessionId) this.letGo(before.info);
    this.stand(
      readOnlyBecause === undefined && !info.readOnly
        ? { kind: 'open' }
        : { kind: 'readOnly', words: readOnlyBecause ?? 'It was opened for reading.' },
    );
    if (!isSame) this.replaced.fire();
    return shown;
  }

  /** A session that works on in the background keeps its lock. */
  private letGo({ sessionId, readOnly }: SessionInfo): void {
    if (readOnly) return;
    this.wire.request('steersman/session/close', { sessionId }).catch(() => undefined);
  }

  private drop(): void {
    this.shown = undefined;
    void this.memory.update(REMEMBERED, undefined);
    this.replaced.fire();
  }

  private stand(opening: Opening): void {
    this.stands = opening;
    this.changed.fire();
  }

  private goalIsNow(sessionId: string, goal: GoalView | null): void {
    if (this.shown?.info.sessionId !== sessionId) return;
    this.shown.info = { ...this.shown.info, goal };
    this.changed.fire();
  }

  // Events

  private take(shown: Shown, events: readonly StoredEvent[]): void {
    const fresh = shown.log.add(events);
    if (fresh.length > 0) this.appended.fire(fresh);
    this.fillIfNeeded(shown);
  }

  private fillIfNeeded(shown: Shown): void {
    if (shown.log.lastSeq < wantedSeq(shown)) void this.fill(shown).catch(() => undefined); // the next event tries again
  }

  /** Asks for what is missing, one page after the other, and only once at a time. */
  private fill(shown: Shown): Promise<void> {
    shown.filling ??= Promise.resolve()
      .then(() => this.readOn(shown))
      .finally(() => {
        shown.filling = undefined;
      });
    return shown.filling;
  }

  private async readOn(shown: Shown): Promise<void> {
    const { sessionId } = shown.info;
    while (this.shown === shown && shown.log.lastSeq < wantedSeq(shown)) {
      const params = { sessionId, afterSeq: shown.log.lastSeq, limit: PAGE };
      const page = await this.wire.request('steersman/session/events', params);
      if (this.shown !== shown) return;
      const fresh = shown.log.add(page.events);
      if (fresh.length === 0) return;
      this.appended.fire(fresh);
    }
  }

  // Words of the person

  /** The session that can be written. One is made where there is none. */
  private async writable(): Promise<string> {
    if (this.taking) await this.taking.catch(() => undefined);
    if (!this.shown) await this.newSession();
    const { stands, info } = this;
    if (stands.kind === 'readOnly') throw new Error(`This session can only be read here. ${stands.words}`);
    if (!info) throw new Error(stands.kind === 'failed' ? stands.words : 'There is no session.');
    return info.sessionId;
  }

  /** A send that got no answer keeps its id, so that sending it again cannot double it. */
  private async send(method: Send, text: string, context: ContextItem[] | undefined): Promise<void> {
    const sessionId = await this.writable();
    const key = JSON.stringify([sessionId, method, text, context]);
    const messageId = this.unsent?.key === key ? this.unsent.messageId : randomUUID();
    this.unsent = { key, messageId };
    const params: Requests[Send]['params'] = { sessionId, text, messageId };
    if (context && context.length > 0) params.context = context;
    await this.wire.request(method, params);
    this.unsent = undefined;
  }

  private here(): { sessionId: string } {
    if (!this.info) throw new Error('There is no session.');
    return { sessionId: this.info.sessionId };
  }
}

/** The seq up to which events exist, as far as is known. */
function wantedSeq({ info, log }: Shown): number {
  return Math.max(info.lastSeq, log.seenSeq);
}
