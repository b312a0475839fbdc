// A stand-in for `vscode-languageclient/node`: the real messages over the real process, without the editor's features.
// It keeps to what the library promises about start, stop, and its error handler.
import {
  createMessageConnection,
  StreamMessageReader,
  StreamMessageWriter,
  type MessageConnection,
} from 'vscode-jsonrpc/node';

export enum CloseAction {
  DoNotRestart = 1,
  Restart = 2,
}
export enum ErrorAction {
  Continue = 1,
  Shutdown = 2,
}
export enum RevealOutputChannelOn {
  Never = 4,
}
export enum Trace {
  Off = 'off',
  Messages = 'messages',
  Verbose = 'verbose',
}
// eslint-disable-next-line @typescript-eslint/no-namespace -- the library's own form
export namespace Trace {
  export function fromString(text: string): Trace {
    return text === 'verbose' ? Trace.Verbose : Trace.Messages;
  }
}

interface Options {
  initializationOptions: () => unknown;
  initializationFailedHandler: () => boolean;
  errorHandler: {
    error(error: Error, message: unknown, count: number | undefined): unknown;
    closed(): unknown;
  };
}
interface Feature {
  fillClientCapabilities(capabilities: { experimental?: unknown }): void;
}
type Handler = (params: never, token: never) => unknown;

/** What was traced: with the traces off, nothing is. */
export const traced: string[] = [];
/** Notifications that the library itself showed. */
export const notified: string[] = [];

export class LanguageClient {
  initializeResult: { capabilities: { experimental?: unknown } } | undefined;
  private connection: MessageConnection | undefined;
  private readonly features: Feature[] = [];
  private readonly requests = new Map<string, Handler>();
  private readonly notifications = new Map<string, Handler>();
  private running = false;
  private trace = Trace.Verbose;

  constructor(
    readonly id: string,
    readonly name: string,
    private readonly start_: () => Promise<{ reader: NodeJS.ReadableStream; writer: NodeJS.WritableStream }>,
    private readonly options: Options,
  ) {}

  registerFeature(feature: Feature): void {
    this.features.push(feature);
  }

  onRequest(method: string, handler: Handler): void {
    this.requests.set(method, handler);
  }

  onNotification(method: string, handler: Handler): void {
    this.notifications.set(method, handler);
  }

  error(message: string, _data?: unknown, showNotification: boolean | 'force' = true): void {
    if (showNotification === 'force') notified.push(message);
  }

  isRunning(): boolean {
    return this.running;
  }

  async start(): Promise<void> {
    const { reader, writer } = await this.start_();
    const connection = createMessageConnection(new StreamMessageReader(reader), new StreamMessageWriter(writer));
    this.connection = connection;
    connection.onError(([error, message, count]) => this.options.errorHandler.error(error, message, count));
    connection.onClose(() => {
      connection.dispose();
      if (!this.connection) return;
      this.connection = undefined;
      this.running = false;
      this.options.errorHandler.closed();
    });
    for (const [method, handler] of this.requests) connection.onRequest(method, handler as never);
    for (const [method, handler] of this.notifications) connection.onNotification(method, handler as never);
    connection.listen();
    const capabilities = {};
    for (const feature of this.features) feature.fillClientCapabilities(capabilities);
    try {
      this.initializeResult = await connection.sendRequest('initialize', {
        processId: process.pid,
        rootUri: null,
        capabilities,
        initializationOptions: this.options.initializationOptions(),
      });
    } catch (error) {
      this.error(`${this.name} client: couldn't create connection to server.`, error, 'force');
      throw error;
    }
    await connection.sendNotification('initialized', {});
    this.running = true;
  }

  async stop(): Promise<void> {
    const { connection } = this;
    this.connection = undefined;
    this.running = false;
    if (!connection) return;
    await connection.sendRequest('shutdown');
    await connection.sendNotification('exit');
    connection.end();
  }

  async dispose(): Promise<void> {
    await this.stop();
  }

  setTrace(trace: Trace): Promise<void> {
    this.trace = trace;
    return Promise.resolve();
  }

  async sendRequest(method: string, params: unknown): Promise<unknown> {
    if (!this.connection) throw new Error('Client is not running');
    if (this.trace !== Trace.Off) traced.push(`${method} ${JSON.stringify(params)}`);
    return this.connection.sendRequest(method, params);
  }

  async sendNotification(method: string, params: unknown): Promise<void> {
    await this.connection?.sendNotification(method, params);
  }
}
