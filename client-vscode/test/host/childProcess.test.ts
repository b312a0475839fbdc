import { existsSync, readFileSync } from 'node:fs';
import * as path from 'node:path';
import { describe, expect, it } from 'vitest';
import { RunningProcess, type Outcome, type ProcessSpec } from '../../src/common/childProcess';
import { folderWith, isAlive, until } from './tools';

function start(program: string, more: Partial<ProcessSpec> = {}): { running: RunningProcess; told: string[] } {
  const told: string[] = [];
  const spec: ProcessSpec = {
    argv: [process.execPath, '-e', program],
    cwd: folderWith(),
    env: { PATH: process.env.PATH ?? '' },
    timeoutMs: 15_000,
    stopWith: 'SIGTERM',
    outputLimit: 16 * 1024,
    ...more,
  };
  return { running: new RunningProcess(spec, (text) => told.push(text)), told };
}

const run = (program: string, more: Partial<ProcessSpec> = {}): Promise<Outcome> => start(program, more).running.ended;

/** A process that ignores the stop signal and starts another one that does too; both write their ids. */
const STUBBORN = `
  process.on('SIGTERM', () => {}); process.on('SIGINT', () => {});
  const inner = "process.on('SIGTERM', () => {}); process.on('SIGINT', () => {}); setInterval(() => {}, 1000); console.log('ready')";
  const child = require('child_process').spawn(process.execPath, ['-e', inner], { stdio: ['ignore', 'pipe', 'inherit'] });
  child.stdout.on('data', () => { require('fs').writeFileSync('pids', process.pid + ' ' + child.pid); console.log('up'); });
  setInterval(() => {}, 1000);
`;

async function startStubborn(more: Partial<ProcessSpec> = {}) {
  const cwd = folderWith();
  const started = start(STUBBORN, { cwd, ...more });
  await until(() => existsSync(path.join(cwd, 'pids')) && started.told.length > 0, 'both processes are up');
  const pids = readFileSync(path.join(cwd, 'pids'), 'utf8').split(' ').map(Number);
  return { ...started, pids };
}

describe('a child process', () => {
  it('ends with its own exit code and its words, from both streams', async () => {
    const outcome = await run("console.log('out'); console.error('err'); process.exitCode = 3");
    expect(outcome).toMatchObject({ ended: 'exited', exitCode: 3 });
    expect(outcome.output.split('\n').sort()).toEqual(['', 'err', 'out']);
  });

  it('has no input to wait for', async () => {
    expect(await run("process.stdin.on('data', () => {}).on('end', () => console.log('closed'))")).toMatchObject({
      exitCode: 0,
      output: 'closed\n',
    });
  });

  it('gets its arguments as they are: nothing goes through a shell', async () => {
    const argv = [process.execPath, '-e', 'console.log(process.argv[1])', '$(echo no) `no`; echo no'];
    expect((await run('', { argv })).output).toBe('$(echo no) `no`; echo no\n');
  });

  it('is stopped with everything that it started, however stubborn', async () => {
    const { running, pids } = await startStubborn();
    running.stop();
    running.stop();
    expect(await running.ended).toMatchObject({ ended: 'cancelled', exitCode: null, output: 'up\n' });
    for (const pid of pids) expect(isAlive(pid)).toBe(false);
  });

  it('is ended at its time limit, with everything that it started', async () => {
    const { running, pids } = await startStubborn({ timeoutMs: 4000 });
    expect(await running.ended).toMatchObject({ ended: 'timeout', exitCode: null });
    for (const pid of pids) expect(isAlive(pid)).toBe(false);
  });

  it('leaves nothing behind when it ends by itself', async () => {
    const cwd = folderWith();
    const outcome = await run(
      `const child = require('child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'inherit' });
       require('fs').writeFileSync('pid', String(child.pid)); child.unref(); process.exit(0)`,
      { cwd },
    );
    expect(outcome).toMatchObject({ ended: 'exited', exitCode: 0 });
    const pid = Number(readFileSync(path.join(cwd, 'pid'), 'utf8'));
    await until(() => !isAlive(pid), 'the process that it left is gone');
  });

  it('is told apart from one that a signal ended', async () => {
    expect(await run("process.kill(process.pid, 'SIGSEGV')")).toMatchObject({
      ended: 'signalled',
      exitCode: null,
      problem: 'It was ended by SIGSEGV.',
    });
  });

  it('that does not exist is no failure of the command', async () => {
    const outcome = await run('', { argv: ['no-such-program-here'] });
    expect(outcome).toMatchObject({ ended: 'not-found', exitCode: null });
    expect(outcome.problem).toContain('no-such-program-here');
  });

  it('that may not be run says so', async () => {
    const folder = folderWith({ 'data.txt': 'no program' });
    expect(await run('', { argv: [path.join(folder, 'data.txt')] })).toMatchObject({ ended: 'failed-to-start' });
  });

  it('in a folder that is gone says so', async () => {
    const outcome = await run('', { cwd: '/no/such/folder' });
    expect(outcome.ended).toBe('not-found');
    expect(outcome.problem).toContain('/no/such/folder');
  });

  it('may write ten megabytes: what is kept is bounded', async () => {
    const outcome = await run(
      "const line = 'x'.repeat(99) + '\\n'; process.stdout.write(line.repeat(100000) + 'the end')",
    );
    expect(outcome.exitCode).toBe(0);
    expect(Buffer.byteLength(outcome.output)).toBeLessThanOrEqual(16 * 1024);
    expect(outcome.output.endsWith('the end')).toBe(true);
  });

  it('may write bytes that are no text', async () => {
    const outcome = await run('process.stdout.write(Buffer.from([0x61, 0xff, 0xfe, 0xc3, 0x28, 0x00, 0x62]))');
    expect(outcome.output).toBe('a\ufffd\ufffd\ufffd(b');
  });

  it('may tear a character between two writes', async () => {
    const outcome = await run(
      "const b = Buffer.from('ä😀'); process.stdout.write(b.subarray(0, 3)); setTimeout(() => process.stdout.write(b.subarray(3)), 100)",
    );
    expect(outcome.output).toBe('ä😀');
  });

  it('cannot be given an argument with a zero byte', () => {
    expect(() => start('', { argv: [process.execPath, 'a\0b'] })).toThrow();
  });
});
