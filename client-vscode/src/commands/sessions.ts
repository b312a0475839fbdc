// Commands about sessions: a new one, another one, a name, an end.
import * as vscode from 'vscode';
import type { SessionInfo } from '../lsp/protocol';
import type { Wire } from '../lsp/wire';
import type { CurrentSession } from '../session/current';
import { askFor, confirmed, register } from './register';

/** Sessions that a list asks for at a time. */
const PAGE = 100;

interface SessionItem extends vscode.QuickPickItem {
  session: SessionInfo;
}

export function sessionCommands(wire: Wire, current: CurrentSession): vscode.Disposable {
  const pick = async (title: string) => {
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri.toString();
    const sessions = await listed(wire, folder);
    if (sessions.length === 0) {
      void vscode.window.showInformationMessage('Steersman: there is no session of this folder yet.');
      return undefined;
    }
    const items = sessions.map((session) => itemOf(session, current.info?.sessionId));
    return (await vscode.window.showQuickPick(items, { title, matchOnDescription: true }))?.session;
  };
  return register({
    'session.new': () => current.newSession(),
    'session.open': async () => {
      const session = await pick('Open a session');
      if (session) await current.open(session.sessionId);
    },
    'session.rename': async () => {
      const { info } = current;
      if (!info) return;
      const title = await askFor('Rename the session', 'Its new name', info.title);
      if (title !== undefined) await wire.request('steersman/session/rename', { sessionId: info.sessionId, title });
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

async function listed(wire: Wire, workspaceFolder: string | undefined): Promise<SessionInfo[]> {
  const page = await wire.request('steersman/session/list', {
    limit: PAGE,
    ...(workspaceFolder === undefined ? {} : { workspaceFolder }),
  });
  return page.sessions;
}

function itemOf(session: SessionInfo, shown: string | undefined): SessionItem {
  const { goal } = session;
  return {
    session,
    label: `${session.sessionId === shown ? '$(circle-filled) ' : ''}${plainLabel(session.title)}`,
    description: new Date(session.updatedAt).toLocaleString(),
    ...(goal ? { detail: `Goal (${goal.phase}): ${plainLabel(goal.objective)}` } : {}),
  };
}

/** `$(…)` in a label would be shown as an icon. */
function plainLabel(text: string): string {
  return text.replaceAll('$(', '$\u200b(');
}
