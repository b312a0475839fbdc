// What the page is told beside the events: put together from those who know it, and kept by nobody.
import * as vscode from 'vscode';
import type { StoredEvent } from '../lsp/protocol';
import type { Wire } from '../lsp/wire';
import type { CurrentSession } from '../session/current';
import type { WaitingRoom } from '../session/waiting';
import type { ViewState } from './messages';

/** Characters of a text that the page gets; the whole is in the session's events. */
const LONGEST = 200_000;

export function viewState(
  session: CurrentSession,
  waiting: WaitingRoom,
  wire: Wire,
  model: ViewState['model'],
): ViewState {
  return {
    server: { state: wire.state, problem: wire.problem },
    hasFolder: (vscode.workspace.workspaceFolders?.length ?? 0) > 0,
    isTrusted: vscode.workspace.isTrusted,
    model,
    opening: session.opening,
    session: session.info,
    hasEarlier: session.hasEarlier,
    waiting: waiting.pending,
  };
}

/** Events as the page needs them: without what it never shows, and no text longer than it can show. */
export function forPage(events: readonly StoredEvent[]): StoredEvent[] {
  return events.map((event) => {
    if (event.type === 'request/header') return { ...event, data: {} };
    return isLong(event.data) ? { ...event, data: cut(event.data) } : event;
  });
}

function isLong(data: unknown): boolean {
  if (typeof data === 'string') return data.length > LONGEST;
  return typeof data === 'object' && data !== null && Object.values(data).some(isLong);
}

function cut(data: unknown): unknown {
  if (typeof data === 'string') return data.length > LONGEST ? `${data.slice(0, LONGEST)}\n… cut here …` : data;
  if (Array.isArray(data)) return data.map(cut);
  if (typeof data !== 'object' || data === null) return data;
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [name, cut(value)]));
}
