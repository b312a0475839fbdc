// What the editor answers without the agent: questions about the code, saves, and the server's options.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it } from 'vitest';
import * as vscode from 'vscode';
import { OpenRuns } from '../../src/lsp/openRuns';
import { answerQuery } from '../../src/lsp/queries';
import { saveDocuments } from '../../src/lsp/saving';
import { SETTINGS, initializationOptions } from '../../src/lsp/settings';
import { runCommand } from '../../src/lsp/commandRuns';
import type { CommandRequest } from '../../src/lsp/protocol';
import { Diagnostic, DiagnosticSeverity, MarkdownString, Range, Uri, editor, reset, workspace } from '../stub/vscode';
import { pathToFileURL } from 'node:url';
import { folderWith, neverCancelled } from './tools';

const FILE = 'file:///work/a.py';
const PLACE = { uri: FILE, position: { line: 2, character: 4 } };
const RANGE = { start: { line: 1, character: 0 }, end: { line: 1, character: 3 } };

beforeEach(() => {
  reset();
  workspace.isTrusted = true;
});

describe('a question about the code', () => {
  const provide = (command: string, value: unknown) => {
    const asked: unknown[][] = [];
    editor.commands.set(command, (...args: unknown[]) => {
      asked.push(args);
      return value;
    });
    return asked;
  };

  it('gets the diagnostics of a file as LSP values', async () => {
    const found = new Diagnostic(new Range(1, 0, 1, 3), 'Unknown name', DiagnosticSeverity.Warning);
    found.source = 'lint';
    found.code = { value: 'E1', target: Uri.parse('https://example.org/') };
    editor.diagnostics.set(FILE, [found]);
    expect(await answerQuery({ kind: 'diagnostics', uri: FILE })).toEqual([
      { range: RANGE, message: 'Unknown name', severity: 2, source: 'lint', code: 'E1' },
    ]);
    expect(await answerQuery({ kind: 'diagnostics', uri: 'file:///other.py' })).toEqual([]);
  });

  it('gets those of all files that have any', async () => {
    editor.diagnostics.set(FILE, [new Diagnostic(new Range(1, 0, 1, 3), 'Bad')]);
    editor.diagnostics.set('file:///clean.py', []);
    expect(await answerQuery({ kind: 'diagnostics' })).toEqual([
      { uri: FILE, diagnostics: [{ range: RANGE, message: 'Bad', severity: 1 }] },
    ]);
  });

  it('gets definitions, whether they are locations or links', async () => {
    const asked = provide('vscode.executeDefinitionProvider', [
      { uri: Uri.parse(FILE), range: new Range(1, 0, 1, 3) },
      { targetUri: Uri.parse(FILE), targetRange: new Range(0, 0, 9, 0), targetSelectionRange: new Range(1, 0, 1, 3) },
    ]);
    expect(await answerQuery({ kind: 'definition', ...PLACE })).toEqual([
      { uri: FILE, range: RANGE },
      { uri: FILE, range: RANGE },
    ]);
    expect(asked[0]?.[1]).toMatchObject({ line: 2, character: 4 });
  });

  it('gets nothing where no extension answers', async () => {
    provide('vscode.executeReferenceProvider', undefined);
    provide('vscode.executeHoverProvider', []);
    expect(await answerQuery({ kind: 'references', ...PLACE })).toEqual([]);
    expect(await answerQuery({ kind: 'hover', ...PLACE })).toBeNull();
  });

  it('gets hovers of every kind as Markdown', async () => {
    provide('vscode.executeHoverProvider', [
      { contents: [new MarkdownString('**a**'), 'b', { language: 'python', value: 'def c(): ...' }] },
    ]);
    expect(await answerQuery({ kind: 'hover', ...PLACE })).toEqual({
      contents: { kind: 'markdown', value: '**a**\n\nb\n\n```python\ndef c(): ...\n```' },
    });
  });

  it('gets symbols with the numbers of the protocol', async () => {
    const location = { uri: Uri.parse(FILE), range: new Range(1, 0, 1, 3) };
    provide('vscode.executeWorkspaceSymbolProvider', [{ name: 'total', kind: 11, containerName: '', location }]);
    expect(await answerQuery({ kind: 'symbols', query: 'tot' })).toEqual([
      { name: 'total', kind: 12, location: { uri: FILE, range: RANGE } },
    ]);
  });

  it('is refused without a place', async () => {
    await expect(answerQuery({ kind: 'hover', uri: FILE })).rejects.toThrow('position');
  });
});

describe('a save', () => {
  it('tells the files that hold no unsaved text, in the spelling of the server', async () => {
    const document = (uri: string, isDirty: boolean, saves: boolean) => ({
      uri: Uri.parse(uri),
      isDirty,
      save: () => Promise.resolve(saves),
    });
    editor.documents.push(
      document('file:///w/dirty.py', true, true),
      document('file:///w/stuck.py', true, false),
      document('file:///w/clean.py', false, false),
    );
    const uris = ['file:///w/dirty.py', 'file:///w/stuck.py', 'file:///w/clean.py', 'file:///w/closed.py'];
    expect(await saveDocuments({ uris })).toEqual({
      saved: ['file:///w/dirty.py', 'file:///w/clean.py', 'file:///w/closed.py'],
    });
  });
});

