// What the page's buttons do in the editor. Each is one of a fixed list; nothing of the page becomes a command.
import * as vscode from 'vscode';
import type { CurrentSession } from '../session/current';
import { openSettings } from '../common/settingsPage';
import { isWebAddress, type Action } from './messages';

export async function act(action: Action, session: CurrentSession): Promise<void> {
  switch (action) {
    case 'newSession':
      await vscode.commands.executeCommand('steersman.session.new');
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
      await openSettings('steersman.model');
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
      await vscode.commands.executeCommand('steersman.session.repair');
      break;
  }
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
