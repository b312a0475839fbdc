import { beforeEach, describe, expect, it } from 'vitest';
import * as vscode from 'vscode';
import type { ApprovalRequest, QuestionRequest } from '../../src/lsp/protocol';
import { WaitingRoom } from '../../src/session/waiting';
import { neverCancelled } from './tools';

const approval = (approvalId = 'a1'): ApprovalRequest => ({
  approvalId,
  sessionId: 's1',
  turn: 1,
  callId: 'c1',
  tool: 'run_command',
  title: 'Run make',
  detail: '',
  risk: 'execute',
});
const question: QuestionRequest = { questionId: 'q1', sessionId: 's1', turn: 1, text: 'Which one?' };

describe('the waiting room', () => {
  let room: WaitingRoom;
  beforeEach(() => {
    room = new WaitingRoom();
  });

  it('gives an answer to the one who asked, once', async () => {
    const answer = room.askApproval(approval(), neverCancelled());
    expect(room.pending.map(({ id }) => id)).toEqual(['a1']);
    expect(room.answerApproval('a1', { decision: 'allowOnce' })).toBe(true);
    expect(room.answerApproval('a1', { decision: 'deny' })).toBe(false);
    expect(await answer).toEqual({ decision: 'allowOnce' });
    expect(room.pending).toEqual([]);
  });

  it('denies what is withdrawn, and refuses the late answer', async () => {
    const answer = room.askApproval(approval(), neverCancelled());
    room.withdraw('a1');
    expect((await answer).decision).toBe('deny');
    expect(room.answerApproval('a1', { decision: 'allowOnce' })).toBe(false);
  });

  it('takes the cancellation of the request for a withdrawal', async () => {
    const source = new vscode.CancellationTokenSource();
    const answer = room.askQuestion(question, source.token);
    source.cancel();
    expect(await answer).toEqual({ answer: null });
    expect(room.pending).toEqual([]);
  });

  it('does not open a request that was cancelled before it came', async () => {
    const source = new vscode.CancellationTokenSource();
    source.cancel();
    expect((await room.askApproval(approval(), source.token)).decision).toBe('deny');
    expect(room.pending).toEqual([]);
  });

  it('does not take an approval for an answer to a question', async () => {
    const answer = room.askQuestion(question, neverCancelled());
    expect(room.answerApproval('q1', { decision: 'allowOnce' })).toBe(false);
    expect(room.answerQuestion('q1', 'the left one')).toBe(true);
    expect(await answer).toEqual({ answer: 'the left one' });
  });

  it('settles the first request when the server asks again by the same id', async () => {
    const first = room.askApproval(approval(), neverCancelled());
    const second = room.askApproval(approval(), neverCancelled());
    expect((await first).decision).toBe('deny');
    room.answerApproval('a1', { decision: 'allowSession' });
    expect((await second).decision).toBe('allowSession');
  });

  it('denies everything when the server is gone, and tells each change', async () => {
    let changes = 0;
    room.onDidChange(() => (changes += 1));
    const answers = [
      room.askApproval(approval('a1'), neverCancelled()),
      room.askApproval(approval('a2'), neverCancelled()),
    ];
    room.withdrawAll();
    expect((await Promise.all(answers)).map(({ decision }) => decision)).toEqual(['deny', 'deny']);
    expect(changes).toBe(4);
    room.withdrawAll();
    expect(changes).toBe(4);
  });
});
