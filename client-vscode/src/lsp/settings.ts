// The server's settings (protocol.md section 1) out of the editor's. Only what the person set themselves is sent:
// a workspace can set none of them, and the key is none of them.
import * as vscode from 'vscode';
import type { Settings } from './protocol';

/** The members of `initializationOptions` that are settings of the editor, by their names there. */
export const SETTINGS = [
  'stateDir',
  'scriptedModel',
  'model.baseUrl',
  'model.name',
  'model.contextWindow',
  'model.maxOutputTokens',
  'model.maxTokensField',
  'model.temperature',
  'model.extraBody',
  'model.headers',
  'model.query',
  'model.proxy',
  'model.noProxy',
  'model.caFile',
  'model.prices',
  'model.maxRetries',
  'model.retryBaseSeconds',
  'model.retryMaxSeconds',
  'model.idleTimeoutSeconds',
  'model.totalTimeoutSeconds',
  'model.textToolCalls',
  'goal.maxRounds',
  'goal.blockedAfterRounds',
  'goal.noProgressRounds',
  'goal.failingRounds',
  'goal.idlePauseSeconds',
  'permissions.edit',
  'permissions.commands',
  'permissions.approvalTimeoutSeconds',
  'tests.command',
  'tests.timeoutSeconds',
] as const;

/** `initializationOptions`. Values are passed as they are: the server tells what it cannot use. */
export function initializationOptions(): Settings {
  const options: Record<string, unknown> = { trusted: vscode.workspace.isTrusted };
  for (const name of SETTINGS) {
    const value = personal(name);
    if (value === undefined || value === null) continue;
    const [first, second] = name.split('.') as [string, string?];
    if (second === undefined) options[first] = value;
    else options[first] = { ...(options[first] as object | undefined), [second]: value };
  }
  return options;
}

/** What the person set in their own settings, never what a workspace says. */
export function personal(name: string): unknown {
  return vscode.workspace.getConfiguration('steersman').inspect(name)?.globalValue;
}
