// What the page's buttons do in the editor. Each is one of a fixed list; nothing of the page becomes a command.
import * as vscode from 'vscode';
import type { Wire } from '../lsp/wire';
import type { CurrentSession } from '../session/current';
import { isWebAddress, type Action } from './messages';

export async function act(action: Action, session: CurrentSession, wire: Wire): Promise<void> {
  switch (action) {
    case 'newSession':
      await session.newSession();
      break;
    case 'openSession':
      await vscode.commands.executeCommand('steersman.session.open');
      break;
    case 'openFolder':
      await vscode.commands.executeCommand('workbench.action.files.openFolder');
      break;
    case 'restartServer':
      await vscode.commands.executeCommand('steersman.server.restart');
      break;
    case 'showLog':
      await vscode.commands.executeCommand('steersman.log.show');
      break;
    case 'setModel':
      await vscode.commands.executeCommand('workbench.action.openSettings', 'steersman.model');
      break;
    case 'setKey':
      await vscode.commands.executeCommand('steersman.key.set');
      break;
    case 'trustFolder':
      await vscode.commands.executeCommand('workbench.trust.manage');
      break;
    case 'openAgain':
      if (session.info) await session.open(session.info.sessionId);
      else await session.start();
      break;
    case 'repair':
      await repair(session, wire);
      break;
  }
}

/** Cuts a damaged log back to its last good event, if the person says so. */
async function repair(session: CurrentSession, wire: Wire): Promise<void> {
  const { info } = session;
  if (!info?.damaged) return;
  const question = `Cut the session back to the events before number ${info.damaged.seq}? The original is kept beside it.`;
  if ((await vscode.window.showWarningMessage(question, { modal: true }, 'Cut back')) !== 'Cut back') return;
  const { sessionId, damaged } = info;
  await wire.request('steersman/session/repair', { sessionId, throughSeq: damaged.seq - 1 });
  await session.open(sessionId);
}

/** The editor asks before it opens an address that it does not trust. */
export async function openLink(url: string): Promise<void> {
  if (isWebAddress(url)) await vscode.env.openExternal(vscode.Uri.parse(url, true));
}

/** Opens a file of the workspace, and no other. Lines count from 1. */
export async function openFile(text: string, line: number | undefined): Promise<void> {
  const uri = vscode.Uri.parse(text, true);
  if (!vscode.workspace.getWorkspaceFolder(uri)) throw new Error('That file is not in the open folder.');
  const at = new vscode.Position(Math.max(0, (line ?? 1) - 1), 0);
  await vscode.window.showTextDocument(uri, { preview: true, selection: new vscode.Range(at, at) });
}
