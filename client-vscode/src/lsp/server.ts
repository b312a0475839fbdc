// The server's life: start, stop, restart after a crash, one after the other; and the wire to it while it runs.
import * as vscode from 'vscode';
import {
  CloseAction,
  ErrorAction,
  LanguageClient,
  RevealOutputChannelOn,
  Trace,
  type LanguageClientOptions,
  type StaticFeature,
} from 'vscode-languageclient/node';
import { findServer } from './discovery';
import type { ClientNotifications, Requests, ServerNotifications } from './protocol';
import { PROTOCOL_VERSION } from './protocol';
import { Restarts } from './restarts';
import { ServerProcess } from './serverProcess';
import { OFFERS, type ServerRequestHandlers } from './serverRequests';
import { initializationOptions } from './settings';
import { wordsOf, type ServerState, type Wire } from './wire';

/** How long the server may take to answer `initialize`. */
const START_MS = 30_000;
/** Messages that could not be read, after which the connection is of no use. */
const BROKEN_MESSAGES = 3;
const MESSAGE_OF_STOP = "Steersman's server is not running.";

/** The library's client, which logs what fails. What a person is told about it is ours to say. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

/** One run of the server. */
interface Life {
  client: LanguageClient;
  process: ServerProcess | undefined;
  /** It was stopped on purpose, or its end has been dealt with. */
  over: boolean;
  brokenMessages: number;
}

export class Server implements Wire, vscode.Disposable {
  private readonly appended = new vscode.EventEmitter<ServerNotifications['steersman/session/didAppend']>();
  private readonly changed = new vscode.EventEmitter<ServerNotifications['steersman/session/didChange']>();
  private readonly withdrawn = new vscode.EventEmitter<string>();
  private readonly stateChanged = new vscode.EventEmitter<ServerState>();
  readonly onDidAppend = this.appended.event;
  readonly onDidChange = this.changed.event;
  /** An approval, a question or a run, by its id, that the server no longer waits for. */
  readonly onDidWithdraw = this.withdrawn.event;
  readonly onDidChangeState = this.stateChanged.event;

  private life: Life | undefined;
  private queue: Promise<void> = Promise.resolve();
  private timer: NodeJS.Timeout | undefined;
  private now: { state: ServerState; problem: string | undefined } = { state: 'stopped', problem: undefined };

  /** `key` gives the model's key, which is sent after each start. */
  constructor(
    private readonly log: vscode.LogOutputChannel,
    private readonly handlers: ServerRequestHandlers,
    private readonly key: () => Promise<string | undefined>,
    private readonly restarts = new Restarts(),
  ) {}

  get state(): ServerState {
    return this.now.state;
  }

  get problem(): string | undefined {
    return this.now.problem;
  }

  async request<M extends keyof Requests>(method: M, params: Requests[M]['params']): Promise<Requests[M]['result']> {
    if (this.state !== 'running' || !this.life) throw new Error(this.problem ?? MESSAGE_OF_STOP);
    return this.life.client.sendRequest<Requests[M]['result']>(method, params);
  }

  /** Sent if the server runs; what it was about is over otherwise. */
  notify<M extends keyof ClientNotifications>(method: M, params: ClientNotifications[M]): void {
    if (this.state !== 'running' || !this.life) return;
    this.life.client.sendNotification(method, params).catch((error: unknown) => {
      this.log.warn(`${method} was not sent: ${wordsOf(error)}`);
    });
  }

  /** Starts the server if it does not run. */
  start(): Promise<void> {
    return this.enqueue(async () => {
      if (!this.life) await this.begin();
    });
  }

  stop(): Promise<void> {
    return this.enqueue(async () => {
      await this.end();
      this.become('stopped');
    });
  }

  restart(): Promise<void> {
    return this.enqueue(async () => {
      this.restarts.forget();
      await this.end();
      await this.begin();
    });
  }

