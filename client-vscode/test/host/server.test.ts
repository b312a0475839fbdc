// The server's life with real processes: the product's own, and small ones that misbehave.
import { readFileSync, existsSync, writeFileSync, chmodSync } from 'node:fs';
import * as path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import * as vscode from 'vscode';
import { Restarts } from '../../src/lsp/restarts';
import { Server } from '../../src/lsp/server';
import type { ServerRequestHandlers } from '../../src/lsp/serverRequests';
import type { ServerState } from '../../src/lsp/wire';
import { notified, traced } from '../stub/languageClient';
import { editor, reset, workspace } from '../stub/vscode';
import { folderWith, isAlive, loudly, pythonWith, until } from './tools';

vi.mock('vscode-languageclient/node', () => import('../stub/languageClient'));

/** A server that answers `initialize` like ours, writes its id down, and then does what it is told. */
const OURS = `
  const fs = require('fs');
  fs.appendFileSync('PIDS', process.pid + '\\n');
  const send = (message) => { const text = JSON.stringify({ jsonrpc: '2.0', ...message }); process.stdout.write('Content-Length: ' + Buffer.byteLength(text) + '\\r\\n\\r\\n' + text); };
  const answer = (message) => {
    fs.appendFileSync('LOG', JSON.stringify(message) + '\\n');
    if (message.method === 'initialize') return send({ id: message.id, result: { capabilities: { experimental: { steersman: { protocolVersion: VERSION } } } } });
    if (message.method === 'exit') process.exit(0);
    if (message.method === 'steersman/status' && DIES) process.exit(7);
    if (message.id !== undefined) send({ id: message.id, result: {} });
  };
  let buffer = Buffer.alloc(0);
  process.stdin.on('data', (data) => {
    buffer = Buffer.concat([buffer, data]);
    for (;;) {
      const end = buffer.indexOf('\\r\\n\\r\\n');
      if (end < 0) return;
      const length = Number(/Content-Length: (\\d+)/i.exec(buffer.toString('utf8', 0, end))[1]);
      if (buffer.length < end + 4 + length) return;
      const text = buffer.toString('utf8', end + 4, end + 4 + length);
      buffer = buffer.subarray(end + 4 + length);
      answer(JSON.parse(text));
    }
  });
  process.stdin.on('end', () => process.exit(0));
`;

