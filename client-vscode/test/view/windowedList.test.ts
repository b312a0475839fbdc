// @vitest-environment jsdom
// A list of any length in a document of bounded size, which stays where the eye is.
import { beforeEach, describe, expect, it } from 'vitest';
import { MOST_ROWS, WindowedList, type RowView } from '../../webview/windowedList';

const ROW = 20;
const EYE = 400;

describe('a windowed list', () => {
  let scroller: HTMLElement;
  let list: WindowedList<string>;
  let made: number;
  let following: boolean[];
  let height: number;
  /** A place to scroll in, laid out by hand: nothing is laid out here. */
  const layOut = () => {
    const heightOf = (element: Element) =>
      element.tagName === 'DIV' ? parseInt((element as HTMLElement).style.height || '0') : ROW;
    let top = 0;
    const limit = () => Math.max(0, total() - height);
    const total = () => [...scroller.children].reduce((sum, child) => sum + heightOf(child), 0);
    Object.defineProperties(scroller, {
      clientHeight: { get: () => height },
      scrollHeight: { get: total },
      scrollTop: { get: () => Math.min(top, limit()), set: (value: number) => (top = Math.max(0, value)) },
    });
    scroller.getBoundingClientRect = () => ({ top: 0, bottom: EYE }) as DOMRect;
    Element.prototype.getBoundingClientRect = function (this: Element) {
      let above = 0;
      for (const child of scroller.children) {
        if (child === this) break;
        above += heightOf(child);
      }
      const from = above - scroller.scrollTop;
      return { top: from, bottom: from + ROW } as DOMRect;
    };
  };
  const view = (text: string): RowView<string> => {
    made += 1;
    const element = document.createElement('article');
    element.textContent = text;
    return { element, update: (next) => (element.textContent = next) };
  };
  const texts = () => list.shownRows.map(({ element }) => element.textContent);
  const values = (count: number) => Array.from({ length: count }, (_, index) => `row ${index}`);
  /** The first row that the eye sees, and where. */
  const seen = () => {
    const row = list.shownRows.find(({ element }) => element.getBoundingClientRect().bottom > 0);
    return [row?.element.textContent, row?.element.getBoundingClientRect().top];
  };
  const scroll = (to: number) => {
    scroller.scrollTop = to;
    scroller.dispatchEvent(new Event('scroll'));
  };
  beforeEach(() => {
    scroller = document.createElement('div');
    document.body.replaceChildren(scroller);
    height = EYE;
    layOut();
    made = 0;
    following = [];
    list = new WindowedList<string>(scroller, { view, heightOf: () => ROW, onFollow: (is) => following.push(is) });
  });

  it('has a bounded number of rows in the document, of 10,000', () => {
    list.reset(values(10_000));
    expect(scroller.childElementCount).toBeLessThanOrEqual(MOST_ROWS + 2);
    expect(made).toBeLessThanOrEqual(MOST_ROWS);
    expect(texts().at(-1)).toBe('row 9999');
    for (const to of [0, 50_000, 100_000, 3, 170_000]) {
      scroll(to);
      expect(scroller.childElementCount).toBeLessThanOrEqual(MOST_ROWS + 2);
    }
  });

  it('is bounded even where nothing has a height', () => {
    list = new WindowedList<string>(scroller, { view, heightOf: () => 0 });
    list.reset(values(10_000));
    for (let turn = 0; turn < 300; turn += 1) list.draw();
    expect(list.shownRows.length).toBeLessThanOrEqual(MOST_ROWS);
  });

  it('stays at its end while the eye is there', () => {
    list.reset(values(100));
    list.update(values(101), []);
    expect(texts().at(-1)).toBe('row 100');
    expect(scroller.scrollTop).toBe(scroller.scrollHeight - EYE);
    expect(following).toEqual([]);
  });

  it('stays at its end when it gets smaller, and when more comes before the scrolling is told', () => {
    list.reset(values(100));
    height = EYE / 2; // a card above it grew
    scroller.dispatchEvent(new Event('scroll'));
    list.update(values(120), []);
    expect(texts().at(-1)).toBe('row 119');
    expect(scroller.scrollTop).toBe(scroller.scrollHeight - height);
    expect(following).toEqual([]);
  });

  it('stays at its end when it gets larger and smaller again before the scrolling is told', () => {
    list.reset(values(100));
    height = EYE + 200; // what was written below it was sent
    scroller.scrollTop = scroller.scrollHeight - height;
    height = EYE - 100; // a card above it came
    scroller.dispatchEvent(new Event('scroll'));
    expect(scroller.scrollTop).toBe(scroller.scrollHeight - height);
    expect(following).toEqual([]);
    scroll(scroller.scrollTop - 100);
    expect(following).toEqual([false]);
  });

  it('stays where the eye is when it is not at the end, and comes back when it is told', () => {
    list.reset(values(1_000));
    scroll(8_000);
    expect(following).toEqual([false]);
    const before = seen();
    list.update(values(1_200), [1_100]);
    expect(seen()).toEqual(before);
    list.toLatest();
    expect(following).toEqual([false, true]);
    expect(texts().at(-1)).toBe('row 1199');
  });

  it('follows again when the person goes to the end', () => {
    list.reset(values(1_000));
    scroll(100);
    scroll(1_000_000);
    expect(following).toEqual([false, true]);
  });

  it('does not move what is seen when earlier rows come', () => {
    list.reset(values(500));
    scroll(2_000);
    const before = seen();
    const early = Array.from({ length: 300 }, (_, index) => `early ${index}`);
    list.replaceFirst(2, 300, [...early, ...values(500).slice(2)]);
    expect(seen()).toEqual(before);
    scroll(0);
    expect(texts()[0]).toBe('early 0');
  });

  it('has no rows of values that are gone', () => {
    list.reset(values(30));
    list.replaceFirst(0, 0, values(12));
    expect(texts()).toEqual(values(12));
    list.replaceFirst(12, 0, []);
    expect(texts()).toEqual([]);
  });

  it('changes rows in place', () => {
    list.reset(values(10));
    const element = list.shownRows[4]?.element;
    const next = values(10);
    next[4] = 'changed';
    list.update(next, [4]);
    expect(list.shownRows[4]?.element).toBe(element);
    expect(element?.textContent).toBe('changed');
    expect(made).toBe(10);
  });

  it('tells place and size to those who cannot see it', () => {
    list.reset(values(1_000));
    const last = list.shownRows.at(-1)?.element;
    expect(last?.getAttribute('aria-posinset')).toBe('1000');
    expect(last?.getAttribute('aria-setsize')).toBe('1000');
  });

  it('keeps the focus in the list when the row that has it goes', () => {
    scroller.tabIndex = 0;
    list.reset(values(1_000));
    const row = list.shownRows.at(-1)?.element;
    if (row) row.tabIndex = 0;
    row?.focus();
    scroll(0);
    expect(document.activeElement).toBe(scroller);
  });

  it('is empty without values, and after it was not', () => {
    list.reset([]);
    expect(texts()).toEqual([]);
    list.reset(values(3));
    list.reset([]);
    expect(texts()).toEqual([]);
  });
});
