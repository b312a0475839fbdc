// The page: its parts, in the order of the eye and of the Tab key, and who is told what.
import type { ToPage, ViewState } from '../src/views/messages';
import { el, keepFocus, setText, show } from './dom';
import { Frame } from './frame';
import type { Host } from './host';
import { Composer } from './parts/composer';
import { firstUse } from './parts/firstUse';
import { GoalCard } from './parts/goalCard';
import { Notices } from './parts/notices';
import { QueueList } from './parts/queueList';
import { Activity, Footer } from './parts/status';
import { TranscriptView } from './parts/transcriptView';
import { WaitingCards } from './parts/waitingCards';

export class App {
  private readonly title = el('h1', { class: 'session-title' });
  private readonly notices: Notices;
  private readonly goal: GoalCard;
  private readonly transcript: TranscriptView;
  private readonly first: HTMLElement;
  private readonly waiting: WaitingCards;
  private readonly queue: QueueList;
  private readonly activity = new Activity();
  private readonly composer: Composer;
  private readonly footer = new Footer();
  private state: ViewState | undefined;
  private readonly frame = new Frame(() => {
    keepFocus(
      () => {
        this.draw();
      },
      () => {
        this.composer.focus();
      },
    );
  });

  constructor(root: HTMLElement, editor: Host) {
    const host = this.acting(editor);
    this.notices = new Notices(host);
    this.goal = new GoalCard(host);
    this.transcript = new TranscriptView(host);
    this.waiting = new WaitingCards(host);
    this.queue = new QueueList(host);
    this.composer = new Composer(host);
    this.first = firstUse((text) => {
      this.composer.compose(text);
    });
    root.append(
      this.title,
      this.notices.element,
      this.goal.element,
      this.transcript.element,
      this.first,
      this.waiting.element,
      this.queue.element,
      this.activity.element,
      this.composer.element,
      this.footer.element,
    );
    host.onMessage((message) => {
      this.receive(message);
    });
    host.post({ type: 'ready' });
  }

  /** What went wrong before is no word about what a person does now. */
  private acting(editor: Host): Host {
    return {
      post: (message) => {
        if (message.type !== 'ready' && message.type !== 'draft') this.notices.forgetProblem();
        editor.post(message);
      },
      onMessage: (listener) => {
        editor.onMessage(listener);
      },
    };
  }

  private receive(message: ToPage): void {
    switch (message.type) {
      case 'state':
        this.state = message.state;
        this.frame.ask();
        break;
      case 'events':
        this.transcript.take(message.events, message.isAll);
        this.frame.ask();
        break;
      case 'sent':
        if (message.send === 0) this.goal.saved(message.problem === undefined);
        else this.composer.sent(message.send, message.problem);
        break;
      case 'told':
        this.notices.tell(message.words, message.isProblem, message.isMarkdown);
        break;
      case 'compose':
        this.composer.compose(message.text);
        break;
      case 'attach':
        this.composer.attach(message.item);
        break;
      case 'draft':
        this.composer.restore(message.draft);
        break;
    }
  }

  private draw(): void {
    const { state } = this;
    if (!state) return;
    const { session } = state;
    const isWritable = state.server.state === 'running' && state.opening.kind === 'open';
    setText(this.title, session?.title ?? '');
    show(this.title, session !== undefined);
    this.notices.update(state);
    this.goal.update(session?.goal, isWritable);
    this.waiting.update(state.waiting, session?.sessionId);
    this.queue.update(session?.queue, isWritable);
    this.activity.update(state.server.state === 'running' ? session : undefined);
    this.composer.update(state);
    this.footer.update(session, state.model?.name);
    this.transcript.showEarlier(state.hasEarlier);
    const isFirst = this.transcript.isEmpty && !session?.goal;
    show(this.first, isFirst);
    show(this.transcript.element, !isFirst);
  }
}
