// The status bar item: what the agent does, and whether it waits for you. A click opens the sidebar.
import * as vscode from 'vscode';
import type { SessionInfo } from '../lsp/protocol';
import type { ServerState } from '../lsp/wire';

export interface Status {
  text: string;
  tooltip: string;
  attention: boolean;
}

export class StatusBar implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem('steersman.status', vscode.StatusBarAlignment.Left, 50);

  constructor() {
    this.item.name = 'Steersman';
    this.item.command = 'steersman.sidebar.focus';
    this.item.show();
  }

  show(status: Status): void {
    this.item.text = status.text;
    this.item.tooltip = status.tooltip;
    this.item.accessibilityInformation = { label: `Steersman: ${status.tooltip}` };
    this.item.backgroundColor = status.attention ? new vscode.ThemeColor('statusBarItem.warningBackground') : undefined;
  }

  dispose(): void {
    this.item.dispose();
  }
}

/** `waiting` is how many approvals and questions are open. */
export function statusOf(
  server: ServerState,
  problem: string | undefined,
  info: SessionInfo | undefined,
  waiting: number,
): Status {
  if (server === 'failed')
    return { text: '$(error) Steersman', tooltip: problem ?? 'The server failed.', attention: true };
  if (server === 'starting') return calm('$(loading~spin) Steersman', problem ?? 'The server is starting.');
  if (server === 'stopped') return calm('$(circle-slash) Steersman', 'The server is not running.');
  if (waiting > 0)
    return {
      text: '$(bell-dot) Steersman: waiting for you',
      tooltip: 'The agent waits for your answer.',
      attention: true,
    };
  if (info && info.state !== 'idle')
    return calm(`$(sync~spin) Steersman${workOf(info)}`, `The agent is at work${workOf(info)}.`);
  if (info?.goal && info.goal.phase !== 'complete') {
    const { phase, activation } = info.goal;
    return calm('$(target) Steersman', `Goal: ${phase === 'active' ? activation : phase}.`);
  }
  return calm('$(compass) Steersman', 'The agent is idle.');
}

function calm(text: string, tooltip: string): Status {
  return { text, tooltip, attention: false };
}

/** The goal's round and the step, as far as there are any. */
function workOf({ goal, step, waitingOn, state }: SessionInfo): string {
  if (state === 'maintenance') return ': tidying up';
  const parts: string[] = [];
  if (goal?.phase === 'active' && goal.activation === 'armed')
    parts.push(`round ${goal.roundsStarted}/${goal.maxRounds}`);
  if (waitingOn === 'retry') parts.push('trying again');
  else if (step !== null) parts.push(`step ${step}`);
  return parts.length > 0 ? `: ${parts.join(', ')}` : '';
}