describe('a command run', () => {
  const request = (argv: string[], more: Partial<CommandRequest> = {}): CommandRequest => ({
    runId: 'r1',
    sessionId: 's1',
    turn: 1,
    folder: pathToFileURL(folderWith()).href,
    argv,
    timeoutSeconds: 20,
    title: 'Say\nhello',
    ...more,
  });
  const node = (program: string) => [process.execPath, '-e', program];

  it('tells exit code and output, and is a task with a name of one line', async () => {
    const outcome = await runCommand(request(node("console.log('hi'); process.exitCode = 2")), neverCancelled());
    expect(outcome).toMatchObject({ exitCode: 2, output: 'hi\n', cancelled: false });
    expect(editor.terminals[0]?.task.name).toBe('Say hello');
  });

  it('that takes too long is ended, and says so', async () => {
    const endless = request(node("console.log('up'); setInterval(() => {}, 1000)"), { timeoutSeconds: 2 });
    expect(await runCommand(endless, neverCancelled())).toMatchObject({
      exitCode: null,
      output: 'up\n',
      cancelled: false,
      timedOut: true,
    });
  });

  it('without a key of the provider in its environment', async () => {
    process.env.OPENAI_API_KEY = 'sk-0123456789';
    try {
      const outcome = await runCommand(request(node('console.log(JSON.stringify(process.env))')), neverCancelled());
      expect(outcome.output).not.toContain('sk-0123456789');
    } finally {
      delete process.env.OPENAI_API_KEY;
    }
  });

  it.each([
    ['a program that is not there', ['no-such-program-here'], 'no-such-program-here'],
    ['no program', [], 'names no program'],
  ])('of %s is refused, so that the model is told', async (_what, argv, words) => {
    await expect(runCommand(request(argv), neverCancelled())).rejects.toThrow(words);
  });

  it('in a workspace that is not trusted is refused', async () => {
    workspace.isTrusted = false;
    await expect(runCommand(request(node('0')), neverCancelled())).rejects.toThrow('not trusted');
    expect(editor.terminals).toEqual([]);
  });
});

describe('open runs', () => {
  it('are cancelled by their id, by their request, and all with the server', async () => {
    const runs = new OpenRuns();
    const cancelled = (token: vscode.CancellationToken) =>
      new Promise<string>((resolve) =>
        token.onCancellationRequested(() => {
          resolve('cancelled');
        }),
      );
    const source = new vscode.CancellationTokenSource();
    const first = runs.run('r1', neverCancelled(), cancelled);
    const second = runs.run('r2', source.token, cancelled);
    const third = runs.run('r3', neverCancelled(), cancelled);
    runs.withdraw('r1');
    runs.withdraw('r1');
    expect(await first).toBe('cancelled');
    source.cancel();
    expect(await second).toBe('cancelled');
    runs.withdrawAll();
    expect(await third).toBe('cancelled');
    runs.withdraw('unknown');
  });
});

describe('the options of the server', () => {
  it('are what the person set, and nothing that a workspace says', () => {
    editor.configuration.set('steersman.model.name', { defaultValue: null, globalValue: 'm' });
    editor.configuration.set('steersman.model.baseUrl', { defaultValue: null, workspaceValue: 'http://evil.example' });
    editor.configuration.set('steersman.permissions.edit', { defaultValue: null, globalValue: 'ask' });
    editor.configuration.set('steersman.tests.timeoutSeconds', { defaultValue: null, globalValue: null });
    editor.configuration.set('steersman.stateDir', { globalValue: '/state' });
    expect(initializationOptions()).toEqual({
      trusted: true,
      model: { name: 'm' },
      permissions: { edit: 'ask' },
      stateDir: '/state',
    });
  });

  it('are the settings of the package, no more and no fewer', () => {
    const manifest = JSON.parse(
      readFileSync(fileURLToPath(new URL('../../package.json', import.meta.url)), 'utf8'),
    ) as {
      contributes: { configuration: { properties: Record<string, { scope: string; default: unknown }> } };
    };
    const { properties } = manifest.contributes.configuration;
    const own = ['steersman.server.command', 'steersman.trace.server'];
    expect(Object.keys(properties).filter((name) => !own.includes(name))).toEqual(
      SETTINGS.map((name) => `steersman.${name}`),
    );
    const inWorkspace = Object.entries(properties).filter(
      ([, { scope }]) => scope !== 'machine' && scope !== 'application',
    );
    expect(inWorkspace.map(([name]) => name)).toEqual(['steersman.trace.server']);
    for (const name of SETTINGS) expect(properties[`steersman.${name}`]?.default).toBeNull();
  });
});
