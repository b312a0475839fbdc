// Commands about the session that is shown: its name and model, a copy of it, its words as a document, and its log.
import * as vscode from 'vscode';
import type { ExportSession, SessionInfo } from '../lsp/protocol';
import type { Wire } from '../lsp/wire';
import type { CurrentSession } from '../session/current';
import { askFor, confirmed, register, type Command } from './register';

const FORMATS: (vscode.QuickPickItem & { format: ExportSession['format']; language: string })[] = [
  { label: 'Markdown', detail: 'What was said and done, to be read', format: 'markdown', language: 'markdown' },
  { label: 'JSON lines', detail: 'Every event, for programs', format: 'jsonl', language: 'jsonl' },
];

export function sessionCareCommands(wire: Wire, current: CurrentSession): vscode.Disposable {
  const shown =
    (act: (info: SessionInfo) => Promise<unknown>): Command =>
    () => {
      if (!current.info) throw new Error('There is no session. Open one, or begin a new one.');
      return act(current.info);
    };
  return register({
    'session.rename': shown(async ({ sessionId, title: old }) => {
      const title = await askFor('Rename the session', 'Its new name', old);
      if (title !== undefined) await wire.request('steersman/session/rename', { sessionId, title });
    }),
    'session.fork': shown(() => current.fork()),
    'session.export': shown(async ({ sessionId }) => {
      const chosen = await vscode.window.showQuickPick(FORMATS, { title: 'Export the session as' });
      if (!chosen) return;
      const { format, language } = chosen;
      const { text: content } = await wire.request('steersman/session/export', { sessionId, format });
      await vscode.window.showTextDocument(await vscode.workspace.openTextDocument({ content, language }));
    }),
    'session.compact': shown(async ({ sessionId }) => {
      const { compacted, tokensBefore, tokensAfter } = await wire.request('steersman/session/compact', { sessionId });
      const words = compacted
        ? `earlier parts are summed up for the model: ${tokensBefore} → ${tokensAfter} tokens.`
        : 'there is nothing that could be summed up yet.';
      void vscode.window.showInformationMessage(`Steersman: ${words}`);
    }),
    'session.repair': shown(async ({ sessionId, damaged }) => {
      if (!damaged) throw new Error('This session is not damaged.');
      const question = `Cut the session back to the events before number ${damaged.seq}? The original is kept beside it.`;
      if (!(await confirmed(question, 'Cut back'))) return;
      await wire.request('steersman/session/repair', { sessionId, throughSeq: damaged.seq - 1 });
      await current.open(sessionId);
    }),
    'model.select': shown(async ({ sessionId, model: old }) => {
      const prompt = 'The name of the model that this session uses from its next request on.';
      const model = await askFor('Select the model', prompt, old ?? '');
      if (model !== undefined) await wire.request('steersman/session/configure', { sessionId, model: model.trim() });
    }),
  });
}
