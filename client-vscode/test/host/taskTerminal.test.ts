import { beforeEach, describe, expect, it } from 'vitest';
import * as vscode from 'vscode';
import { killAll, runInTerminal, type TaskRun } from '../../src/common/taskTerminal';
import { editor, reset } from '../stub/vscode';
import { folderWith, neverCancelled, until } from './tools';

function task(program: string, argv = [process.execPath, '-e', program]): TaskRun {
  return {
    name: 'A run',
    runId: 'r1',
    folder: undefined,
    process: {
      argv,
      cwd: folderWith(),
      env: { PATH: process.env.PATH ?? '' },
      timeoutMs: 15_000,
      stopWith: 'SIGTERM',
      outputLimit: 4096,
    },
  };
}

const FOR_EVER = "console.log('up'); setInterval(() => {}, 1000)";

describe('a run in a terminal', () => {
  beforeEach(reset);

  it('shows the command and its words, and closes with its exit code', async () => {
    const outcome = await runInTerminal(task("console.log('one\\ntwo'); process.exitCode = 4"), neverCancelled());
    expect(outcome).toMatchObject({ ended: 'exited', exitCode: 4, output: 'one\ntwo\n' });
    const [terminal] = editor.terminals;
    expect(terminal?.text).toContain('one\r\ntwo\r\n');
    expect(terminal?.text).toContain(process.execPath);
    expect(terminal?.closed).toBe(4);
    expect(terminal?.task.definition).toEqual({ type: 'steersman', run: 'r1' });
  });

  it('lets no control sequence of the program reach the terminal', async () => {
    await runInTerminal(task("process.stdout.write('\\x1b]52;c;aGk=\\x07\\x1b[2Jplain')"), neverCancelled());
    expect(editor.terminals[0]?.text).not.toContain('\u001b');
    expect(editor.terminals[0]?.text).toContain('plain');
  });

  it('is cancelled by its token, and a second time changes nothing', async () => {
    const source = new vscode.CancellationTokenSource();
    const outcome = runInTerminal(task(FOR_EVER), source.token);
    await until(() => editor.terminals[0]?.text.includes('up') ?? false, 'the program is up');
    source.cancel();
    source.cancel();
    expect(await outcome).toMatchObject({ ended: 'cancelled', exitCode: null });
    expect(editor.terminals[0]?.closed).toBe(1);
  });

  it('is cancelled by the person who closes the terminal', async () => {
    const outcome = runInTerminal(task(FOR_EVER), neverCancelled());
    await until(() => editor.terminals[0]?.text.includes('up') ?? false, 'the program is up');
    editor.terminals[0]?.close();
    expect((await outcome).ended).toBe('cancelled');
    editor.terminals[0]?.close();
  });

  it('does not begin when it was cancelled before', async () => {
    const source = new vscode.CancellationTokenSource();
    source.cancel();
    expect((await runInTerminal(task(FOR_EVER), source.token)).ended).toBe('cancelled');
    expect(editor.terminals).toEqual([]);
  });

  it('does not begin when it is cancelled before the terminal opens', async () => {
    editor.opensTerminals = false;
    const source = new vscode.CancellationTokenSource();
    const outcome = runInTerminal(task(FOR_EVER), source.token);
    source.cancel();
    expect((await outcome).ended).toBe('cancelled');
  });

  it('tells when the editor refuses the task', async () => {
    editor.taskProblem = new Error('no tasks today');
    expect(await runInTerminal(task(FOR_EVER), neverCancelled())).toMatchObject({
      ended: 'failed-to-start',
      problem: expect.stringContaining('no tasks today') as string,
    });
  });

  it('tells when the program cannot be given its arguments', async () => {
    expect(await runInTerminal(task('', [process.execPath, 'a\0b']), neverCancelled())).toMatchObject({
      ended: 'failed-to-start',
    });
  });

  it('ends with the editor', async () => {
    const outcome = runInTerminal(task("process.on('SIGTERM', () => {}); " + FOR_EVER), neverCancelled());
    await until(() => editor.terminals[0]?.text.includes('up') ?? false, 'the program is up');
    killAll();
    expect((await outcome).ended).toBe('cancelled');
  });
});
