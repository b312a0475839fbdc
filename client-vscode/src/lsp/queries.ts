// `steersman/query`: what the editor's language features know, as LSP values. Positions are UTF-16, as agreed.
import * as vscode from 'vscode';
import type { QueryRequest } from './protocol';

/** Items of an answer: more is of no use to anybody. */
const MOST = 1000;

export async function answerQuery(request: QueryRequest): Promise<unknown> {
  switch (request.kind) {
    case 'diagnostics':
      return diagnostics(request.uri);
    case 'definition':
      return locations(await ask('vscode.executeDefinitionProvider', ...placeOf(request)));
    case 'references':
      return locations(await ask('vscode.executeReferenceProvider', ...placeOf(request)));
    case 'hover':
      return hover(await ask('vscode.executeHoverProvider', ...placeOf(request)));
    case 'symbols':
      return symbols(await ask('vscode.executeWorkspaceSymbolProvider', request.query ?? ''));
  }
}

async function ask<T>(command: string, ...args: unknown[]): Promise<T[]> {
  return (await vscode.commands.executeCommand<T[] | undefined>(command, ...args)) ?? [];
}

function placeOf({ kind, uri, position }: QueryRequest): [vscode.Uri, vscode.Position] {
  if (uri === undefined || position === undefined)
    throw new Error(`A question for ${kind} needs a uri and a position.`);
  return [vscode.Uri.parse(uri), new vscode.Position(position.line, position.character)];
}

/** Of one file; without a URI of all that have any. */
function diagnostics(uri: string | undefined): unknown {
  if (uri !== undefined) return vscode.languages.getDiagnostics(vscode.Uri.parse(uri)).slice(0, MOST).map(diagnostic);
  return vscode.languages
    .getDiagnostics()
    .filter(([, found]) => found.length > 0)
    .slice(0, MOST)
    .map(([file, found]) => ({ uri: file.toString(), diagnostics: found.slice(0, MOST).map(diagnostic) }));
}

function diagnostic(found: vscode.Diagnostic): unknown {
  const { code } = found;
  return {
    range: range(found.range),
    message: found.message,
    severity: found.severity + 1,
    ...(found.source === undefined ? {} : { source: found.source }),
    ...(code === undefined ? {} : { code: typeof code === 'object' ? code.value : code }),
  };
}

function locations(found: (vscode.Location | vscode.LocationLink)[]): unknown {
  return found
    .slice(0, MOST)
    .map((place) =>
      'targetUri' in place
        ? { uri: place.targetUri.toString(), range: range(place.targetSelectionRange ?? place.targetRange) }
        : { uri: place.uri.toString(), range: range(place.range) },
    );
}

function hover(found: vscode.Hover[]): unknown {
  const parts = found.flatMap(({ contents }) => contents as HoverPart[]).map(words);
  return parts.length > 0 ? { contents: { kind: 'markdown', value: parts.join('\n\n') } } : null;
}

/** A part of a hover is Markdown, or (from older extensions) a piece of code with its language. */
type HoverPart = string | { value: string; language?: string };

function words(part: HoverPart): string {
  if (typeof part === 'string') return part;
  return part.language === undefined ? part.value : `\`\`\`${part.language}\n${part.value}\n\`\`\``;
}

function symbols(found: vscode.SymbolInformation[]): unknown {
  return found.slice(0, MOST).map((symbol) => ({
    name: symbol.name,
    kind: symbol.kind + 1,
    location: { uri: symbol.location.uri.toString(), range: range(symbol.location.range) },
    ...(symbol.containerName ? { containerName: symbol.containerName } : {}),
  }));
}

function range({ start, end }: vscode.Range): unknown {
  return {
    start: { line: start.line, character: start.character },
    end: { line: end.line, character: end.character },
  };
}
