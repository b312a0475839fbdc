// A list of which only the part near the eye is in the document. It stays at its end while the eye is there.

/** What one row shows. */
export interface RowView<T> {
  readonly element: HTMLElement;
  update(value: T): void;
}

interface Options<T> {
  view(value: T): RowView<T>;
  /** The height of a row in pixels; replaced where nothing is laid out. */
  heightOf?: (element: HTMLElement) => number;
  /** The eye is at the end, or not any more. */
  onFollow?: (isAtEnd: boolean) => void;
}

/** Rows that are in the document at most. */
export const MOST_ROWS = 150;
const GUESSED_HEIGHT = 48;
/** Pixels above and below the eye that are kept ready. */
const MARGIN = 600;
const NEAR_END = 24;
/** Real heights are known once rows are there, so the choice of rows is made again so often at most. */
const PASSES = 4;

interface Range {
  first: number;
  end: number;
}

export class WindowedList<T> {
  private values: readonly T[] = [];
  private readonly heights: (number | undefined)[] = [];
  private readonly rows = new Map<number, RowView<T>>();
  private readonly above = document.createElement('div');
  private readonly below = document.createElement('div');
  private readonly heightOf: (element: HTMLElement) => number;
  private isFollowing = true;
  /** Where the list was last put, or seen. */
  private top = 0;
  /** Its size, and that of what is in it, when it was last put there. */
  private size = '';

  constructor(
    private readonly scroller: HTMLElement,
    private readonly options: Options<T>,
  ) {
    this.heightOf = options.heightOf ?? ((element) => element.offsetHeight);
    scroller.append(this.above, this.below);
    scroller.addEventListener('scroll', () => {
      const { scrollTop } = scroller;
      // The end also moves away when rows come or the list gets smaller, and a list that gets larger and smaller again
      // goes up by itself. Only who goes up in a list that stays as it is has left its end.
      if (this.isAtEnd()) this.follow(true);
      else if (scrollTop < this.top - 1 && this.sizeNow() === this.size) this.follow(false);
      this.top = scrollTop;
      this.draw();
    });
  }

  get isAtLatest(): boolean {
    return this.isFollowing;
  }

  /** The rows in the document, in order. */
  get shownRows(): readonly RowView<T>[] {
    return [...this.rows].sort(([a], [b]) => a - b).map(([, row]) => row);
  }

  /** Shows these values, all of them new. */
  reset(values: readonly T[]): void {
    for (const row of this.rows.values()) row.element.remove();
    this.rows.clear();
    this.heights.length = 0;
    this.values = values;
    this.follow(true);
    this.draw();
  }

  /** Values were added at the end, or replaced at these places. */
  update(values: readonly T[], places: Iterable<number>): void {
    this.values = values;
    for (const place of places) {
      const value = values[place];
      if (value !== undefined) this.rows.get(place)?.update(value);
    }
    this.draw();
  }

  /**
   * The first `before` values are others now, and so many as `after` stand there; there may be fewer at the end too.
   * The eye stays on what it sees.
   */
  replaceFirst(before: number, after: number, values: readonly T[]): void {
    const anchor = this.anchor();
    const rows = [...this.rows];
    this.rows.clear();
    for (const [old, row] of rows) {
      const place = old - before + after;
      if (old < before || place >= values.length) row.element.remove();
      else this.rows.set(place, row);
    }
    this.heights.splice(0, before, ...new Array<undefined>(after));
    this.heights.length = Math.min(this.heights.length, values.length);
    this.values = values;
    for (const [place, row] of this.rows) {
      row.update(values[place] as T);
      row.element.setAttribute('aria-posinset', String(place + 1));
    }
    const places = [...this.rows.keys()];
    if (places.length > 0) this.space({ first: Math.min(...places), end: Math.max(...places) + 1 });
    this.keep(anchor);
    this.draw();
  }

  toLatest(): void {
    this.follow(true);
    this.draw();
  }

