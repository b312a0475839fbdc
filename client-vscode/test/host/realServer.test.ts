// The extension's answers to the real server's requests: both sides real, only the editor is a stand-in.
import { readFileSync, existsSync } from 'node:fs';
import * as path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Diagnostic, Range, editor, reset, workspace } from '../stub/vscode';
import { pathToFileURL } from 'node:url';
import { RealServer } from './realServer';
import { isAlive, loudly, pythonWith, until } from './tools';

const PYTHON = pythonWith('steersman', 'pytest') ?? '';
const missing = loudly(
  PYTHON === '',
  'no Python with steersman and pytest: set STEERSMAN_PYTHON. The real server is not tested.',
);
const SAYS_DONE = { text: 'Done.' };
const calls = (name: string, args: object) => ({ toolCalls: [{ name, arguments: args }] });

describe.skipIf(missing)('the real server', { timeout: 60_000 }, () => {
  let server: RealServer | undefined;
  beforeEach(() => {
    reset();
    workspace.isTrusted = true;
    vi.stubEnv('PYTEST_DISABLE_PLUGIN_AUTOLOAD', '1');
  });
  afterEach(async () => {
    await server?.stop();
    server = undefined;
  });
  const start = async (script: object[], files: Record<string, string> = {}) =>
    (server = await RealServer.start(PYTHON, script, files));

  it('takes the receipt of a test run in the editor as it is', async () => {
    const script = [calls('run_tests', {}), SAYS_DONE];
    const { event, prompt } = bound(
      await start(script, { 'test_a.py': 'def test_a(): pass\ndef test_b(): assert False\n' }),
    );
    editor.extensions.set('ms-python.python', pythonExtension(PYTHON));
    await prompt('Run the tests.');
    const receipt = await event('tests/receipt');
    expect(receipt).toMatchObject({
      status: 'failed',
      exitCode: 1,
      runner: 'editor',
      counts: { collected: 2, passed: 1, failed: 1 },
    });
    expect(receipt.tests[0]).toMatchObject({ id: 'test_a.py::test_b', outcome: 'failed', line: 2 });
    expect((await event('turn/end')).reason.kind).toBe('completed');
    expect(editor.testRuns).toHaveLength(1);
  });

  it('runs a command only after the person allowed it', async () => {
    const argv = [process.execPath, '-e', "console.log('hello'); process.exitCode = 3"];
    const real = await start([calls('run_command', { argv }), SAYS_DONE]);
    await real.prompt('Say hello.');
    await until(() => real.waiting.pending.length === 1, 'the approval waits');
    expect(editor.terminals).toEqual([]);
    const [open] = real.waiting.pending;
    expect(open).toMatchObject({ kind: 'approval', request: { tool: 'run_command', risk: 'execute', argv } });
    real.waiting.answerApproval(open?.id ?? '', { decision: 'allowOnce' });
    const result = await real.event('tool/result');
    expect(result.content).toContain('hello');
    expect(result.content).toContain('3');
    expect(editor.terminals[0]?.closed).toBe(3);
  });

  it('runs nothing that was denied, and tells the model why', async () => {
    const real = await start([calls('run_command', { argv: ['rm', '-r', 'x'] }), SAYS_DONE]);
    await real.prompt('Remove it.');
    await until(() => real.waiting.pending.length === 1, 'the approval waits');
    real.waiting.answerApproval(real.waiting.pending[0]?.id ?? '', { decision: 'deny', feedback: 'Keep it.' });
    const result = await real.event('tool/result');
    expect(result.outcome).toBe('denied');
    expect(result.content).toContain('Keep it.');
    expect(editor.terminals).toEqual([]);
  });

  it('withdraws an approval with the turn: a late answer allows nothing', async () => {
    const real = await start([calls('run_command', { argv: ['make'] })]);
    await real.prompt('Make it.');
    await until(() => real.waiting.pending.length === 1, 'the approval waits');
    const id = real.waiting.pending[0]?.id ?? '';
    await real.request('steersman/turn/cancel', { sessionId: real.sessionId });
    await until(() => real.waiting.pending.length === 0, 'it is withdrawn');
    expect(real.waiting.answerApproval(id, { decision: 'allowOnce' })).toBe(false);
    expect((await real.event('turn/end')).reason.kind).toBe('aborted');
    expect(editor.terminals).toEqual([]);
  });

  it('stops a command with the turn, and no process is left', async () => {
    const program =
      "require('fs').writeFileSync('pid', String(process.pid)); process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)";
    const real = await start([calls('run_command', { argv: [process.execPath, '-e', program] })]);
    await real.prompt('Run for ever.');
    await until(() => real.waiting.pending.length === 1, 'the approval waits');
    real.waiting.answerApproval(real.waiting.pending[0]?.id ?? '', { decision: 'allowOnce' });
    const file = path.join(real.folder, 'pid');
    await until(() => existsSync(file) && readFileSync(file, 'utf8') !== '', 'the command runs');
    const pid = Number(readFileSync(file, 'utf8'));
    await real.request('steersman/turn/cancel', { sessionId: real.sessionId });
    expect((await real.event('turn/end')).reason.kind).toBe('aborted');
    await until(() => !isAlive(pid), 'the process is gone');
  });

  it('takes the answer to a question', async () => {
    const real = await start([calls('ask_user', { question: 'Which?', choices: ['left', 'right'] }), SAYS_DONE]);
    await real.prompt('Ask me.');
    await until(() => real.waiting.pending.length === 1, 'the question waits');
    expect(real.waiting.pending[0]).toMatchObject({
      kind: 'question',
      request: { text: 'Which?', choices: ['left', 'right'] },
    });
    real.waiting.answerQuestion(real.waiting.pending[0]?.id ?? '', 'left');
    expect(await real.event('question/answered')).toMatchObject({ answer: 'left', by: 'human' });
  });

  it("understands the editor's diagnostics", async () => {
    const real = await start([calls('diagnostics', { path: 'a.py' }), SAYS_DONE], { 'a.py': 'x = y\n' });
    const problem = new Diagnostic(new Range(0, 4, 0, 5), 'y is not defined');
    problem.source = 'lint';
    editor.diagnostics.set(pathToFileURL(path.join(real.folder, 'a.py')).href, [problem]);
    await real.prompt('What is wrong?');
    const result = await real.event('tool/result');
    expect(result).toMatchObject({ outcome: 'ok', content: expect.stringContaining('y is not defined') as string });
  });
});

/** The methods, so that they can be taken apart. */
function bound(server: RealServer) {
  return { event: server.event.bind(server), prompt: server.prompt.bind(server) };
}

function pythonExtension(python: string) {
  const api = {
    environments: {
      getActiveEnvironmentPath: () => ({ path: python }),
      resolveEnvironment: () => Promise.resolve({ executable: { uri: { fsPath: python } } }),
    },
  };
  return { isActive: true, exports: api, activate: () => Promise.resolve(api) };
}