  /** Sends the key again, after it was set. Its words are never traced. */
  async sendKey(): Promise<void> {
    const apiKey = await this.key();
    const life = this.life;
    if (apiKey === undefined || !life) return;
    try {
      await life.client.setTrace(Trace.Off);
      await life.client.sendRequest('steersman/credentials/set', { apiKey });
      await life.client.setTrace(this.wantedTrace());
    } catch (error) {
      this.log.error(`The key was not sent: ${wordsOf(error)}`);
    }
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const emitter of [this.appended, this.changed, this.withdrawn, this.stateChanged]) emitter.dispose();
  }

  /** Starting and stopping never overlap. */
  private enqueue(act: () => Promise<void>): Promise<void> {
    clearTimeout(this.timer);
    const done = this.queue.then(act);
    this.queue = done.catch((error: unknown) => {
      this.log.error(wordsOf(error));
    });
    return done;
  }

  private async begin(): Promise<void> {
    this.become('starting');
    const found = await findServer();
    if ('problem' in found) {
      this.become('failed', found.problem);
      return;
    }
    this.log.info(`Starting ${found.argv.join(' ')}`);
    const life = this.make(found.argv);
    this.life = life;
    const late = setTimeout(() => life.process?.kill(), START_MS);
    try {
      await life.client.start();
      const mismatch = mismatchOf(life.client);
      if (mismatch !== undefined) {
        await this.end();
        this.become('failed', mismatch);
        return;
      }
      await this.sendKey();
      if (!life.over) this.become('running');
    } catch (error) {
      this.lost(life, wordsOf(error));
    } finally {
      clearTimeout(late);
    }
  }

  private make(argv: [string, ...string[]]): Life {
    const life: Life = {
      over: false,
      brokenMessages: 0,
      process: undefined,
      client: new QuietClient(
        'steersman',
        'Steersman',
        () => this.spawn(life, argv),
        this.options(() => life),
      ),
    };
    life.client.registerFeature(OFFER);
    for (const [method, handler] of Object.entries(this.handlers)) life.client.onRequest(method, handler);
    life.client.onNotification(
      'steersman/session/didAppend',
      (params: ServerNotifications['steersman/session/didAppend']) => {
        if (!life.over) this.appended.fire(params);
      },
    );
    life.client.onNotification(
      'steersman/session/didChange',
      (params: ServerNotifications['steersman/session/didChange']) => {
        if (!life.over) this.changed.fire(params);
      },
    );
    life.client.onNotification(
      'steersman/request/cancelled',
      ({ id }: ServerNotifications['steersman/request/cancelled']) => {
        this.withdrawn.fire(id);
      },
    );
    return life;
  }

  private spawn(life: Life, argv: [string, ...string[]]) {
    const started = new ServerProcess(argv, (line) => {
      this.log.info(`server: ${line}`);
    });
    life.process = started;
    return Promise.resolve({ reader: started.child.stdout, writer: started.child.stdin });
  }

  private options(life: () => Life): LanguageClientOptions {
    return {
      documentSelector: [{ scheme: 'file' }],
      outputChannel: this.log,
      traceOutputChannel: this.log,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationOptions,
      initializationFailedHandler: () => false,
      markdown: { isTrusted: false, supportHtml: false },
      errorHandler: {
        error: () => {
          life().brokenMessages += 1;
          if (life().brokenMessages >= BROKEN_MESSAGES) life().process?.kill();
          return { action: ErrorAction.Continue, handled: true };
        },
        closed: () => {
          this.lost(life(), '');
          return {
            action: CloseAction.DoNotRestart,
            handled: true,
            message: 'The connection to the server was closed.',
          };
        },
      },
    };
  }

  /** The server ended by itself, or never came up. What follows waits for its turn in the queue. */
  private lost(life: Life, reason: string): void {
    if (life.over) return;
    life.over = true;
    if (this.life === life) this.life = undefined;
    this.become('starting', `The server is gone. ${reason}`);
    void this.enqueue(() => this.recover(life, reason));
  }

  private async recover(life: Life, reason: string): Promise<void> {
    life.process?.kill();
    const how = (await life.process?.ended) ?? '';
    await this.discard(life);
    const words = [reason, how].filter(Boolean).join(' ');
    this.log.error(`The server is gone. ${words}`);
    const delay = this.restarts.next();
    if (delay === undefined) {
      this.become('failed', `The server keeps failing, so it is not started again. ${words}`);
      return;
    }
    this.become('starting', `The server is gone and is being started again. ${words}`);
    this.timer = setTimeout(() => void this.start(), delay);
  }

  private async end(): Promise<void> {
    const life = this.life;
    if (!life) return;
    this.life = undefined;
    life.over = true;
    try {
      if (life.client.isRunning()) await life.client.stop();
    } catch (error) {
      this.log.warn(`The server did not stop in order: ${wordsOf(error)}`);
    }
    await life.process?.gone();
    await this.discard(life);
  }

  /** Gives back what the client of a run registered in the editor. */
  private async discard(life: Life): Promise<void> {
    await life.client.dispose().catch(() => undefined); // one that never ran has nothing to give back
  }

  private become(state: ServerState, problem?: string): void {
    this.now = { state, problem };
    this.stateChanged.fire(state);
  }

  private wantedTrace(): Trace {
    if (this.log.logLevel !== vscode.LogLevel.Trace) return Trace.Off;
    return Trace.fromString(vscode.workspace.getConfiguration('steersman').get('trace.server', 'messages'));
  }
}

/** What is wrong where the other side is no server of ours. Starting it again would change nothing. */
function mismatchOf(client: LanguageClient): string | undefined {
  const experimental = client.initializeResult?.capabilities.experimental as
    { steersman?: { protocolVersion?: unknown } } | undefined;
  const version = experimental?.steersman?.protocolVersion;
  if (version === PROTOCOL_VERSION) return undefined;
  return typeof version === 'number'
    ? `The server speaks version ${version} of the protocol, this extension ${PROTOCOL_VERSION}. Update the older one.`
    : 'The program that was started is no Steersman server. Correct `steersman.server.command`.';
}

/** Tells the server what this editor answers. */
const OFFER: StaticFeature = {
  fillClientCapabilities: (capabilities) => {
    capabilities.experimental = { ...(capabilities.experimental as object | undefined), steersman: OFFERS };
  },
  initialize: () => undefined,
  getState: () => ({ kind: 'static' }),
  clear: () => undefined,
};
