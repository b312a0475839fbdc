// The sidebar: gives its page the session as it is, and does what the page asks. The page may be thrown away at any
// time; a new one is given everything again.
import * as vscode from 'vscode';
import { refusalOf, wordsOf, type Wire } from '../lsp/wire';
import type { ContextItem, StoredEvent } from '../lsp/protocol';
import type { CurrentSession } from '../session/current';
import type { WaitingRoom } from '../session/waiting';
import { act, openFile, openLink } from './actions';
import type { KeptDraft } from './draft';
import { readMessage, type FromPage, type ToPage, type ViewState } from './messages';
import { pageOf } from './page';
import { forPage, viewState } from './viewState';

/** The state is sent at most this often. */
const STATE_EVERY_MS = 30;
const FOCUS = 'steersman.sidebar.focus';

export class Sidebar implements vscode.WebviewViewProvider, vscode.Disposable {
  private readonly visibility = new vscode.EventEmitter<boolean>();
  readonly onDidChangeVisibility = this.visibility.event;
  private readonly hooks: vscode.Disposable[];
  private view: vscode.WebviewView | undefined;
  /** The page has asked for everything, and gets what is new from then on. */
  private isReady = false;
  /** What is for the composer of a page that is not there yet. */
  private later: ToPage[] = [];
  private timer: NodeJS.Timeout | undefined;
  private model: ViewState['model'];

  constructor(
    private readonly extensionUri: vscode.Uri,
    private readonly session: CurrentSession,
    private readonly waiting: WaitingRoom,
    private readonly wire: Wire,
    private readonly draft: KeptDraft,
    private readonly log: Pick<vscode.LogOutputChannel, 'warn'>,
  ) {
    const changed = () => {
      this.stateSoon();
    };
    this.hooks = [
      session.onDidChange(changed),
      waiting.onDidChange(changed),
      session.onDidAppend((events) => {
        this.sendEvents(events, false);
      }),
      session.onDidReplace(() => {
        this.sendEvents(session.events(), true);
        changed();
      }),
      wire.onDidChangeState((state) => {
        if (state === 'running') void this.askForModel();
        changed();
      }),
      vscode.workspace.onDidChangeWorkspaceFolders(changed),
      vscode.workspace.onDidGrantWorkspaceTrust(changed),
    ];
  }

  get visible(): boolean {
    return this.view?.visible ?? false;
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    const dist = vscode.Uri.joinPath(this.extensionUri, 'dist');
    this.view = view;
    this.isReady = false;
    view.webview.options = { enableScripts: true, enableCommandUris: false, localResourceRoots: [dist] };
    view.webview.onDidReceiveMessage((message: unknown) => {
      if (this.view === view) void this.receive(message);
    });
    view.onDidChangeVisibility(() => {
      // A hidden page is thrown away; the one that comes asks for everything.
      if (!view.visible) this.isReady = false;
      this.visibility.fire(view.visible);
    });
    view.onDidDispose(() => {
      if (this.view !== view) return;
      this.view = undefined;
      this.isReady = false;
      this.visibility.fire(false);
    });
    view.webview.html = pageOf(view.webview, dist);
    this.visibility.fire(view.visible);
  }

  reveal(): void {
    if (this.view) this.view.show(false);
    else void vscode.commands.executeCommand(FOCUS);
  }

  /** Puts text into the composer, after what is there. */
  compose(text: string): void {
    this.tellComposer({ type: 'compose', text });
  }

