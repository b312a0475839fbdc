// The real server over stdio, driven from plain Node: the extension's own handlers answer what it asks.
import { spawn, type ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  createMessageConnection,
  StreamMessageReader,
  StreamMessageWriter,
  type MessageConnection,
} from 'vscode-jsonrpc/node';
import { OpenRuns } from '../../src/lsp/openRuns';
import {
  isEvent,
  type Events,
  type Requests,
  type ServerNotifications,
  type StoredEvent,
} from '../../src/lsp/protocol';
import { OFFERS, serverRequestHandlers } from '../../src/lsp/serverRequests';
import { WaitingRoom } from '../../src/session/waiting';
import { TestRunner } from '../../src/tests/runner';
import { folderWith, until } from './tools';

export class RealServer {
  readonly events: StoredEvent[] = [];
  readonly waiting = new WaitingRoom();
  readonly runs = new OpenRuns();
  private constructor(
    private readonly child: ChildProcess,
    private readonly connection: MessageConnection,
    readonly folder: string,
    readonly sessionId: string,
  ) {}

  /** A server with a session in a folder, and a model that says these lines. */
  static async start(python: string, script: object[], files: Record<string, string> = {}): Promise<RealServer> {
    const folder = folderWith(files);
    const state = folderWith();
    const scriptedModel = path.join(state, 'script.jsonl');
    writeFileSync(scriptedModel, script.map((line) => JSON.stringify(line)).join('\n'));
    const child = spawn(python, ['-P', '-m', 'steersman', 'serve'], { cwd: state, stdio: ['pipe', 'pipe', 'inherit'] });
    const connection = createMessageConnection(
      new StreamMessageReader(child.stdout),
      new StreamMessageWriter(child.stdin),
    );
    connection.listen();
    const uri = pathToFileURL(folder).href;
    await connection.sendRequest('initialize', {
      processId: process.pid,
      rootUri: uri,
      workspaceFolders: [{ uri, name: 'work' }],
      capabilities: { experimental: { steersman: OFFERS } },
      initializationOptions: {
        stateDir: path.join(state, 'sessions'),
        scriptedModel,
        tests: { command: ['python', '-m', 'pytest'] },
      },
    });
    await connection.sendNotification('initialized', {});
    const info = await connection.sendRequest<{ sessionId: string }>('steersman/session/new', { workspaceFolder: uri });
    const server = new RealServer(child, connection, folder, info.sessionId);
    server.listen();
    return server;
  }

  request<M extends keyof Requests>(method: M, params: Requests[M]['params']): Promise<Requests[M]['result']> {
    return this.connection.sendRequest(method, params);
  }

  prompt(text: string): Promise<unknown> {
    return this.request('steersman/turn/prompt', { sessionId: this.sessionId, text });
  }

  /** The data of the first event of a type, once there is one. */
  async event<T extends keyof Events>(type: T): Promise<Events[T]> {
    await until(() => this.events.some((event) => event.type === type), `an event ${type}`, 15_000);
    for (const event of this.events) if (isEvent(event, type)) return event.data;
    throw new Error(`There is no event ${type}.`);
  }

  async stop(): Promise<void> {
    const gone = new Promise((resolve) => this.child.once('exit', resolve));
    await this.connection.sendRequest('shutdown');
    await this.connection.sendNotification('exit');
    await gone;
    this.connection.dispose();
  }

  private listen(): void {
    const tests = new TestRunner(
      (progress) => void this.connection.sendNotification('steersman/tests/progress', progress),
    );
    for (const [method, handler] of Object.entries(serverRequestHandlers(this.waiting, this.runs, tests))) {
      this.connection.onRequest(method, handler);
    }
    this.connection.onNotification(
      'steersman/session/didAppend',
      ({ events }: ServerNotifications['steersman/session/didAppend']) => {
        this.events.push(...events);
      },
    );
    this.connection.onNotification(
      'steersman/request/cancelled',
      ({ id }: ServerNotifications['steersman/request/cancelled']) => {
        this.waiting.withdraw(id);
        this.runs.withdraw(id);
      },
    );
  }
}
