// A stand-in for the `vscode` module: values as the editor has them, and an editor that tests can look into.
// It knows only what the extension uses. `reset` puts it back to an empty window.
import { pathToFileURL, fileURLToPath } from 'node:url';

export interface Disposable {
  dispose(): void;
}
export const Disposable = class {
  constructor(private readonly act: () => void) {}
  static from(...items: Disposable[]): Disposable {
    return {
      dispose: () => {
        for (const item of items) item.dispose();
      },
    };
  }
  dispose(): void {
    this.act();
  }
};

export type Event<T> = (listener: (value: T) => unknown, self?: unknown, disposables?: Disposable[]) => Disposable;

export class EventEmitter<T> {
  private listeners = new Set<(value: T) => unknown>();
  readonly event: Event<T> = (listener, self, disposables) => {
    const bound = (value: T): unknown => listener.call(self, value);
    this.listeners.add(bound);
    const disposable = { dispose: () => void this.listeners.delete(bound) };
    disposables?.push(disposable);
    return disposable;
  };
  fire(value: T): void {
    for (const listener of [...this.listeners]) listener(value);
  }
  dispose(): void {
    this.listeners.clear();
  }
}

export class CancellationTokenSource {
  private readonly cancelled = new EventEmitter<void>();
  private done = false;
  readonly token: { readonly isCancellationRequested: boolean; onCancellationRequested: Event<void> };
  constructor() {
    const isDone = () => this.done;
    this.token = {
      get isCancellationRequested() {
        return isDone();
      },
      onCancellationRequested: this.cancelled.event,
    };
  }
  cancel(): void {
    if (this.done) return;
    this.done = true;
    this.cancelled.fire();
  }
  dispose(): void {
    this.cancelled.dispose();
  }
}

export class Uri {
  private constructor(
    readonly scheme: string,
    readonly path: string,
    private readonly text: string,
  ) {}
  static file(path: string): Uri {
    return Uri.parse(pathToFileURL(path).href);
  }
  static parse(text: string): Uri {
    const url = new URL(text);
    return new Uri(url.protocol.slice(0, -1), decodeURIComponent(url.pathname), url.href);
  }
  static joinPath(base: Uri, ...segments: string[]): Uri {
    return Uri.parse(`${base.text.replace(/\/$/, '')}/${segments.map(encodeURI).join('/')}`);
  }
  get fsPath(): string {
    return this.scheme === 'file' ? fileURLToPath(this.text) : this.path;
  }
  toString(): string {
    return this.text;
  }
}

export class Position {
  constructor(
    readonly line: number,
    readonly character: number,
  ) {}
}

export class Range {
  readonly start: Position;
  readonly end: Position;
  constructor(...at: [Position, Position] | [number, number, number, number]) {
    if (at.length === 2) [this.start, this.end] = at;
    else {
      this.start = new Position(at[0], at[1]);
      this.end = new Position(at[2], at[3]);
    }
  }
  get isEmpty(): boolean {
    return this.start.line === this.end.line && this.start.character === this.end.character;
  }
  intersection(other: Range): Range | undefined {
    const start = later(this.start, other.start);
    const end = later(this.end, other.end) === this.end ? other.end : this.end;
    return later(start, end) === start && (start.line !== end.line || start.character !== end.character)
      ? undefined
      : new Range(start, end);
  }
}
function later(a: Position, b: Position): Position {
  return a.line > b.line || (a.line === b.line && a.character > b.character) ? a : b;
}
export class Selection extends Range {}
export class Location {
  constructor(
    readonly uri: Uri,
    readonly range: Range,
  ) {}
}

export enum DiagnosticSeverity {
  Error,
  Warning,
  Information,
  Hint,
}
export class Diagnostic {
  source?: string;
  code?: string | number | { value: string | number; target: Uri };
  constructor(
    readonly range: Range,
    readonly message: string,
    readonly severity = DiagnosticSeverity.Error,
  ) {}
}
export class MarkdownString {
  constructor(readonly value = '') {}
}
export class ThemeIcon {
  constructor(readonly id: string) {}
}
export class ThemeColor {
  constructor(readonly id: string) {}
}
export enum StatusBarAlignment {
  Left = 1,
  Right = 2,
}
export enum TaskScope {
  Global = 1,
  Workspace = 2,
}
export enum TaskRevealKind {
  Always = 1,
  Silent = 2,
  Never = 3,
}
export enum TaskPanelKind {
  Shared = 1,
  Dedicated = 2,
  New = 3,
}
export enum ConfigurationTarget {
  Global = 1,
  Workspace = 2,
  WorkspaceFolder = 3,
}
export enum LogLevel {
  Off,
  Trace,
  Debug,
  Info,
  Warning,
  Error,
}
export enum QuickPickItemKind {
  Separator = -1,
  Default = 0,
}

