// Approvals and questions as notifications while the sidebar is hidden. Closing one is no answer: it goes on waiting.
import * as vscode from 'vscode';
import type { ApprovalRequest, QuestionRequest } from '../lsp/protocol';
import type { Waiting, WaitingRoom } from '../session/waiting';
import { plainNotice } from './notice';

const ALLOW = 'Allow';
const ALLOW_SESSION = 'Allow for this session';
const DENY = 'Deny';
const ANSWER = 'Answer…';
const SHOW = 'Show';
/** Choices that fit a notification. */
const BUTTONS = 3;
const MESSAGE_CHARACTERS = 600;

/** What the notices need to know of the sidebar. */
export interface Surface {
  readonly visible: boolean;
  readonly onDidChangeVisibility: vscode.Event<boolean>;
  reveal(): void;
}

export class WaitingNotices implements vscode.Disposable {
  private readonly told = new Set<string>();
  private readonly hooks: vscode.Disposable[];

  constructor(
    private readonly waiting: WaitingRoom,
    private readonly sidebar: Surface,
  ) {
    const look = () => {
      this.look();
    };
    this.hooks = [waiting.onDidChange(look), sidebar.onDidChangeVisibility(look)];
  }

  dispose(): void {
    for (const hook of this.hooks) hook.dispose();
  }

  private look(): void {
    const { pending } = this.waiting;
    for (const id of this.told) if (!pending.some((open) => open.id === id)) this.told.delete(id);
    if (this.sidebar.visible) return;
    for (const open of pending) {
      if (this.told.has(open.id)) continue;
      this.told.add(open.id);
      void this.tell(open);
    }
  }

  private async tell(open: Waiting): Promise<void> {
    const taken = open.kind === 'approval' ? await this.approval(open.request) : await this.question(open.request);
    if (!taken)
      void vscode.window.showInformationMessage('Steersman: that was answered already, or is no longer asked.');
  }

  /** False where an answer was given and came too late. */
  private async approval(request: ApprovalRequest): Promise<boolean> {
    const buttons = request.risk === 'destructive' ? [ALLOW, DENY, SHOW] : [ALLOW, ALLOW_SESSION, DENY, SHOW];
    const chosen = await vscode.window.showWarningMessage(approvalText(request), ...buttons);
    switch (chosen) {
      case ALLOW:
        return this.waiting.answerApproval(request.approvalId, { decision: 'allowOnce' });
      case ALLOW_SESSION:
        return this.waiting.answerApproval(request.approvalId, { decision: 'allowSession' });
      case DENY:
        return this.waiting.answerApproval(request.approvalId, { decision: 'deny' });
      case SHOW:
        this.sidebar.reveal();
        return true;
      default:
        return true;
    }
  }

  private async question(request: QuestionRequest): Promise<boolean> {
    const choices = request.choices ?? [];
    const buttons = choices.length > 0 && choices.length <= BUTTONS ? choices : [ANSWER];
    const text = shortened(`Steersman asks: ${request.text}`);
    const items = [...buttons, SHOW].map((title) => ({ title }));
    const chosen = await vscode.window.showInformationMessage(text, ...items);
    if (!chosen) return true;
    // By place, not by name: a choice of the model's may be called like a button.
    if (chosen === items.at(-1)) {
      this.sidebar.reveal();
      return true;
    }
    const answer = buttons === choices ? chosen.title : await this.ask(request, choices);
    return answer === undefined || this.waiting.answerQuestion(request.questionId, answer);
  }

  private async ask(request: QuestionRequest, choices: string[]): Promise<string | undefined> {
    const title = shortened(request.text);
    if (choices.length > 0) return vscode.window.showQuickPick(choices, { title, ignoreFocusOut: true });
    const text = await vscode.window.showInputBox({ title, ignoreFocusOut: true });
    return text?.trim() ? text : undefined;
  }
}

/** The whole question fits the sidebar only; what decides stands first here. */
function approvalText({ title, argv, uris }: ApprovalRequest): string {
  const what = argv?.join(' ') ?? uris?.join(', ') ?? '';
  return shortened(what && !title.includes(what) ? `Steersman asks: ${title} – ${what}` : `Steersman asks: ${title}`);
}

function shortened(text: string): string {
  const short = text.length <= MESSAGE_CHARACTERS ? text : `${text.slice(0, MESSAGE_CHARACTERS)}… (Show has all of it)`;
  return plainNotice(short);
}