  /** Attaches something to the next message. */
  attach(item: ContextItem): void {
    this.tellComposer({ type: 'attach', item });
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const hook of this.hooks) hook.dispose();
    this.visibility.dispose();
  }

  // To the page

  private post(message: ToPage): void {
    void this.view?.webview.postMessage(message);
  }

  private tellComposer(message: ToPage): void {
    if (this.isReady) this.post(message);
    else this.later.push(message);
  }

  private stateSoon(): void {
    if (!this.isReady || this.timer !== undefined) return;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      if (this.isReady) this.sendState();
    }, STATE_EVERY_MS);
  }

  private sendState(): void {
    this.post({ type: 'state', state: viewState(this.session, this.waiting, this.wire, this.model) });
  }

  private sendEvents(events: readonly StoredEvent[], isAll: boolean): void {
    if (this.isReady) this.post({ type: 'events', events: forPage(events), isAll });
  }

  private tell(words: string, isProblem: boolean, isMarkdown = false): void {
    this.post({ type: 'told', words, isProblem, isMarkdown });
  }

  private async askForModel(): Promise<void> {
    try {
      const { model } = await this.wire.request('steersman/status', {});
      this.model = { name: model.name, isConfigured: model.configured };
      this.stateSoon();
    } catch {
      // The server is gone again; the next one is asked.
    }
  }

  // From the page

  private async receive(raw: unknown): Promise<void> {
    const message = readMessage(raw);
    if (!message) {
      this.log.warn('The sidebar got a message that it does not know. It was ignored.');
      return;
    }
    if (message.type === 'send') {
      await this.send(message);
      return;
    }
    try {
      await this.do(message);
    } catch (error) {
      this.tell(wordsOf(error), true);
    }
  }

  private async do(message: Exclude<FromPage, { type: 'send' }>): Promise<void> {
    switch (message.type) {
      case 'ready':
        this.begin();
        break;
      case 'draft':
        this.draft.set(message.draft);
        break;
      case 'stop':
        await this.session.cancel();
        break;
      case 'earlier':
        await this.session.earlier();
        break;
      case 'goal':
        await this.session.goal(message.verb);
        break;
      case 'removeQueued':
        await this.session.removeQueued(message.messageId);
        break;
      case 'updateQueued':
        await this.session.updateQueued(message.messageId, message.text);
        break;
      case 'releaseQueue':
        await this.session.releaseQueue();
        break;
      case 'decide':
        this.decide(message);
        break;
      case 'answer':
        if (!this.waiting.answerQuestion(message.id, message.answer)) this.tell(TOO_LATE, false);
        break;
      case 'act':
        await act(message.action, this.session);
        if (message.action === 'setKey') await this.askForModel();
        break;
      case 'openLink':
        await openLink(message.url);
        break;
      case 'openFile':
        await openFile(message.uri, message.line);
        break;
    }
  }

  private begin(): void {
    this.isReady = true;
    this.sendState();
    this.sendEvents(this.session.events(), true);
    this.post({ type: 'draft', draft: this.draft.value });
    for (const message of this.later.splice(0)) this.post(message);
    if (this.wire.state === 'running') void this.askForModel();
  }

  private async send({ send, how, text, context }: Extract<FromPage, { type: 'send' }>): Promise<void> {
    try {
      if (how === 'goal') {
        const { message, ok } = await this.session.goalCommand(text);
        // What a command did stands in the card and in the transcript. Only a question has no other answer.
        if (!ok || isQuestion(text)) this.tell(message, !ok, true);
        if (ok) this.draft.sent(text);
        this.post({ type: 'sent', send, problem: ok ? undefined : '' });
        return;
      }
      await this.session[how](text, context);
      this.draft.sent(text);
      this.post({ type: 'sent', send, problem: undefined });
    } catch (error) {
      if (refusalOf(error)?.kind === 'notConfigured') await this.askForModel();
      this.post({ type: 'sent', send, problem: wordsOf(error) });
    }
  }

  private decide({ id, decision, feedback }: Extract<FromPage, { type: 'decide' }>): void {
    const answer = feedback === undefined ? { decision } : { decision, feedback };
    if (!this.waiting.answerApproval(id, answer)) this.tell(TOO_LATE, false);
  }
}

const TOO_LATE = 'That was answered already, or is no longer asked.';

/** `/goal` alone asks how the goal stands. */
function isQuestion(command: string): boolean {
  return command.trim() === '/goal';
}
