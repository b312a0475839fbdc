// The page of the sidebar in a document without a screen: what it posts, and a hand that tells it things.
// Import it before anything of `webview/`.
import type { ContextItem } from '../../src/lsp/protocol';
import type { Draft, FromPage, ToPage, ViewState } from '../../src/views/messages';
import { App } from '../../webview/app';
import type { Host } from '../../webview/host';
import { session } from './values';

/** What this document lacks; nothing is laid out in it. */
globalThis.ResizeObserver = class {
  observe(): void {
    // nothing changes its size
  }
  unobserve(): void {
    // nothing changes its size
  }
  disconnect(): void {
    // nothing changes its size
  }
};
Element.prototype.scrollIntoView = () => undefined;

export class FakeHost implements Host {
  readonly posted: FromPage[] = [];
  draft: Draft = { text: '', context: [] };
  private listeners: ((message: ToPage) => void)[] = [];

  post(message: FromPage): void {
    this.posted.push(message);
    if (message.type === 'draft') this.draft = message.draft;
    if (message.type === 'ready') this.tell({ type: 'draft', draft: this.draft });
  }
  onMessage(listener: (message: ToPage) => void): void {
    this.listeners.push(listener);
  }
  tell(message: ToPage): void {
    for (const listener of this.listeners) listener(message);
  }
  /** The messages of a type, in order. */
  of<T extends FromPage['type']>(type: T): Extract<FromPage, { type: T }>[] {
    return this.posted.filter((message): message is Extract<FromPage, { type: T }> => message.type === type);
  }
}

export const STATE: ViewState = {
  server: { state: 'running', problem: undefined },
  hasFolder: true,
  isTrusted: true,
  model: { name: 'a-model', isConfigured: true },
  opening: { kind: 'open' },
  session: session(),
  hasEarlier: false,
  waiting: [],
};

export class Page {
  readonly root = document.createElement('div');

  constructor(readonly host = new FakeHost()) {
    document.body.replaceChildren(this.root);
    new App(this.root, host);
  }

  /** Tells the state and waits until it is drawn. */
  async show(more: Partial<ViewState> = {}): Promise<void> {
    this.host.tell({ type: 'state', state: { ...STATE, ...more } });
    await drawn();
  }

  get input(): HTMLTextAreaElement {
    return this.field('.composer textarea');
  }

  type(text: string): void {
    this.input.value = text;
    this.input.setSelectionRange(text.length, text.length);
    this.input.dispatchEvent(new Event('input', { bubbles: true }));
  }

  press(key: string, more: KeyboardEventInit = {}): boolean {
    const event = new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...more });
    return this.input.dispatchEvent(event);
  }

  attach(item: ContextItem): void {
    this.host.tell({ type: 'attach', item });
  }

  find(selector: string): HTMLElement {
    const found = this.root.querySelector<HTMLElement>(selector);
    if (!found) throw new Error(`There is no ${selector}.`);
    return found;
  }

  /** Something to write into. */
  field(selector: string): HTMLTextAreaElement {
    return this.find(selector) as HTMLTextAreaElement;
  }

  /** Something to fold open, which is opened. */
  unfold(selector: string): void {
    for (const each of this.all(selector)) {
      (each as HTMLDetailsElement).open = true;
      each.dispatchEvent(new Event('toggle'));
    }
  }

  /** What can be seen of an element. */
  text(selector: string): string {
    return this.all(selector)
      .filter((element) => element.closest('[hidden]') === null)
      .map(({ textContent }) => textContent)
      .join('\n');
  }

  all(selector: string): HTMLElement[] {
    return [...this.root.querySelectorAll<HTMLElement>(selector)];
  }

  /** The visible button with this label, which may begin a longer one. */
  button(label: string): HTMLButtonElement {
    const found = this.all('button').find(
      (each) => each.closest('[hidden]') === null && (each.textContent || each.title).startsWith(label),
    );
    if (!found) throw new Error(`There is no button ${label}.`);
    return found as HTMLButtonElement;
  }

  buttons(selector: string): string[] {
    return this.all(`${selector} button`).map(({ textContent, title }) => textContent || title);
  }
}

/** The frame after the next, so that what was asked for now is drawn. */
export function drawn(): Promise<void> {
  return new Promise((resolve) =>
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        resolve();
      }),
    ),
  );
}
