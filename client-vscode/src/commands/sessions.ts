// Commands about the list of sessions: a new one, another one, an end.
import * as vscode from 'vscode';
import type { Requests, SessionInfo } from '../lsp/protocol';
import type { Wire } from '../lsp/wire';
import type { CurrentSession } from '../session/current';
import { confirmed, register } from './register';

/** Sessions that a list asks for at a time, and that it shows of a folder at most. */
const PAGE = 100;
const MOST = 2_000;

type SessionPage = Requests['steersman/session/list']['result'];

interface SessionItem extends vscode.QuickPickItem {
  session: SessionInfo;
}

export function sessionCommands(wire: Wire, current: CurrentSession): vscode.Disposable {
  const pick = async (title: string) => {
    const sessions = await listed(wire);
    if (sessions.length === 0) {
      void vscode.window.showInformationMessage('Steersman: there is no session of this folder yet.');
      return undefined;
    }
    const items = sessions.map((session) => itemOf(session, current.info?.sessionId));
    return (await vscode.window.showQuickPick(items, { title, matchOnDescription: true, matchOnDetail: true }))?.session;
  };
  return register({
    'session.new': async () => {
      const folders = vscode.workspace.workspaceFolders ?? [];
      if (folders.length < 2) return current.newSession();
      const chosen = await vscode.window.showWorkspaceFolderPick({ placeHolder: 'In which folder shall it work?' });
      return chosen && current.newSession(chosen.uri);
    },
    'session.open': async () => {
      const session = await pick('Open a session');
      if (session) await current.open(session.sessionId);
    },
    'session.delete': async () => {
      const session = await pick('Delete a session');
      if (!session) return;
      if (!(await confirmed(`Delete “${session.title}” and all that it remembers?`, 'Delete'))) return;
      const isCurrent = session.sessionId === current.info?.sessionId;
      if (isCurrent) await current.close();
      await wire.request('steersman/session/delete', { sessionId: session.sessionId });
      if (isCurrent) await current.start();
    },
  });
}

/** Of every folder of the window, the latest first; of all where none is open. */
async function listed(wire: Wire): Promise<SessionInfo[]> {
  const folders = vscode.workspace.workspaceFolders?.map(({ uri }) => ({ workspaceFolder: uri.toString() })) ?? [];
  const lists = await Promise.all((folders.length > 0 ? folders : [{}]).map((where) => allOf(wire, where)));
  return lists.flat().sort((a, b) => b.updatedAt - a.updatedAt);
}

async function allOf(wire: Wire, where: { workspaceFolder?: string }): Promise<SessionInfo[]> {
  const all: SessionInfo[] = [];
  for (let more: { cursor?: string } | undefined = {}; more && all.length < MOST; ) {
    const page: SessionPage = await wire.request('steersman/session/list', { limit: PAGE, ...where, ...more });
    all.push(...page.sessions);
    more = page.nextCursor === undefined ? undefined : { cursor: page.nextCursor };
  }
  return all;
}

function itemOf(session: SessionInfo, shown: string | undefined): SessionItem {
  const { goal } = session;
  return {
    session,
    label: `${session.sessionId === shown ? '$(circle-filled) ' : ''}${plainLabel(session.title)}`,
    description: [...placeOf(session), new Date(session.updatedAt).toLocaleString(), ...workOf(session)].join(' · '),
    ...(goal ? { detail: `Goal (${goal.phase}): ${plainLabel(goal.objective)}` } : {}),
  };
}

/** Which folder it works in, where there is a choice. */
function placeOf({ workspaceFolder }: SessionInfo): string[] {
  const folders = vscode.workspace.workspaceFolders ?? [];
  if (folders.length < 2) return [];
  return folders.filter(({ uri }) => uri.toString() === workspaceFolder).map(({ name }) => plainLabel(name));
}

function workOf({ state, waitingOn }: SessionInfo): string[] {
  if (waitingOn === 'approval' || waitingOn === 'question') return ['waits for you'];
  return state === 'running' ? ['at work'] : [];
}

/** `$(…)` in a label would be shown as an icon. */
function plainLabel(text: string): string {
  return text.replaceAll('$(', '$\u200b(');
}
