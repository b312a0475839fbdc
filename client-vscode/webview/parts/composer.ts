// Where the person writes. It says beforehand what Enter will do, and keeps what was not taken.
import type { ContextItem, SessionInfo } from '../../src/lsp/protocol';
import type { Draft, ViewState } from '../../src/views/messages';
import { button, el, iconButton, setText, show } from '../dom';
import { completions, isGoalCommand, type Completion } from '../goalCommand';
import type { Host } from '../host';
import { icon } from '../icons';
import { placeOf } from '../items/context';
import { CompletionList } from './completionList';

type How = 'prompt' | 'steer' | 'goal';

interface Pending {
  send: number;
  text: string;
  context: ContextItem[];
}

export class Composer {
  readonly element = el('section', { class: 'composer', 'aria-label': 'Message' });
  private readonly input = el('textarea', { 'aria-label': 'Message to the agent' });
  private readonly chips = el('div', { class: 'chips', 'aria-label': 'Attached' });
  private readonly field = el('div', { class: 'field' }, this.chips, this.input);
  private readonly problem = el('div', { class: 'problem', role: 'alert' });
  private readonly hint = el('div', { class: 'hint' });
  private readonly sendButton: HTMLButtonElement;
  private readonly queueButton: HTMLButtonElement;
  private readonly stopButton: HTMLButtonElement;
  private readonly list: CompletionList;
  private context: ContextItem[] = [];
  private session: SessionInfo | undefined;
  private isWritable = false;
  private hasServer = false;
  private sends = 0;
  private pending: Pending | undefined;

  constructor(private readonly host: Host) {
    this.sendButton = button(
      'Send',
      () => {
        this.send(this.howOfEnter());
      },
      { class: 'primary' },
    );
    this.queueButton = button(
      'Queue',
      () => {
        this.send('prompt');
      },
      { title: 'Runs after what is under way (Alt+Enter)' },
    );
    this.stopButton = button(
      'Stop',
      () => {
        host.post({ type: 'stop' });
        this.focus();
      },
      { class: 'stop', title: 'Stop the agent' },
    );
    this.stopButton.prepend(icon('stop'));
    this.list = new CompletionList(this.input, (completion) => {
      this.complete(completion);
    });
    this.input.rows = 1;
    this.listen();
    this.element.append(
      this.list.element,
      this.problem,
      this.field,
      el('div', { class: 'send-row' }, this.hint, this.stopButton, this.queueButton, this.sendButton),
    );
    show(this.problem, false);
    this.drawChips();
    this.drawSend();
  }

  update({ session, server, opening }: ViewState): void {
    this.session = session;
    this.hasServer = server.state === 'running';
    this.isWritable = this.hasServer && opening.kind !== 'readOnly' && opening.kind !== 'opening';
    this.input.placeholder = this.placeholder();
    this.drawSend();
    this.grow();
  }

  focus(): void {
    this.input.focus();
  }

  /** What was written and not sent before this page was there. It gives way to what is written here already. */
  restore({ text, context }: Draft): void {
    if (text === '' && context.length === 0) return;
    if (this.input.value === '') this.input.value = text;
    this.context = [...context, ...this.context];
    this.drawChips();
    this.edited();
  }

  /** Puts text after what is there. */
  compose(text: string): void {
    const before = this.input.value;
    this.input.value = before.trim() === '' ? text : `${before.trimEnd()}\n${text}`;
    this.input.setSelectionRange(this.input.value.length, this.input.value.length);
    this.edited();
    this.focus();
  }

  attach(item: ContextItem): void {
    const key = JSON.stringify(item);
    if (!this.context.some((there) => JSON.stringify(there) === key)) this.context = [...this.context, item];
    this.drawChips();
    this.keep();
    this.focus();
  }

  /** What became of a send. What was refused stays. */
  sent(send: number, problem: string | undefined): void {
    if (this.pending?.send !== send) return;
    const { text, context } = this.pending;
    this.pending = undefined;
    if (problem === undefined) {
      const { value } = this.input;
      this.input.value = value.startsWith(text) ? value.slice(text.length).trimStart() : value;
      this.context = this.context.filter((item) => !context.includes(item));
      this.drawChips();
    }
    setText(this.problem, problem ?? '');
    show(this.problem, Boolean(problem));
    this.edited();
  }

