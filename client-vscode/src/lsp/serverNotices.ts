// What the person must know about the server: that it is gone for good, and that settings wait for a restart.
import * as vscode from 'vscode';
import { plainNotice } from '../common/notice';
import type { Server } from './server';
import type { ServerState } from './wire';

const RESTART = 'Restart Server';
const LOG = 'Show Log';
const SETTINGS = 'Open Settings';
/** The server reads its settings when it starts; the trace is the client's own. */
const READ_AT_START = ['server', 'stateDir', 'scriptedModel', 'model', 'goal', 'permissions', 'tests'];

export class ServerNotices implements vscode.Disposable {
  private readonly hooks: vscode.Disposable[];
  private asking = false;

  constructor(
    private readonly server: Server,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.hooks = [
      server.onDidChangeState((state) => void this.stateChanged(state)),
      vscode.workspace.onDidChangeConfiguration((change) => void this.settingsChanged(change)),
    ];
  }

  dispose(): void {
    for (const hook of this.hooks) hook.dispose();
  }

  private async stateChanged(state: ServerState): Promise<void> {
    if (state !== 'failed') return;
    const words = plainNotice(`Steersman: ${this.server.problem ?? 'The server failed.'}`);
    await this.act(await vscode.window.showErrorMessage(words, RESTART, LOG, SETTINGS));
  }

  private async settingsChanged(change: vscode.ConfigurationChangeEvent): Promise<void> {
    if (!READ_AT_START.some((name) => change.affectsConfiguration(`steersman.${name}`))) return;
    if (this.server.state === 'failed') {
      await this.server.restart();
      return;
    }
    if (this.asking) return;
    this.asking = true;
    const words = 'Steersman: the server reads its settings when it starts.';
    const chosen = await vscode.window.showInformationMessage(words, RESTART);
    this.asking = false;
    await this.act(chosen);
  }

  private async act(chosen: string | undefined): Promise<void> {
    if (chosen === RESTART) await vscode.commands.executeCommand('steersman.server.restart');
    if (chosen === LOG) this.log.show();
    if (chosen === SETTINGS) await vscode.commands.executeCommand('steersman.settings.open');
  }
}
