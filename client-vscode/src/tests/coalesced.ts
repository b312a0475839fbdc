// Text that comes in many small pieces, passed on a few times a second. What comes too fast loses its oldest part.

const PAUSE_MS = 250;
const KEPT_CHARACTERS = 16 * 1024;

export class Coalesced {
  private text = '';
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly pass: (text: string) => void) {}

  add(text: string): void {
    this.text = (this.text + text).slice(-KEPT_CHARACTERS);
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      const told = this.text;
      this.text = '';
      this.pass(told);
    }, PAUSE_MS);
  }

  /** What has not been passed on is dropped. */
  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }
}
