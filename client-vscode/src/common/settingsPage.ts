// The editor's page of settings, where the extension's can be changed.
import * as vscode from 'vscode';

/** Settings of scope machine stand among the machine's own where the window works on another machine than it is shown on. */
export async function openSettings(query: string): Promise<void> {
  const page = vscode.env.remoteName === undefined ? 'openSettings' : 'openRemoteSettings';
  await vscode.commands.executeCommand(`workbench.action.${page}`, { query });
}
