// When a server that ended by itself is started again, and when no more. Pure but for the clock that it is given.

/** Waits before the first, the second … restart. */
const DELAYS_MS = [250, 1000, 4000, 10_000];
/** Ends that are further apart do not count together. */
const WINDOW_MS = 3 * 60_000;

export class Restarts {
  private ends: number[] = [];

  constructor(
    private readonly now: () => number = Date.now,
    private readonly delaysMs = DELAYS_MS,
  ) {}

  /** The server has ended: how long to wait before it is started again, or undefined to give up. */
  next(): number | undefined {
    const now = this.now();
    this.ends = [...this.ends.filter((end) => now - end < WINDOW_MS), now];
    return this.delaysMs[this.ends.length - 1];
  }

  /** A person asked for the start: what was before does not count. */
  forget(): void {
    this.ends = [];
  }
}
