// What the server asks of this editor (protocol.md section 4): one line a method.
import type * as vscode from 'vscode';
import type { WaitingRoom } from '../session/waiting';
import type { TestRunner } from '../tests/runner';
import { runCommand } from './commandRuns';
import type { OpenRuns } from './openRuns';
import type { ServerRequests } from './protocol';
import { answerQuery } from './queries';
import { saveDocuments } from './saving';

/** `capabilities.experimental.steersman`: everything that the handlers below answer. */
export const OFFERS = {
  protocolVersion: 1,
  events: {},
  approvals: {},
  questions: {},
  tests: {},
  commands: {},
  save: {},
  query: {},
};

export type ServerRequestHandlers = {
  [M in keyof ServerRequests]: (
    params: ServerRequests[M]['params'],
    token: vscode.CancellationToken,
  ) => Promise<ServerRequests[M]['result']>;
};

export function serverRequestHandlers(waiting: WaitingRoom, runs: OpenRuns, tests: TestRunner): ServerRequestHandlers {
  return {
    'steersman/approval/request': (params, token) => waiting.askApproval(params, token),
    'steersman/question/ask': (params, token) => waiting.askQuestion(params, token),
    'steersman/tests/run': (params, token) => runs.run(params.runId, token, (either) => tests.run(params, either)),
    'steersman/command/run': (params, token) => runs.run(params.runId, token, (either) => runCommand(params, either)),
    'steersman/document/save': (params) => saveDocuments(params),
    'steersman/query': (params) => answerQuery(params),
  };
}