  private listen(): void {
    this.input.addEventListener('input', () => {
      this.edited();
    });
    this.input.addEventListener('blur', () => {
      this.list.close();
    });
    this.input.addEventListener('keydown', (event) => {
      // An Enter that only ends the choice of a character is not for us.
      if (event.isComposing) return;
      if (this.list.key(event)) {
        event.preventDefault();
        return;
      }
      if (event.key !== 'Enter' || event.shiftKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      this.send(event.altKey ? this.howOfAltEnter() : this.howOfEnter());
    });
  }

  private get isRunning(): boolean {
    return this.session?.state === 'running';
  }

  private howOfEnter(): How {
    if (isGoalCommand(this.input.value)) return 'goal';
    return this.isRunning ? 'steer' : 'prompt';
  }

  private howOfAltEnter(): How {
    return isGoalCommand(this.input.value) ? 'goal' : 'prompt';
  }

  private send(how: How): void {
    const text = this.input.value;
    if (text.trim() === '' || this.pending || !this.isWritable) return;
    this.sends += 1;
    this.pending = { send: this.sends, text, context: this.context };
    this.list.close();
    this.host.post({ type: 'send', send: this.sends, how, text: text.trim(), context: this.context });
    this.drawSend();
    this.focus();
  }

  private edited(): void {
    this.offer();
    this.drawSend();
    this.grow();
    this.keep();
  }

  private offer(): void {
    const { value, selectionEnd } = this.input;
    const found = completions(value, selectionEnd, this.session?.goal ?? null);
    this.list.offer(found, !/\s$/.test(value));
  }

  private complete({ from, insert }: Completion): void {
    this.input.setRangeText(insert, from, this.input.selectionEnd, 'end');
    if (insert.endsWith('""')) {
      const inside = this.input.selectionEnd - 1;
      this.input.setSelectionRange(inside, inside);
    }
    this.drawSend();
    this.grow();
    this.keep();
    if (insert.endsWith(' ')) this.offer();
  }

  private keep(): void {
    this.host.post({ type: 'draft', draft: { text: this.input.value, context: this.context } });
  }

  /** As high as its words. The field keeps its height meanwhile: what is above it must not move while this one measures. */
  private grow(): void {
    this.field.style.height = `${this.field.offsetHeight}px`;
    this.input.style.height = 'auto';
    this.input.style.height = `${this.input.scrollHeight}px`;
    this.field.style.height = '';
  }

  private placeholder(): string {
    if (!this.isWritable) return 'Nothing can be sent now';
    if (this.isRunning) return 'Steer the agent: the next step sees it';
    if (this.session?.queue.held) return 'What waits is held. What you write goes behind it and lets it go';
    return 'What should the agent do?   /goal for a long task';
  }

  private drawSend(): void {
    const how = this.howOfEnter();
    const canSend = this.isWritable && this.pending === undefined && this.input.value.trim() !== '';
    setText(this.sendButton, { prompt: 'Send', steer: 'Steer', goal: 'Goal' }[how]);
    this.sendButton.disabled = !canSend;
    this.queueButton.disabled = !canSend;
    show(this.queueButton, this.isRunning && how !== 'goal');
    show(this.stopButton, this.hasServer && this.session !== undefined && canStop(this.session));
    setText(this.hint, this.hintOf(how));
  }

  private hintOf(how: How): string {
    if (!this.isWritable) return '';
    if (how === 'goal') return 'Enter gives the command';
    if (how === 'steer') return 'Enter steers · Alt+Enter queues';
    return this.session?.state === 'maintenance'
      ? 'Enter sends: it runs right after'
      : 'Enter sends · Shift+Enter: new line';
  }

  private drawChips(): void {
    show(this.chips, this.context.length > 0);
    this.chips.replaceChildren(
      ...this.context.map((item) => {
        const words = placeOf(item);
        const remove = iconButton(icon('close'), `Remove ${words}`, () => {
          this.context = this.context.filter((other) => other !== item);
          this.drawChips();
          this.keep();
          this.focus();
        });
        return el('span', { class: 'chip' }, icon('clip'), words, remove);
      }),
    );
  }
}

/** Something moves, or is about to: a turn, tidying up, or a goal between two rounds. */
function canStop({ state, goal, readOnly }: SessionInfo): boolean {
  return !readOnly && (state !== 'idle' || (goal?.phase === 'active' && goal.activation === 'armed'));
}
