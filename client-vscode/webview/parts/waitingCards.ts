// What waits for the person's decision. A key counts only once the card was there to be read, and only these keys do.
import type { ApprovalRequest, QuestionRequest } from '../../src/lsp/protocol';
import type { Waiting } from '../../src/session/waiting';
import { button, el, foldable, show } from '../dom';
import type { Host } from '../host';
import { icon } from '../icons';
import { markdown } from '../markdown';

/** Milliseconds that a card is shown before a key may answer it. */
const READABLE_AFTER = 500;

interface Card {
  readonly element: HTMLElement;
  /** The session that is shown may become another one while it waits. */
  readonly elsewhere: HTMLElement;
  readonly since: number;
  readonly keys: ReadonlyMap<string, () => void>;
}

const RISKS: Record<ApprovalRequest['risk'], string> = {
  edit: 'changes files',
  execute: 'runs a program',
  network: 'uses the network',
  destructive: 'destroys something',
};

export class WaitingCards {
  readonly element = el('section', { class: 'decisions', 'aria-label': 'Waits for you', 'aria-live': 'assertive' });
  private readonly cards = new Map<string, Card>();

  constructor(
    private readonly host: Host,
    private readonly now: () => number = () => performance.now(),
  ) {
    show(this.element, false);
    document.addEventListener('keydown', (event) => {
      this.key(event);
    });
  }

  /** Cards that stay keep what was written into them. `sessionId` is the session that is shown. */
  update(waiting: readonly Waiting[], sessionId: string | undefined): void {
    const ids = new Set(waiting.map(({ id }) => id));
    for (const [id, card] of this.cards) {
      if (ids.has(id)) continue;
      card.element.remove();
      this.cards.delete(id);
    }
    for (const open of waiting) {
      const card = this.cards.get(open.id) ?? this.add(open);
      show(card.elsewhere, open.request.sessionId !== sessionId);
    }
    show(this.element, this.cards.size > 0);
  }

  private add(open: Waiting): Card {
    const made = open.kind === 'approval' ? this.approval(open.request) : this.question(open.request);
    const card = { ...made, elsewhere: el('div', { class: 'dim' }, 'From another session') };
    card.element.prepend(card.elsewhere);
    this.cards.set(open.id, card);
    this.element.append(card.element);
    return card;
  }

  private key(event: KeyboardEvent): void {
    const [card] = this.cards.values();
    if (!card || event.isComposing || event.repeat || !event.altKey || !event.shiftKey || event.ctrlKey) return;
    const act = card.keys.get(event.code);
    if (!act) return;
    event.preventDefault();
    if (this.now() - card.since >= READABLE_AFTER) act();
  }

  private approval({ approvalId: id, title, detail, risk, argv, uris }: ApprovalRequest): Omit<Card, 'elsewhere'> {
    const words = el('input', { 'aria-label': 'Words for the agent', class: 'feedback' });
    words.placeholder = 'Why not, or what instead (goes with Deny)';
    const decide = (decision: 'allowOnce' | 'allowSession' | 'deny') => () => {
      const feedback = decision === 'deny' && words.value.trim() !== '' ? words.value.trim() : undefined;
      this.host.post({ type: 'decide', id, decision, feedback });
    };
    const choices = [
      { label: 'Allow', code: 'KeyA', act: decide('allowOnce') },
      { label: 'Allow for this session', code: 'KeyS', act: decide('allowSession') },
      { label: 'Deny', code: 'KeyD', act: decide('deny') },
    ].filter(({ code }) => code !== 'KeyS' || risk !== 'destructive');
    words.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && !event.isComposing) decide('deny')();
    });
    const element = el(
      'div',
      { class: `waiting-card ${risk}`, role: 'group', 'aria-label': 'Approval' },
      el(
        'div',
        { class: 'waiting-head' },
        icon('bell'),
        el('strong', {}, title),
        el('span', { class: 'tag' }, riskWords(risk)),
      ),
      argv && el('pre', { class: 'output' }, argv.map(quoted).join(' ')),
      ...(uris ?? []).map((uri) => el('div', { class: 'dim uri' }, uri)),
      detail.trim() !== '' && this.detail(detail, argv === undefined),
      words,
      el('div', { class: 'buttons' }, ...choices.map(({ label, code, act }) => withKey(label, code, act))),
    );
    return { element, since: this.now(), keys: new Map(choices.map(({ code, act }) => [code, act])) };
  }

  private question({ questionId: id, text, choices = [] }: QuestionRequest): Omit<Card, 'elsewhere'> {
    const words = el('input', { 'aria-label': 'Your answer', class: 'feedback' });
    words.placeholder = 'Your answer';
    const say = (answer: string | null) => {
      this.host.post({ type: 'answer', id, answer });
    };
    const own = () => {
      if (words.value.trim() !== '') say(words.value.trim());
    };
    words.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && !event.isComposing) own();
    });
    const buttons = choices.map((choice) =>
      button(choice, () => {
        say(choice);
      }),
    );
    const element = el(
      'div',
      { class: 'waiting-card question', role: 'group', 'aria-label': 'Question' },
      el('div', { class: 'waiting-head' }, icon('question'), el('strong', {}, 'The agent asks')),
      el('div', { class: 'markdown detail' }, this.markdown(text)),
      buttons.length > 0 && el('div', { class: 'buttons choices' }, ...buttons),
      words,
      el(
        'div',
        { class: 'buttons' },
        button('Answer', own, { class: 'primary' }),
        button('No answer', () => {
          say(null);
        }),
      ),
    );
    return { element, since: this.now(), keys: new Map() };
  }

  /** Folded where the command itself stands above it. */
  private detail(text: string, isOpen: boolean): Node {
    const words = () => el('div', { class: 'markdown detail' }, this.markdown(text));
    if (isOpen) return words();
    return foldable([el('span', { class: 'dim' }, 'Details')], words, { isOpen, toggled: () => undefined });
  }

  private markdown(text: string): Node {
    return markdown(text, (url) => {
      this.host.post({ type: 'openLink', url });
    });
  }
}

function riskWords(risk: ApprovalRequest['risk']): string {
  return (RISKS as Record<string, string | undefined>)[risk] ?? risk;
}

function withKey(label: string, code: string, act: () => void): HTMLButtonElement {
  const key = `Alt+Shift+${code.slice(-1)}`;
  const element = button(label, act, { title: `${label} (${key})`, 'aria-keyshortcuts': key });
  if (code === 'KeyA') element.className = 'primary';
  element.append(el('kbd', { 'aria-hidden': 'true' }, `Alt⇧${code.slice(-1)}`));
  return element;
}

/** An argument as it could be typed, so that one with a space is not taken for two. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : JSON.stringify(word);
}
