// Markdown that grows: paragraphs that are finished stay as they are, only the last one is made anew.
import { markdown, type OpenLink } from './markdown';

/** Drawing takes at most this part of the time; what costs more is drawn less often. */
const SHARE = 0.2;
const CHEAP_MS = 4;

export class StreamedMarkdown {
  readonly element = document.createElement('div');
  private readonly tail = document.createElement('div');
  private text = '';
  /** How much of the text stands before the tail, for good. */
  private settled = 0;
  private resting: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly openLink: OpenLink) {
    this.element.className = 'markdown';
    this.tail.className = 'tail';
    this.element.append(this.tail);
  }

  /** Shows the text. `isWhole`: nothing more comes. */
  update(text: string, isWhole: boolean): void {
    if (!text.startsWith(this.text.slice(0, this.settled))) this.reset();
    this.text = text;
    if (isWhole) {
      clearTimeout(this.resting);
      this.reset();
      this.settled = text.length;
      this.tail.before(markdown(text, this.openLink));
      return;
    }
    if (this.resting === undefined) this.draw();
  }

  private draw(): void {
    const begun = performance.now();
    const { text } = this;
    const end = lastParagraph(text, this.settled);
    if (end > this.settled) {
      this.tail.before(markdown(text.slice(this.settled, end), this.openLink));
      this.settled = end;
    }
    this.tail.replaceChildren(markdown(text.slice(end), this.openLink));
    this.rest(performance.now() - begun, text);
  }

  private rest(cost: number, drawn: string): void {
    if (cost < CHEAP_MS) return;
    this.resting = setTimeout(() => {
      this.resting = undefined;
      if (this.text !== drawn && this.settled < this.text.length) this.draw();
    }, cost / SHARE);
  }

  private reset(): void {
    this.settled = 0;
    this.element.replaceChildren(this.tail);
    this.tail.replaceChildren();
  }
}

/** Where the last paragraph begins that may still grow: after an empty line outside of a fence and of a list. */
export function lastParagraph(text: string, from: number): number {
  let end = from;
  let fence: string | undefined;
  let isAfterEmpty = false;
  for (let at = from; at < text.length;) {
    const next = text.indexOf('\n', at);
    const line = text.slice(at, next < 0 ? text.length : next);
    const marks = /^ {0,3}(```+|~~~+)/.exec(line)?.[1];
    if (fence === undefined) {
      if (isAfterEmpty && /^[^\s\-*+\d]/.test(line)) end = at;
      if (marks) fence = marks;
    } else if (marks?.startsWith(fence) && line.trim() === marks) fence = undefined;
    isAfterEmpty = fence === undefined && line.trim() === '';
    if (next < 0) break;
    at = next + 1;
  }
  return end;
}
