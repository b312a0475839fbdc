// The one typed way to the server. It carries requests and tells what comes back; it decides nothing.
import type * as vscode from 'vscode';
import type { Requests, ServerNotifications } from './protocol';

export type ServerState = 'stopped' | 'starting' | 'running' | 'failed';

export interface Wire {
  /** Rejects with a `ResponseError`, whose `data.kind` says what is wrong, or with a plain error when no server runs. */
  request<M extends keyof Requests>(method: M, params: Requests[M]['params']): Promise<Requests[M]['result']>;
  readonly onDidAppend: vscode.Event<ServerNotifications['steersman/session/didAppend']>;
  readonly onDidChange: vscode.Event<ServerNotifications['steersman/session/didChange']>;
  readonly state: ServerState;
  /** Why the server is not running, as a sentence that says what to do next. */
  readonly problem: string | undefined;
  readonly onDidChangeState: vscode.Event<ServerState>;
}

/** The `data` of a refusal (protocol.md section 7). Members beyond these belong to the kind. */
export interface Refusal extends Record<string, unknown> {
  kind: string;
  retryable?: boolean;
}

/** What the server refused, or undefined where `error` is no refusal of the server's. */
export function refusalOf(error: unknown): Refusal | undefined {
  const data = (error as { data?: unknown } | null | undefined)?.data;
  if (typeof data !== 'object' || data === null) return undefined;
  return typeof (data as Refusal).kind === 'string' ? (data as Refusal) : undefined;
}

/** The words of any thrown thing. */
export function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
