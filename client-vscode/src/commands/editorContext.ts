// Commands that start from what stands in the editor: its selection, its problems, its file.
import * as vscode from 'vscode';
import type { ContextItem, Range } from '../lsp/protocol';
import type { CurrentSession } from '../session/current';
import type { Sidebar } from '../views/sidebar';
import { register } from './register';

export function editorCommands(current: CurrentSession, sidebar: Sidebar): vscode.Disposable {
  const prompt = async (text: string, context: ContextItem[]) => {
    sidebar.reveal();
    await current.prompt(text, context);
  };
  return register({
    'selection.attach': () => {
      sidebar.reveal();
      sidebar.attach(selectionItem(activeEditor()));
    },
    'selection.explain': () => prompt('Explain this code.', [selectionItem(activeEditor())]),
    'diagnostic.fix': async () => {
      const found = await pickProblem(activeEditor());
      if (found) await prompt('Fix this problem.', [found]);
    },
    'tests.add': (resource: unknown) => {
      const file = resource instanceof vscode.Uri ? fileItem(resource) : selectionItem(activeEditor());
      return prompt('Add tests for this code, in the style of the tests that are there, and run them.', [file]);
    },
  });
}

/** The selected text, or the line of the cursor where nothing is selected. */
export function selectionItem({ document, selection }: vscode.TextEditor): ContextItem {
  const range = selection.isEmpty ? document.lineAt(selection.start.line).range : selection;
  return { uri: document.uri.toString(), range: plainRange(range), text: document.getText(range), kind: 'selection' };
}

function fileItem(uri: vscode.Uri): ContextItem {
  return { uri: uri.toString(), kind: 'file' };
}

function activeEditor(): vscode.TextEditor {
  const editor = vscode.window.activeTextEditor;
  if (editor?.document.uri.scheme !== 'file') throw new Error('Open a file of the workspace in the editor first.');
  return editor;
}

/** The problem at the cursor; where there are several, the person chooses. */
async function pickProblem({ document, selection }: vscode.TextEditor): Promise<ContextItem | undefined> {
  const all = vscode.languages.getDiagnostics(document.uri);
  const here = all.filter(({ range }) => range.intersection(selection) !== undefined);
  const found = here.length > 0 ? here : all;
  if (found.length === 0) throw new Error('The editor knows no problem in this file.');
  const [first] = found;
  if (found.length === 1 && first) return problemItem(document.uri, first);
  const items = found.map((diagnostic) => ({
    label: diagnostic.message,
    description: `line ${diagnostic.range.start.line + 1}${diagnostic.source ? `, ${diagnostic.source}` : ''}`,
    diagnostic,
  }));
  const chosen = await vscode.window.showQuickPick(items, { title: 'Fix which problem?' });
  return chosen && problemItem(document.uri, chosen.diagnostic);
}

function problemItem(uri: vscode.Uri, { range, message, source }: vscode.Diagnostic): ContextItem {
  const text = source ? `${source}: ${message}` : message;
  return { uri: uri.toString(), range: plainRange(range), text, kind: 'diagnostic' };
}

function plainRange({ start, end }: vscode.Range): Range {
  return {
    start: { line: start.line, character: start.character },
    end: { line: end.line, character: end.character },
  };
}
