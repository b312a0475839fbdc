// The log of a session as a read-only document: one event a line, as the server stored it.
import * as vscode from 'vscode';
import type { StoredEvent } from '../lsp/protocol';
import type { Wire } from '../lsp/wire';
import type { CurrentSession } from '../session/current';
import { register } from './register';

const SCHEME = 'steersman-events';
const PAGE = 500;
/** Characters after which a document is cut: the editor shows no larger one well. */
const MOST_CHARACTERS = 20_000_000;

export function eventCommands(wire: Wire, current: CurrentSession): vscode.Disposable {
  const provider: vscode.TextDocumentContentProvider = {
    provideTextDocumentContent: (uri) => eventLines(wire, uri.query),
  };
  return vscode.Disposable.from(
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, provider),
    register({
      'events.show': async () => {
        const { info } = current;
        if (!info) return;
        // The last number makes it another document when there is more to show.
        const path = `/${info.title.replaceAll('/', ' ')} (${info.lastSeq}).jsonl`;
        const uri = vscode.Uri.from({ scheme: SCHEME, path, query: info.sessionId });
        await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri), { preview: true });
      },
    }),
  );
}

async function eventLines(wire: Wire, sessionId: string): Promise<string> {
  let text = '';
  for (let afterSeq = 0; ;) {
    const page = await wire.request('steersman/session/events', { sessionId, afterSeq, limit: PAGE });
    text += page.events.map(lineOf).join('');
    const last = page.events.at(-1)?.seq;
    if (!page.hasMore || last === undefined) return text;
    if (text.length > MOST_CHARACTERS) return `${text}… more events follow …\n`;
    afterSeq = last;
  }
}

function lineOf({ seq, time, type, data }: StoredEvent): string {
  return `${JSON.stringify({ seq, time: new Date(time).toISOString(), type, data })}\n`;
}
