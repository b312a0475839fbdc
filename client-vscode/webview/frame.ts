// Work on the DOM, at most once a frame.

export class Frame {
  private isAsked = false;

  constructor(private readonly work: () => void) {}

  /** Does the work before the next frame is drawn, however often it is asked for. */
  ask(): void {
    if (this.isAsked) return;
    this.isAsked = true;
    requestAnimationFrame(() => {
      this.isAsked = false;
      this.work();
    });
  }
}
