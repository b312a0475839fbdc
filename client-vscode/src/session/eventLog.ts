// The events of a session that this window has, in order: by seq, without gap or double. It asks nobody for anything.
import type { StoredEvent } from '../lsp/protocol';

/** How far events that came before others are kept until these arrive. */
const HELD_EVENTS = 10_000;

export class EventLog {
  private kept: StoredEvent[] = [];
  private readonly early = new Map<number, StoredEvent>();
  private last: number;
  private highest: number;

  /** Begins after this seq; what lies before can be put in front later. */
  constructor(private begin: number) {
    this.last = begin;
    this.highest = begin;
  }

  /** Oldest first. Chunks are let go when the message that holds their words has come. */
  get events(): readonly StoredEvent[] {
    return this.kept;
  }

  /** The seq of the last event of which all before are here too. */
  get lastSeq(): number {
    return this.last;
  }

  /** The seq before the first event that is here. */
  get startSeq(): number {
    return this.begin;
  }

  /** The highest seq that was seen, in order or not. */
  get seenSeq(): number {
    return this.highest;
  }

  /** Takes what is new and gives back what is now in order. What leaves a hole waits until the hole is filled. */
  add(events: readonly StoredEvent[]): StoredEvent[] {
    const fresh: StoredEvent[] = [];
    for (const event of events) {
      if (event.seq <= this.last || this.early.has(event.seq)) continue;
      this.highest = Math.max(this.highest, event.seq);
      if (event.seq !== this.last + 1) {
        if (this.early.size < HELD_EVENTS) this.early.set(event.seq, event);
        continue;
      }
      this.take(event, fresh);
      for (;;) {
        const next = this.early.get(this.last + 1);
        if (!next) break;
        this.early.delete(next.seq);
        this.take(next, fresh);
      }
    }
    return fresh;
  }

  /** Puts the events right before the first one in front; false, and nothing done, where they do not fit. */
  addEarlier(afterSeq: number, events: readonly StoredEvent[]): boolean {
    const fits = events.every((event, index) => event.seq === afterSeq + 1 + index);
    if (!fits || afterSeq + events.length !== this.begin) return false;
    this.kept = [...withoutSpentChunks(events), ...this.kept];
    this.begin = afterSeq;
    return true;
  }

  private take(event: StoredEvent, fresh: StoredEvent[]): void {
    this.last = event.seq;
    fresh.push(event);
    if (spendsChunks(event)) this.dropChunks();
    this.kept.push(event);
  }

  private dropChunks(): void {
    let start = this.kept.length;
    while (start > 0 && this.kept[start - 1]?.type !== 'step/start') start -= 1;
    const rest = this.kept.splice(start).filter(({ type }) => type !== 'assistant/chunk');
    this.kept.push(...rest);
  }
}

/** After these nobody needs the chunks of the step any more. */
function spendsChunks({ type }: StoredEvent): boolean {
  return type === 'assistant/message' || type === 'step/end';
}

/** Chunks whose message is among the events say nothing that does not come again. */
function withoutSpentChunks(events: readonly StoredEvent[]): StoredEvent[] {
  const lastSpent = events.map(spendsChunks).lastIndexOf(true);
  return events.filter(({ type }, index) => type !== 'assistant/chunk' || index > lastSpent);
}
