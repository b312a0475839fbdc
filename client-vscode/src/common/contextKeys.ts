// Context keys: what `when` clauses of package.json may ask about the window's session and the server.
import * as vscode from 'vscode';
import type { SessionInfo } from '../lsp/protocol';
import type { ServerState } from '../lsp/wire';

export class ContextKeys {
  private readonly told = new Map<string, unknown>();

  show(server: ServerState, info: SessionInfo | undefined): void {
    this.set('server', server);
    this.set('hasSession', info !== undefined);
    this.set('damaged', Boolean(info?.damaged));
    this.set('readOnly', info?.readOnly ?? false);
    this.set('running', info !== undefined && info.state !== 'idle');
    this.set('hasGoal', Boolean(info?.goal));
    this.set('goalPhase', info?.goal?.phase);
    this.set('goalActivation', info?.goal?.activation);
  }

  private set(name: string, value: unknown): void {
    if (this.told.has(name) && this.told.get(name) === value) return;
    this.told.set(name, value);
    void vscode.commands.executeCommand('setContext', `steersman.${name}`, value);
  }
}
