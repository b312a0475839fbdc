// `steersman/document/save`: which of these files hold no unsaved text any more.
import * as vscode from 'vscode';
import type { Saved, SaveRequest } from './protocol';

/** A file that no document is open for has nothing to save. The server's own spelling of a URI is given back. */
export async function saveDocuments({ uris }: SaveRequest): Promise<Saved> {
  const saved: string[] = [];
  for (const uri of uris) {
    const wanted = vscode.Uri.parse(uri).toString();
    const document = vscode.workspace.textDocuments.find((open) => open.uri.toString() === wanted);
    if (!document?.isDirty || (await document.save())) saved.push(uri);
  }
  return { saved };
}
