// The list of completions over the composer. The focus stays in the text; the list only says what is chosen.
import { el, show } from '../dom';
import type { Completion } from '../goalCommand';

export class CompletionList {
  readonly element = el('div', { class: 'completions', role: 'listbox', 'aria-label': 'Completions' });
  private found: Completion[] = [];
  private chosen = -1;

  constructor(
    private readonly input: HTMLTextAreaElement,
    private readonly accept: (completion: Completion) => void,
  ) {
    this.element.id = 'completions';
    input.setAttribute('aria-controls', this.element.id);
    input.setAttribute('aria-autocomplete', 'list');
    show(this.element, false);
  }

  get isOpen(): boolean {
    return this.found.length > 0;
  }

  /** `isBegun`: a part of a word stands there, so the first completion is meant. */
  offer(found: Completion[], isBegun: boolean): void {
    this.found = found;
    this.chosen = isBegun && found.length > 0 ? 0 : -1;
    this.draw();
  }

  close(): void {
    if (this.isOpen) this.offer([], false);
  }

  /** Whether the key was the list's. */
  key({ key, shiftKey, altKey }: KeyboardEvent): boolean {
    if (!this.isOpen || altKey) return false;
    switch (key) {
      case 'ArrowDown':
      case 'ArrowUp':
        this.move(key === 'ArrowDown' ? 1 : -1);
        return true;
      case 'Escape':
        this.close();
        return true;
      case 'Tab':
        return !shiftKey && this.take(Math.max(0, this.chosen));
      case 'Enter':
        return !shiftKey && this.take(this.chosen);
      default:
        return false;
    }
  }

  private move(by: number): void {
    const count = this.found.length;
    this.chosen = this.chosen < 0 && by < 0 ? count - 1 : (this.chosen + by + count) % count;
    this.draw();
  }

  private take(index: number): boolean {
    const completion = this.found[index];
    if (!completion) return false;
    this.close();
    this.accept(completion);
    return true;
  }

  private draw(): void {
    show(this.element, this.isOpen);
    this.element.replaceChildren(...this.found.map((completion, index) => this.option(completion, index)));
    const active = this.element.children[this.chosen];
    if (active) this.input.setAttribute('aria-activedescendant', active.id);
    else this.input.removeAttribute('aria-activedescendant');
    active?.scrollIntoView({ block: 'nearest' });
  }

  private option({ label, detail }: Completion, index: number): HTMLElement {
    const isChosen = index === this.chosen;
    const option = el(
      'div',
      { class: isChosen ? 'option chosen' : 'option', role: 'option', 'aria-selected': String(isChosen) },
      el('span', { class: 'option-label' }, label),
      el('span', { class: 'dim' }, detail),
    );
    option.id = `completion-${index}`;
    option.addEventListener('mousedown', (event) => {
      event.preventDefault();
      this.take(index);
    });
    return option;
  }
}
