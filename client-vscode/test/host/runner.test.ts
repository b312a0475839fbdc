// Real runs of a real pytest, in the stand-in for the editor's terminal and Test Explorer.
import { existsSync, readdirSync } from 'node:fs';
import * as path from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import * as vscode from 'vscode';
import type { TestsProgress, TestsRequest } from '../../src/lsp/protocol';
import { TestRunner } from '../../src/tests/runner';
import { editor, reset, workspace } from '../stub/vscode';
import { folderWith, loudly, neverCancelled, pythonWith, until } from './tools';

const PYTHON = pythonWith('pytest');
const missing = loudly(
  PYTHON === undefined,
  'no Python with pytest: set STEERSMAN_PYTHON. The real test runs are not tested.',
);

const SUITE = {
  'test_sums.py': [
    'import pytest, time',
    'def test_good(): assert 1 + 1 == 2',
    'def test_bad(): assert 1 + 1 == 3',
    '@pytest.mark.skip(reason="not today")',
    'def test_skipped(): pass',
  ].join('\n'),
};
const HANGING = {
  'test_hang.py':
    'import time\ndef test_first(): pass\ndef test_hangs():\n    print("hanging", flush=True)\n    time.sleep(600)\n',
};

describe.skipIf(missing)('a test run', () => {
  const told: TestsProgress[] = [];
  let runner: TestRunner;
  beforeEach(() => {
    reset();
    workspace.isTrusted = true;
    told.length = 0;
    vi.stubEnv('PYTEST_DISABLE_PLUGIN_AUTOLOAD', '1'); // what is installed beside pytest would make it slow to start
    runner = new TestRunner((progress) => told.push(progress));
    editor.extensions.set('ms-python.python', {
      isActive: false,
      exports: undefined,
      activate: () =>
        Promise.resolve({
          environments: {
            getActiveEnvironmentPath: () => ({ path: PYTHON }),
            resolveEnvironment: () => Promise.resolve({ executable: { uri: { fsPath: PYTHON } } }),
          },
        }),
    });
  });

  const request = (folder: string, more: Partial<TestsRequest> = {}): TestsRequest => ({
    runId: 'r1',
    sessionId: 's1',
    turn: 1,
    folder: pathToFileURL(folder).href,
    timeoutSeconds: 60,
    reason: 'tool',
    ...more,
  });
  const run = (folder: string, more: Partial<TestsRequest> = {}) => runner.run(request(folder, more), neverCancelled());

  it('gives an honest receipt, fills the explorer, and leaves nothing in the workspace', async () => {
    const folder = folderWith(SUITE);
    const temporary = folderWith();
    vi.stubEnv('TMPDIR', temporary);
    const receipt = await run(folder);
    expect(receipt).toMatchObject({
      runId: 'r1',
      status: 'failed',
      exitCode: 1,
      counts: { collected: 3, passed: 1, failed: 1, errors: 0, skipped: 1 },
      runner: 'editor',
    });
    expect(receipt.tests[0]).toMatchObject({ id: 'test_sums.py::test_bad', outcome: 'failed', line: 3 });
    expect(receipt.argv.join(' ')).not.toContain('junitxml');
    const [shown] = editor.testRuns;
    expect([...(shown?.outcomes.values() ?? [])].sort()).toEqual(['failed', 'passed', 'skipped']);
    expect(shown?.messages[0]).toContain('assert');
    expect(shown?.ended).toBe(true);
    expect(shown?.output).toContain('1 failed');
    expect(editor.terminals[0]?.closed).toBe(1);
    expect(readdirSync(folder)).toEqual(['test_sums.py']);
    expect(readdirSync(temporary).filter((name) => name.startsWith('steersman-tests-'))).toEqual([]);
  });

  it('runs the chosen tests only', async () => {
    const receipt = await run(folderWith(SUITE), { selection: { files: [], tests: ['test_good'] } });
    expect(receipt).toMatchObject({ status: 'passed', exitCode: 0, counts: { collected: 1, passed: 1 } });
  });

  it('is never a pass where there is no test', async () => {
    const receipt = await run(folderWith({ 'conftest.py': '' }));
    expect(receipt).toMatchObject({ status: 'noTests', exitCode: 5 });
    expect([...(editor.testRuns[0]?.outcomes.values() ?? [])]).toEqual(['errored']);
  });

  it('is an error where the tests cannot be collected', async () => {
    const receipt = await run(folderWith({ 'test_broken.py': 'def test_x(:\n' }));
    expect(receipt).toMatchObject({ status: 'error', exitCode: 2 });
    expect(receipt.output).toContain('SyntaxError');
  });

  it('that hangs ends at its time limit, with the tests that were done', async () => {
    const receipt = await run(folderWith(HANGING), { timeoutSeconds: 8 });
    expect(receipt).toMatchObject({ status: 'timeout', exitCode: null });
    expect(receipt.tests.filter(({ outcome }) => outcome === 'passed').map(({ id }) => id)).toEqual([
      'test_hang.py::test_first',
    ]);
  });

  it.each(['request', 'explorer', 'terminal'])('is stopped by the %s', async (by) => {
    const source = new vscode.CancellationTokenSource();
    const receipt = runner.run(request(folderWith(HANGING), { argv: ['python', '-m', 'pytest', '-s'] }), source.token);
    await until(() => editor.terminals[0]?.text.includes('hanging') ?? false, 'the test hangs');
    await until(() => told.some(({ output }) => output?.includes('hanging')), 'its output is told');
    if (by === 'request') source.cancel();
    if (by === 'explorer') editor.testRuns[0]?.stop();
    if (by === 'terminal') editor.terminals[0]?.close();
    expect(await receipt).toMatchObject({ status: 'cancelled', exitCode: null });
    expect(editor.testRuns[0]?.ended).toBe(true);
  });

  it('does not begin when it was cancelled before', async () => {
    const source = new vscode.CancellationTokenSource();
    source.cancel();
    expect((await runner.run(request(folderWith(SUITE)), source.token)).status).toBe('cancelled');
    expect(editor.terminals).toEqual([]);
  });

  it('without a results file counts what the output says', async () => {
    const argv = ['python', '-m', 'unittest', '-v'];
    const folder = folderWith({
      'test_u.py': 'import unittest\nclass T(unittest.TestCase):\n    def test_a(self): pass\n',
    });
    expect(await run(folder, { argv })).toMatchObject({
      status: 'passed',
      counts: { collected: 1, passed: 1 },
      tests: [],
    });
  });

  it('by a program that is not there says so', async () => {
    expect(await run(folderWith(SUITE), { argv: ['no-such-runner'] })).toMatchObject({
      status: 'error',
      output: expect.stringContaining('no-such-runner') as string,
    });
  });

  it('in a folder that says nothing of tests says what to set', async () => {
    const receipt = await run(folderWith());
    expect(receipt).toMatchObject({
      status: 'error',
      output: expect.stringContaining('steersman.tests.command') as string,
    });
  });

  it('in a workspace that is not trusted runs nothing', async () => {
    workspace.isTrusted = false;
    const folder = folderWith({ 'conftest.py': 'open("ran", "w").close()' });
    expect((await run(folder)).status).toBe('error');
    expect(existsSync(path.join(folder, 'ran'))).toBe(false);
    expect(editor.terminals).toEqual([]);
  });

  it('in a folder that is not on this machine runs nothing', async () => {
    expect((await runner.run({ ...request('/x'), folder: 'vscode-vfs://github/a/b' }, neverCancelled())).status).toBe(
      'error',
    );
  });

  it('keeps 16 KiB of ten megabytes', async () => {
    const noisy = {
      'test_noise.py': 'def test_noise():\n    for n in range(100000): print("x" * 99)\n    assert False\n',
    };
    const receipt = await run(folderWith(noisy), { argv: ['python', '-m', 'pytest', '-s'] });
    expect(receipt.status).toBe('failed');
    expect(Buffer.byteLength(receipt.output)).toBeLessThanOrEqual(16 * 1024);
    expect(receipt.output).toContain('bytes omitted');
    expect(editor.testRuns[0]?.output.length).toBeLessThan(300_000);
  });
});
