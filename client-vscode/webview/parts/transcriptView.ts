// The transcript on the page: events go through the fold, and what changed is drawn in the next frame.
import type { StoredEvent } from '../../src/lsp/protocol';
import type { Item } from '../../src/session/items';
import { Transcript } from '../../src/session/transcript';
import { button, el, setText, show } from '../dom';
import { Frame } from '../frame';
import type { Host } from '../host';
import { icon } from '../icons';
import { ItemContext } from '../items/context';
import { rowOf } from '../items/row';
import { WindowedList } from '../windowedList';

/** Words of a reply that are read out when it is finished. */
const READ_OUT = 600;

export class TranscriptView {
  readonly element = el('section', { class: 'transcript', 'aria-label': 'Transcript' });
  private readonly scroller = el('div', { class: 'scroller', role: 'feed', 'aria-label': 'What was said and done' });
  private readonly earlier: HTMLButtonElement;
  private readonly latest: HTMLButtonElement;
  private readonly readOut = el('div', { class: 'sr-only', role: 'status', 'aria-live': 'polite' });
  private readonly context: ItemContext;
  private readonly list: WindowedList<Item>;
  private readonly frame = new Frame(() => {
    this.draw();
  });
  private transcript = new Transcript();
  private readonly changed = new Set<number>();
  private isReplaced = false;
  private drawn: readonly Item[] = [];
  private sessionId: string | undefined;

  constructor(host: Host) {
    this.context = new ItemContext(host);
    this.earlier = button(
      'Show earlier',
      () => {
        host.post({ type: 'earlier' });
      },
      { class: 'quiet-button earlier' },
    );
    this.latest = button(
      'Jump to latest',
      () => {
        this.list.toLatest();
        this.scroller.focus();
      },
      { class: 'latest' },
    );
    this.latest.prepend(icon('down'));
    this.list = new WindowedList<Item>(this.scroller, {
      view: (item) => rowOf(item, this.context),
      onFollow: (isAtEnd) => {
        show(this.latest, !isAtEnd);
      },
    });
    this.scroller.tabIndex = 0;
    show(this.latest, false);
    show(this.earlier, false);
    this.scroller.prepend(this.earlier);
    this.element.append(this.scroller, this.latest, this.readOut);
    new ResizeObserver(() => {
      this.frame.ask();
    }).observe(this.scroller);
  }

  get isEmpty(): boolean {
    return this.transcript.items.length === 0;
  }

  take(events: readonly StoredEvent[], isAll: boolean): void {
    if (isAll) {
      this.transcript = new Transcript();
      this.changed.clear();
      this.isReplaced = true;
      // Of a session that is opened anew the first events come a moment later.
      if (this.sessionId === undefined || this.sessionId !== events[0]?.sessionId) this.forget();
      this.sessionId = undefined;
    }
    this.sessionId ??= events[0]?.sessionId;
    for (const place of this.transcript.apply(events)) this.changed.add(place);
    if (!isAll) this.readAloud();
    this.frame.ask();
  }

  showEarlier(hasEarlier: boolean): void {
    show(this.earlier, hasEarlier);
  }

  private forget(): void {
    this.drawn = [];
    this.context.forget();
    setText(this.readOut, '');
  }

  private draw(): void {
    const { items } = this.transcript;
    if (this.isReplaced) this.replace(items);
    else this.list.update(items, this.changed);
    this.isReplaced = false;
    this.drawn = items;
    this.changed.clear();
    this.scroller.setAttribute('aria-busy', String(items.at(-1)?.kind === 'reply'));
  }

  /** Another session, or the same with earlier events in front, which must not move the eye. */
  private replace(items: readonly Item[]): void {
    const known = new Map(items.map(({ seq }, place) => [seq, place]));
    const before = this.drawn.findIndex(({ seq }) => known.has(seq));
    const after = known.get(this.drawn[before]?.seq ?? -1);
    if (after === undefined) this.list.reset(items);
    else this.list.replaceFirst(before, after, items);
  }

  /** A finished reply is read out once, not word by word. */
  private readAloud(): void {
    for (const place of this.changed) {
      const item = this.transcript.items[place];
      if (item?.kind === 'reply' && item.state === 'done' && item.text)
        setText(this.readOut, item.text.slice(0, READ_OUT));
      if (item?.kind === 'end') setText(this.readOut, item.words);
    }
  }
}