export interface Pseudoterminal {
  onDidWrite: Event<string>;
  onDidClose?: Event<number>;
  open(dimensions: unknown): void;
  close(): void;
}
export class CustomExecution {
  constructor(readonly callback: (definition: unknown) => Promise<Pseudoterminal>) {}
}
export class Task {
  presentationOptions: Record<string, unknown> = {};
  isBackground = false;
  constructor(
    readonly definition: Record<string, unknown>,
    readonly scope: unknown,
    readonly name: string,
    readonly source: string,
    readonly execution: CustomExecution,
    readonly problemMatchers: string[] = [],
  ) {}
}

/** What the tests see of a terminal: what was written, how it was closed, and a hand that closes it. */
export interface SeenTerminal {
  task: Task;
  text: string;
  closed: number | null;
  close(): void;
}

export interface SeenTestRun {
  name: string | undefined;
  outcomes: Map<string, string>;
  messages: string[];
  output: string;
  ended: boolean;
  stop(): void;
}

const documentSaved = new EventEmitter<unknown>();
export const editor = {
  terminals: [] as SeenTerminal[],
  testRuns: [] as SeenTestRun[],
  /** Set to an error to let `executeTask` fail. */
  taskProblem: undefined as Error | undefined,
  /** False: a terminal never opens. */
  opensTerminals: true,
  commands: new Map<string, (...args: never[]) => unknown>(),
  context: new Map<string, unknown>(),
  messages: [] as { kind: string; text: string; items: string[]; choose(item: string | undefined): void }[],
  configuration: new Map<string, { globalValue?: unknown; workspaceValue?: unknown; defaultValue?: unknown }>(),
  diagnostics: new Map<string, Diagnostic[]>(),
  extensions: new Map<string, { isActive: boolean; exports: unknown; activate(): Promise<unknown> }>(),
  contentProviders: new Map<string, { provideTextDocumentContent(uri: { query: string }): Promise<string> }>(),
  /** Addresses and files that were opened. */
  opened: [] as string[],
  documents: [] as { uri: Uri; isDirty: boolean; save(): Promise<boolean> }[],
};

export function reset(): void {
  editor.terminals.length = 0;
  editor.testRuns.length = 0;
  editor.taskProblem = undefined;
  editor.opensTerminals = true;
  editor.messages.length = 0;
  editor.documents.length = 0;
  editor.opened.length = 0;
  env.remoteName = undefined;
  for (const map of [
    editor.commands,
    editor.context,
    editor.configuration,
    editor.diagnostics,
    editor.extensions,
    editor.contentProviders,
  ]) {
    map.clear();
  }
}

export const tasks = {
  async executeTask(task: Task): Promise<{ task: Task; terminate(): void }> {
    if (editor.taskProblem) throw editor.taskProblem;
    const terminal = await task.execution.callback(task.definition);
    const seen: SeenTerminal = {
      task,
      text: '',
      closed: null,
      close: () => {
        terminal.close();
      },
    };
    terminal.onDidWrite((text) => (seen.text += text));
    terminal.onDidClose?.((code) => (seen.closed = code));
    editor.terminals.push(seen);
    if (editor.opensTerminals) terminal.open(undefined);
    return {
      task,
      terminate: () => {
        seen.close();
      },
    };
  },
};

class TestItemCollection {
  private items = new Map<string, TestItem>();
  get size(): number {
    return this.items.size;
  }
  get(id: string): TestItem | undefined {
    return this.items.get(id);
  }
  add(item: TestItem): void {
    this.items.set(item.id, item);
  }
  delete(id: string): void {
    this.items.delete(id);
  }
  replace(items: TestItem[]): void {
    this.items = new Map(items.map((item) => [item.id, item]));
  }
  forEach(act: (item: TestItem) => void): void {
    this.items.forEach(act);
  }
}
export class TestItem {
  readonly children = new TestItemCollection();
  range: Range | undefined;
  constructor(
    readonly id: string,
    readonly label: string,
    readonly uri?: Uri,
  ) {}
}
export class TestRunRequest {
  constructor(
    readonly include?: TestItem[],
    readonly exclude?: TestItem[],
    readonly profile?: unknown,
  ) {}
}
export class TestMessage {
  location?: Location;
  constructor(readonly message: string) {}
}

export const tests = {
  createTestController(id: string, label: string) {
    return {
      id,
      label,
      items: new TestItemCollection(),
      createTestItem: (itemId: string, itemLabel: string, uri?: Uri) => new TestItem(itemId, itemLabel, uri),
      createTestRun(_request: TestRunRequest, name?: string) {
        const source = new CancellationTokenSource();
        const seen: SeenTestRun = {
          name,
          outcomes: new Map(),
          messages: [],
          output: '',
          ended: false,
          stop: () => {
            source.cancel();
          },
        };
        editor.testRuns.push(seen);
        const told = (outcome: string) => (item: TestItem, message?: unknown) => {
          seen.outcomes.set(item.id, outcome);
          if (message instanceof TestMessage) seen.messages.push(message.message);
        };
        return {
          token: source.token,
          started: told('started'),
          passed: told('passed'),
          failed: told('failed'),
          errored: told('errored'),
          skipped: told('skipped'),
          appendOutput: (text: string) => (seen.output += text),
          end: () => (seen.ended = true),
        };
      },
      dispose: () => undefined,
    };
  },
};