  /** Chooses the rows again: the place of the list, or the size of rows, has changed. */
  draw(): void {
    const anchor = this.anchor();
    for (let pass = 0; pass < PASSES; pass += 1) {
      this.measure();
      const range = this.wanted();
      const isNew = this.render(range);
      this.measure();
      this.space(range);
      this.keep(anchor);
      if (!isNew) return;
    }
  }

  private follow(isFollowing: boolean): void {
    if (this.isFollowing === isFollowing) return;
    this.isFollowing = isFollowing;
    this.options.onFollow?.(isFollowing);
  }

  private isAtEnd(): boolean {
    const { scrollHeight, scrollTop, clientHeight } = this.scroller;
    return scrollHeight - scrollTop - clientHeight < NEAR_END;
  }

  private measure(): void {
    for (const [place, { element }] of this.rows) this.heights[place] = this.heightOf(element);
  }

  private heightAt(place: number): number {
    return this.heights[place] ?? GUESSED_HEIGHT;
  }

  private sum(first: number, end: number): number {
    let sum = 0;
    for (let place = first; place < end; place += 1) sum += this.heightAt(place);
    return sum;
  }

  /** The places that should be in the document now. */
  private wanted(): Range {
    const { clientHeight, scrollTop } = this.scroller;
    const count = this.values.length;
    if (this.isFollowing) {
      let first = count;
      for (let height = 0; first > 0 && height < clientHeight + MARGIN; height += this.heightAt(first)) first -= 1;
      return { first: Math.max(first, count - MOST_ROWS), end: count };
    }
    let first = 0;
    let top = 0;
    while (first < count && top + this.heightAt(first) < scrollTop - MARGIN) {
      top += this.heightAt(first);
      first += 1;
    }
    let end = first;
    while (end < count && end - first < MOST_ROWS && top < scrollTop + clientHeight + MARGIN) {
      top += this.heightAt(end);
      end += 1;
    }
    return { first, end };
  }

  /** Puts rows in and takes rows out; whether any was put in. */
  private render({ first, end }: Range): boolean {
    for (const [place, row] of this.rows) {
      if (place >= first && place < end) continue;
      if (row.element.contains(document.activeElement)) this.scroller.focus();
      row.element.remove();
      this.rows.delete(place);
    }
    let isNew = false;
    let after: Node = this.above;
    for (let place = first; place < end; place += 1) {
      let row = this.rows.get(place);
      if (!row) {
        row = this.options.view(this.values[place] as T);
        row.element.setAttribute('aria-posinset', String(place + 1));
        this.rows.set(place, row);
        isNew = true;
      }
      row.element.setAttribute('aria-setsize', String(this.values.length));
      if (after.nextSibling !== row.element) this.scroller.insertBefore(row.element, after.nextSibling);
      after = row.element;
    }
    return isNew;
  }

  private space({ first, end }: Range): void {
    setHeight(this.above, this.sum(0, first));
    setHeight(this.below, this.sum(end, this.values.length));
  }

  /** A row that is seen, and where: it must not move when rows above it turn out higher than was thought. */
  private anchor(): { element: HTMLElement; top: number } | undefined {
    if (this.isFollowing) return undefined;
    const edge = this.scroller.getBoundingClientRect().top;
    for (const { element } of this.shownRows) {
      const { top, bottom } = element.getBoundingClientRect();
      if (bottom > edge) return { element, top };
    }
    return undefined;
  }

  private keep(anchor: { element: HTMLElement; top: number } | undefined): void {
    if (this.isFollowing) this.scroller.scrollTop = this.scroller.scrollHeight;
    else if (anchor?.element.isConnected) {
      const moved = anchor.element.getBoundingClientRect().top - anchor.top;
      if (Math.abs(moved) >= 1) this.scroller.scrollTop += moved;
    }
    this.top = this.scroller.scrollTop;
    this.size = this.sizeNow();
  }

  private sizeNow(): string {
    return `${this.scroller.clientHeight} ${this.scroller.scrollHeight}`;
  }
}

function setHeight(element: HTMLElement, pixels: number): void {
  const height = `${Math.round(pixels)}px`;
  if (element.style.height !== height) element.style.height = height;
}
