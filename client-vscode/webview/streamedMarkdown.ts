// Markdown that grows: paragraphs that are finished stay as they are, only the last one is made anew.
import { markdown, type OpenLink } from './markdown';

export class StreamedMarkdown {
  readonly element = document.createElement('div');
  private readonly tail = document.createElement('div');
  private text = '';
  /** How much of the text stands before the tail, for good. */
  private settled = 0;

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
      this.reset();
      this.settled = text.length;
      this.tail.before(markdown(text, this.openLink));
      return;
    }
    const end = lastParagraph(text, this.settled);
    if (end > this.settled) {
      this.tail.before(markdown(text.slice(this.settled, end), this.openLink));
      this.settled = end;
    }
    this.tail.replaceChildren(markdown(text.slice(end), this.openLink));
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