/** Buttons are words or items with a title; the first of the chosen name is given back as it was passed. */
function message(kind: string) {
  return (text: string, ...rest: unknown[]): Promise<unknown> =>
    new Promise((resolve) => {
      const items = rest.filter(
        (item) => typeof item === 'string' || (typeof item === 'object' && item !== null && 'title' in item),
      );
      const titleOf = (item: unknown) => (typeof item === 'string' ? item : (item as { title: string }).title);
      const choose = (title: string | undefined) => {
        resolve(items.find((item) => titleOf(item) === title));
      };
      editor.messages.push({ kind, text, items: items.map(titleOf), choose });
    });
}

export const window = {
  showInformationMessage: message('information'),
  showWarningMessage: message('warning'),
  showErrorMessage: message('error'),
  showInputBox: (_options?: object): Promise<string | undefined> => Promise.resolve(undefined),
  showQuickPick: <T>(_items: readonly T[], _options?: object): Promise<T | undefined> => Promise.resolve(undefined),
  showWorkspaceFolderPick: (_options?: object): Promise<{ uri: Uri } | undefined> => Promise.resolve(undefined),
  activeTextEditor: undefined as unknown,
  showTextDocument(uri: Uri): Promise<void> {
    editor.opened.push(uri.toString());
    return Promise.resolve();
  },
  createStatusBarItem: () => ({
    text: '',
    tooltip: '' as unknown,
    command: undefined as unknown,
    name: '',
    accessibilityInformation: undefined as unknown,
    backgroundColor: undefined as unknown,
    show: () => undefined,
    hide: () => undefined,
    dispose: () => undefined,
  }),
};

export const commands = {
  registerCommand(name: string, act: (...args: never[]) => unknown): Disposable {
    editor.commands.set(name, act);
    return { dispose: () => void editor.commands.delete(name) };
  },
  executeCommand(name: string, ...args: unknown[]): Promise<unknown> {
    if (name === 'setContext') {
      editor.context.set(String(args[0]), args[1]);
      return Promise.resolve(undefined);
    }
    const act = editor.commands.get(name) as ((...given: unknown[]) => unknown) | undefined;
    if (!act) return Promise.reject(new Error(`command '${name}' not found`));
    return Promise.resolve(act(...args));
  },
};

export const languages = {
  getDiagnostics(uri?: Uri): Diagnostic[] | [Uri, Diagnostic[]][] {
    if (uri) return editor.diagnostics.get(uri.toString()) ?? [];
    return [...editor.diagnostics].map(([text, found]): [Uri, Diagnostic[]] => [Uri.parse(text), found]);
  },
};

export const extensions = {
  getExtension: (id: string) => editor.extensions.get(id),
  onDidChange: new EventEmitter<void>().event,
};

export const workspace = {
  isTrusted: true,
  workspaceFolders: undefined as { uri: Uri; name: string; index: number }[] | undefined,
  get textDocuments() {
    return editor.documents;
  },
  onDidSaveTextDocument: documentSaved.event,
  onDidChangeWorkspaceFolders: new EventEmitter<void>().event,
  onDidGrantWorkspaceTrust: new EventEmitter<void>().event,
  registerTextDocumentContentProvider(
    scheme: string,
    provider: { provideTextDocumentContent(uri: { query: string }): Promise<string> },
  ): Disposable {
    editor.contentProviders.set(scheme, provider);
    return { dispose: () => void editor.contentProviders.delete(scheme) };
  },
  openTextDocument: (options: { content: string; language: string }) =>
    Promise.resolve(`${options.language}: ${options.content}`),
  getWorkspaceFolder: (uri: Uri) =>
    workspace.workspaceFolders?.find((folder) => uri.toString().startsWith(folder.uri.toString())),
  getConfiguration: (section?: string) => ({
    get(key: string) {
      const found = editor.configuration.get(section ? `${section}.${key}` : key);
      return found?.workspaceValue ?? found?.globalValue ?? found?.defaultValue;
    },
    inspect: (key: string) => editor.configuration.get(section ? `${section}.${key}` : key),
  }),
};

export const env = {
  remoteName: undefined as string | undefined,
  clipboard: { writeText: () => Promise.resolve() },
  openExternal(uri: Uri): Promise<boolean> {
    editor.opened.push(uri.toString());
    return Promise.resolve(true);
  },
};