describe("the server's life", { timeout: 60_000 }, () => {
  let server: Server;
  let states: ServerState[];
  let key: string | undefined;
  beforeEach(() => {
    reset();
    traced.length = 0;
    notified.length = 0;
    key = undefined;
    workspace.isTrusted = true;
    vi.stubEnv('PATH', '');
    server = new Server(
      quietLog(),
      {} as ServerRequestHandlers,
      () => Promise.resolve(key),
      new Restarts(Date.now, [20, 20]),
    );
    states = [];
    server.onDidChangeState((state) => states.push(state));
  });
  afterEach(async () => {
    await server.stop();
    server.dispose();
  });

  const configure = (...command: string[]) =>
    editor.configuration.set('steersman.server.command', { globalValue: command });
  const misbehaving = (program: string) => {
    configure(process.execPath, '-e', program);
  };
  const ours = (more: { version?: string; dies?: boolean } = {}) => {
    const folder = folderWith();
    const file = (name: string) => JSON.stringify(path.join(folder, name));
    misbehaving(
      OURS.replaceAll("'PIDS'", file('pids'))
        .replaceAll("'LOG'", file('log'))
        .replace('VERSION', more.version ?? '1')
        .replace('DIES', String(more.dies ?? false)),
    );
    const lines = (name: string) =>
      existsSync(path.join(folder, name)) ? readFileSync(path.join(folder, name), 'utf8').trim().split('\n') : [];
    return { pids: () => lines('pids').map(Number), log: () => lines('log') };
  };

  it('that is nowhere fails at once, and says what to do', async () => {
    await server.start();
    expect(server.state).toBe('failed');
    expect(server.problem).toContain('steersman.server.command');
    await expect(server.request('steersman/status', {})).rejects.toThrow('steersman.server.command');
  });

  it.each([
    [['/no/such/program', 'serve'], '/no/such/program'],
    [['no-such-program'], 'no-such-program'],
    [[], 'list of words'],
    ['steersman serve', 'list of words'],
    [[7], 'list of words'],
  ])('with the command %j fails at once, and names it', async (command, words) => {
    editor.configuration.set('steersman.server.command', { globalValue: command });
    await server.start();
    expect(server.state).toBe('failed');
    expect(server.problem).toContain(words);
  });

  it('takes no command from the workspace', async () => {
    editor.configuration.set('steersman.server.command', { workspaceValue: [process.execPath, '-e', '0'] });
    await server.start();
    expect(server.state).toBe('failed');
    expect(server.problem).toContain('not found');
  });

  it('finds the program on the PATH, and never in a relative entry of it', async () => {
    const folder = folderWith({ steersman: '#!/bin/sh\nexit 3\n' });
    chmodSync(path.join(folder, 'steersman'), 0o755);
    vi.stubEnv('PATH', path.relative(process.cwd(), folder));
    await server.start();
    expect(server.problem).toContain('not found');
  });

  it('starts, tells the key after that and never traces it, and stops', async () => {
    const { pids, log } = ours();
    key = 'sk-secret-words';
    await server.start();
    expect(server.state).toBe('running');
    expect(server.problem).toBeUndefined();
    const messages = log().map((line) => JSON.parse(line) as { method: string; params: unknown });
    expect(messages.map(({ method }) => method)).toEqual(['initialize', 'initialized', 'steersman/credentials/set']);
    expect(JSON.stringify(messages[0])).not.toContain('sk-secret-words');
    expect(messages[2]?.params).toEqual({ apiKey: 'sk-secret-words' });
    expect(traced.join()).not.toContain('sk-secret-words');
    await server.request('steersman/status', {});
    await server.stop();
    expect(server.state).toBe('stopped');
    expect(isAlive(pids()[0] ?? 0)).toBe(false);
  });

  it('offers the server all that the handlers answer, and trust only where it is', async () => {
    workspace.isTrusted = false;
    const { log } = ours();
    await server.start();
    const { params } = JSON.parse(log()[0] ?? '{}') as {
      params: { capabilities: unknown; initializationOptions: unknown };
    };
    expect(params.capabilities).toEqual({
      experimental: {
        steersman: {
          protocolVersion: 1,
          events: {},
          approvals: {},
          questions: {},
          tests: {},
          commands: {},
          save: {},
          query: {},
        },
      },
    });
    expect(params.initializationOptions).toEqual({ trusted: false });
  });

  it('that is killed is started again', async () => {
    const { pids } = ours();
    await server.start();
    process.kill(pids()[0] ?? 0, 'SIGKILL');
    await until(() => states.filter((state) => state === 'running').length === 2, 'it runs again');
    expect(states).toEqual(['starting', 'running', 'starting', 'starting', 'starting', 'running']);
    expect(pids()).toHaveLength(2);
    await server.request('steersman/status', {});
  });

  it('that ends in the middle of a request fails that request, and is started again', async () => {
    ours({ dies: true });
    await server.start();
    await expect(server.request('steersman/status', {})).rejects.toThrow();
    await until(() => states.filter((state) => state === 'running').length === 2, 'it runs again');
  });

  it('that cannot come up is given up in the end, with its last words, and tried again by a restart', async () => {
    const starts = path.join(folderWith(), 'starts');
    misbehaving(
      `require('fs').appendFileSync(${JSON.stringify(starts)}, 'x'); console.error('No such module'); process.exit(1)`,
    );
    await server.start();
    await until(() => server.state === 'failed', 'it is given up');
    expect(server.problem).toContain('No such module');
    expect(server.problem).toContain('exit code 1');
    expect(notified).toEqual([]); // what the library says about it is told by nobody but us
    expect(readFileSync(starts, 'utf8')).toBe('xxx');
    await server.restart();
    expect(server.state).toBe('starting');
    await until(() => server.state === 'failed', 'it is given up again');
    expect(readFileSync(starts, 'utf8')).toBe('xxxxxx');
  });

  it('is started anew by a restart, however often it failed', async () => {
    misbehaving('process.exit(1)');
    await server.start();
    const { pids } = ours();
    await server.restart();
    expect(server.state).toBe('running');
    await server.restart();
    expect(server.state).toBe('running');
    expect(pids()).toHaveLength(2);
    expect(isAlive(pids()[0] ?? 0)).toBe(false);
  });

  it('is not started twice by two starts', async () => {
    const { pids } = ours();
    await Promise.all([server.start(), server.start()]);
    expect(pids()).toHaveLength(1);
  });

  it.each([
    ['undefined', 'no Steersman server'],
    ['2', 'version 2'],
  ])('that answers with protocol version %s is left at once', async (version, words) => {
    const { pids } = ours({ version });
    await server.start();
    expect(server.state).toBe('failed');
    expect(server.problem).toContain(words);
    expect(pids()).toHaveLength(1);
    expect(isAlive(pids()[0] ?? 0)).toBe(false);
  });

  it('that talks nonsense is ended', async () => {
    misbehaving("setInterval(() => process.stdout.write('nonsense\\r\\n\\r\\n'), 20)");
    void server.start();
    await until(() => states.length > 1, 'it is noticed');
    expect(server.problem).toContain('The server is gone');
  });
});

