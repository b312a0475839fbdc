// The extension: builds its parts and wires them. No decisions are made here.
import * as vscode from 'vscode';
import { editorCommands } from './commands/editorContext';
import { eventCommands } from './commands/events';
import { goalCommands } from './commands/goals';
import { serverCommands } from './commands/server';
import { sessionCareCommands } from './commands/sessionCare';
import { sessionCommands } from './commands/sessions';
import { turnCommands } from './commands/turns';
import { ContextKeys } from './common/contextKeys';
import { Key } from './common/key';
import { StatusBar, statusOf } from './common/statusBar';
import { killAll } from './common/taskTerminal';
import { WaitingNotices } from './common/waitingNotices';
import { OpenRuns } from './lsp/openRuns';
import { Server } from './lsp/server';
import { ServerNotices } from './lsp/serverNotices';
import { serverRequestHandlers } from './lsp/serverRequests';
import { CurrentSession } from './session/current';
import { WaitingRoom } from './session/waiting';
import { TestRunner } from './tests/runner';
import { KeptDraft } from './views/draft';
import { Sidebar } from './views/sidebar';

let running: Server | undefined;

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel('Steersman', { log: true });
  const key = new Key(context.secrets);
  const waiting = new WaitingRoom();
  const runs = new OpenRuns();
  const tests = new TestRunner((progress) => {
    server.notify('steersman/tests/progress', progress);
  });
  const server = new Server(log, serverRequestHandlers(waiting, runs, tests), () => key.get());
  const session = new CurrentSession(server, context.workspaceState, () => vscode.workspace.workspaceFolders?.[0]?.uri);
  const draft = new KeptDraft(context.workspaceState);
  const sidebar = new Sidebar(context.extensionUri, session, waiting, server, draft, log);
  const statusBar = new StatusBar();
  const contextKeys = new ContextKeys();
  running = server;

  const show = () => {
    contextKeys.show(server.state, session.info);
    statusBar.show(statusOf(server.state, server.problem, session.info, waiting.pending.length));
  };
  const withdrawAll = () => {
    waiting.withdrawAll();
    runs.withdrawAll();
  };

  context.subscriptions.push(
    log,
    waiting,
    tests,
    server,
    session,
    sidebar,
    draft,
    statusBar,
    new WaitingNotices(waiting, sidebar),
    new ServerNotices(server, log),
    vscode.window.registerWebviewViewProvider('steersman.sidebar', sidebar),
    sessionCommands(server, session),
    sessionCareCommands(server, session),
    turnCommands(session, sidebar),
    goalCommands(session, sidebar),
    editorCommands(session, sidebar),
    eventCommands(server, session),
    serverCommands(server, session, key, log),
    server.onDidChangeState((state) => {
      if (state !== 'running') withdrawAll();
      show();
    }),
    server.onDidWithdraw((id) => {
      waiting.withdraw(id);
      runs.withdraw(id);
    }),
    session.onDidChange(show),
    waiting.onDidChange(show),
    key.onDidChange(() => void server.sendKey()),
    vscode.workspace.onDidGrantWorkspaceTrust(() => {
      server.notify('steersman/workspace/trust', { trusted: true });
      if (server.state === 'failed') void server.restart();
    }),
  );
  show();
  void server.start();
}

export async function deactivate(): Promise<void> {
  killAll();
  await running?.stop();
}
