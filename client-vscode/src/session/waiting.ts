// What waits for the person: approvals and questions of the server, each answered once and by whoever is first.
// No answer is never a yes: whatever is withdrawn resolves with a denial, or with no answer.
import * as vscode from 'vscode';
import type { ApprovalDecision, ApprovalRequest, QuestionReply, QuestionRequest } from '../lsp/protocol';

export type ApprovalAnswer = ApprovalDecision;
export type QuestionAnswer = QuestionReply;

export type Waiting =
  | { kind: 'approval'; id: string; request: ApprovalRequest }
  | { kind: 'question'; id: string; request: QuestionRequest };

interface Open {
  waiting: Waiting;
  /** Settles the request; the argument is undefined where nobody answers any more. */
  settle(answer: ApprovalAnswer | QuestionAnswer | undefined): void;
}

const NOBODY: ApprovalAnswer = { decision: 'deny', feedback: 'The request was withdrawn before anybody answered.' };

export class WaitingRoom implements vscode.Disposable {
  private readonly open = new Map<string, Open>();
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.changed.event;

  /** Oldest first. */
  get pending(): readonly Waiting[] {
    return [...this.open.values()].map(({ waiting }) => waiting);
  }

  /** Waits for the person. Cancelling the token withdraws the request. */
  askApproval(request: ApprovalRequest, token: vscode.CancellationToken): Promise<ApprovalAnswer> {
    return this.ask({ kind: 'approval', id: request.approvalId, request }, NOBODY, token);
  }

  askQuestion(request: QuestionRequest, token: vscode.CancellationToken): Promise<QuestionAnswer> {
    return this.ask({ kind: 'question', id: request.questionId, request }, { answer: null }, token);
  }

  /** False where the approval is no longer open: somebody else answered, or it was withdrawn. */
  answerApproval(id: string, answer: ApprovalAnswer): boolean {
    return this.answer('approval', id, answer);
  }

  /** An answer of null closes the question without one. */
  answerQuestion(id: string, answer: string | null): boolean {
    return this.answer('question', id, { answer });
  }

  withdraw(id: string): void {
    this.open.get(id)?.settle(undefined);
  }

  /** The server that asked is gone. */
  withdrawAll(): void {
    for (const id of [...this.open.keys()]) this.withdraw(id);
  }

  dispose(): void {
    this.withdrawAll();
    this.changed.dispose();
  }

  private ask<A extends ApprovalAnswer | QuestionAnswer>(
    waiting: Waiting,
    nobody: A,
    token: vscode.CancellationToken,
  ): Promise<A> {
    if (token.isCancellationRequested) return Promise.resolve(nobody);
    this.withdraw(waiting.id);
    return new Promise<A>((resolve) => {
      const settle = (answer: ApprovalAnswer | QuestionAnswer | undefined) => {
        this.open.delete(waiting.id);
        cancelled.dispose();
        resolve((answer as A | undefined) ?? nobody);
        this.changed.fire();
      };
      const cancelled = token.onCancellationRequested(() => {
        settle(undefined);
      });
      this.open.set(waiting.id, { waiting, settle });
      this.changed.fire();
    });
  }

  private answer(kind: Waiting['kind'], id: string, answer: ApprovalAnswer | QuestionAnswer): boolean {
    const found = this.open.get(id);
    if (found?.waiting.kind !== kind) return false;
    found.settle(answer);
    return true;
  }
}