describe('restarts', () => {
  it('wait longer each time, and are given up', () => {
    const restarts = new Restarts(() => 0);
    expect([restarts.next(), restarts.next(), restarts.next(), restarts.next(), restarts.next()]).toEqual([
      250,
      1000,
      4000,
      10_000,
      undefined,
    ]);
  });

  it('forget what is long ago, and all that was before a person started it', () => {
    let now = 0;
    const restarts = new Restarts(() => now);
    restarts.next();
    restarts.next();
    now += 10 * 60_000;
    expect(restarts.next()).toBe(250);
    restarts.next();
    restarts.forget();
    expect(restarts.next()).toBe(250);
  });
});

const PYTHON = pythonWith('steersman');
const missing = loudly(
  PYTHON === undefined,
  'no Python with steersman: set STEERSMAN_PYTHON. The real server is not started.',
);

describe.skipIf(missing)('the real server', { timeout: 60_000 }, () => {
  it('is found by the interpreter of the editor, starts, tells its status and stops', async () => {
    reset();
    workspace.isTrusted = true;
    vi.stubEnv('PATH', '/usr/bin:/bin');
    const folder = folderWith();
    editor.configuration.set('steersman.stateDir', { globalValue: folder });
    const environments = {
      getActiveEnvironmentPath: () => ({}),
      resolveEnvironment: () => Promise.resolve({ executable: { uri: { fsPath: PYTHON } } }),
    };
    editor.extensions.set('ms-python.python', {
      isActive: true,
      exports: {},
      activate: () => Promise.resolve({ environments }),
    });
    const server = new Server(quietLog(), {} as ServerRequestHandlers, () => Promise.resolve(undefined));
    await server.start();
    expect(server.problem).toBeUndefined();
    expect(await server.request('steersman/status', {})).toMatchObject({ protocolVersion: 1, stateDir: folder });
    await server.stop();
    server.dispose();
  });

  it('is not looked for in the interpreter of a folder that is not trusted', async () => {
    reset();
    workspace.isTrusted = false;
    vi.stubEnv('PATH', '');
    const folder = folderWith();
    const python = path.join(folder, 'python');
    writeFileSync(python, `#!/bin/sh\n: > ${path.join(folder, 'ran')}\n`);
    chmodSync(python, 0o755);
    const environments = {
      getActiveEnvironmentPath: () => ({}),
      resolveEnvironment: () => Promise.resolve({ executable: { uri: { fsPath: python } } }),
    };
    editor.extensions.set('ms-python.python', {
      isActive: true,
      exports: {},
      activate: () => Promise.resolve({ environments }),
    });
    const server = new Server(quietLog(), {} as ServerRequestHandlers, () => Promise.resolve(undefined));
    await server.start();
    expect(server.state).toBe('failed');
    expect(existsSync(path.join(folder, 'ran'))).toBe(false);
    server.dispose();
  });
});

function quietLog(): vscode.LogOutputChannel {
  const say = () => undefined;
  return { info: say, warn: say, error: say, trace: say, logLevel: 1 } as unknown as vscode.LogOutputChannel;
}
