// What waits for its turn, and why it is held. A person may change, remove and release it.
import { heldWords } from '../../src/session/words';
import type { QueuedMessage, QueueView } from '../../src/lsp/protocol';
import { button, el, iconButton, show } from '../dom';
import type { Host } from '../host';
import { icon } from '../icons';

const CHANGE = 'Change this message';

export class QueueList {
  readonly element = el('section', { class: 'queue', 'aria-label': 'What waits' });
  private drawn = '';
  private editing: string | undefined;
  private last: [QueueView | undefined, boolean] = [undefined, false];

  constructor(private readonly host: Host) {
    show(this.element, false);
  }

  update(queue: QueueView | undefined, isWritable: boolean): void {
    this.last = [queue, isWritable];
    const key = JSON.stringify([queue, isWritable]);
    if (key === this.drawn) return;
    const all = queue ? [...queue.nextStep, ...queue.nextTurn].filter(({ source }) => source.kind !== 'notice') : [];
    // Who is writing is not interrupted, as long as the message still waits.
    if (this.editing !== undefined && all.some(({ messageId }) => messageId === this.editing) && this.hasFocus) return;
    this.editing = undefined;
    this.drawn = key;
    show(this.element, all.length > 0);
    const held = queue?.held ? [this.held(queue.held, isWritable)] : [];
    const joins = new Set(queue?.nextStep.map(({ messageId }) => messageId));
    const rows = all.map((message) => this.row(message, joins.has(message.messageId), isWritable));
    const focused = this.focused();
    this.element.replaceChildren(...held, el('ol', {}, ...rows));
    if (focused) this.focus(focused);
  }

  private get hasFocus(): boolean {
    return this.element.contains(document.activeElement);
  }

  /** The button that has the focus, by its message and its name. */
  private focused(): { message: string; title: string } | undefined {
    const { activeElement: at } = document;
    const message = at instanceof HTMLButtonElement && this.element.contains(at) && at.closest('li')?.dataset.message;
    return message ? { message, title: at.title } : undefined;
  }

  private focus({ message, title }: { message: string; title: string }): void {
    const row = [...this.element.querySelectorAll('li')].find(({ dataset }) => dataset.message === message);
    [...(row?.querySelectorAll('button') ?? [])].find((each) => each.title === title)?.focus();
  }

  private held(reason: NonNullable<QueueView['held']>, isWritable: boolean): HTMLElement {
    const release = button(
      'Release',
      () => {
        this.host.post({ type: 'releaseQueue' });
      },
      { title: 'Let what waits run, in order' },
    );
    release.disabled = !isWritable;
    return el(
      'div',
      { class: 'held', role: 'status' },
      icon('bell'),
      el('span', {}, `Held: ${heldWords(reason)}.`),
      release,
    );
  }

  private row(message: QueuedMessage, joins: boolean, isWritable: boolean): HTMLElement {
    const { messageId, text, source } = message;
    const isHuman = source.kind === 'human';
    const words = el(
      'span',
      { class: 'queued-words' },
      source.kind === 'goal' ? `Round ${source.round} of the goal` : text,
    );
    const row = el('li', {}, icon('queue'), words, joins && el('span', { class: 'tag' }, 'steer'));
    row.dataset.message = messageId;
    if (!isHuman || !isWritable) return row;
    row.append(
      iconButton(icon('edit'), CHANGE, () => {
        this.edit(row, message);
      }),
      iconButton(icon('close'), 'Remove this message', () => {
        this.host.post({ type: 'removeQueued', messageId });
      }),
    );
    return row;
  }

  private edit(row: HTMLElement, { messageId, text }: QueuedMessage): void {
    this.editing = messageId;
    const field = el('textarea', { 'aria-label': 'Change the message' });
    field.value = text;
    const end = (isSaved: boolean) => {
      if (isSaved && field.value.trim() !== '' && field.value !== text) {
        this.host.post({ type: 'updateQueued', messageId, text: field.value.trim() });
      }
      this.editing = undefined;
      this.drawn = '';
      this.update(...this.last);
      this.focus({ message: messageId, title: CHANGE });
    };
    field.addEventListener('keydown', (event) => {
      if (event.isComposing || (event.key !== 'Escape' && (event.key !== 'Enter' || event.shiftKey))) return;
      event.preventDefault();
      end(event.key === 'Enter');
    });
    const save = button('Save', () => {
      end(true);
    });
    const leave = button('Leave it', () => {
      end(false);
    });
    row.replaceChildren(field, el('span', { class: 'row-buttons' }, save, leave));
    field.focus();
  }
}
