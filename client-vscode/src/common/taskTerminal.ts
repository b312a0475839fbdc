// A process in a task's terminal: the person sees it and can close it; whoever asked gets its end.
import * as vscode from 'vscode';
import { RunningProcess, type Outcome, type ProcessSpec } from './childProcess';
import { forTerminal } from './plainText';

/** How long a terminal may take to open. */
const OPEN_MS = 10_000;

export interface TaskRun {
  /** Shown as the task's and the terminal's name. */
  name: string;
  /** Names this run: the editor takes two tasks of one definition for the same. */
  runId: string;
  folder: vscode.WorkspaceFolder | undefined;
  process: ProcessSpec;
  onOutput?: (text: string) => void;
}

/** Runs to the end. Cancelling the token, or closing the terminal, ends the whole group of processes. Never rejects. */
export function runInTerminal(run: TaskRun, token: vscode.CancellationToken): Promise<Outcome> {
  if (token.isCancellationRequested) return Promise.resolve(unstarted('cancelled'));
  return new Promise((resolve) => {
    const terminal = new ProcessTerminal(run, finish);
    const cancelled = token.onCancellationRequested(() => {
      terminal.close();
    });
    const late = setTimeout(() => {
      terminal.giveUp('The editor did not open a terminal for it.');
    }, OPEN_MS);
    terminal.onOpened = () => {
      clearTimeout(late);
    };
    function finish(outcome: Outcome): void {
      clearTimeout(late);
      cancelled.dispose();
      resolve(outcome);
    }
    vscode.tasks.executeTask(taskOf(run, terminal)).then(undefined, (error: unknown) => {
      terminal.giveUp(`The editor could not run a task for it: ${String(error)}`);
    });
  });
}

/** Ends every process that still runs, at once: the editor itself is going. */
export function killAll(): void {
  for (const running of RUNNING) running.kill();
}

const RUNNING = new Set<RunningProcess>();

class ProcessTerminal implements vscode.Pseudoterminal {
  private readonly written = new vscode.EventEmitter<string>();
  private readonly closed = new vscode.EventEmitter<number>();
  readonly onDidWrite = this.written.event;
  readonly onDidClose = this.closed.event;
  onOpened: () => void = () => undefined;
  private running: RunningProcess | undefined;
  private over = false;

  constructor(
    private readonly run: TaskRun,
    private readonly finish: (outcome: Outcome) => void,
  ) {}

  open(): void {
    if (this.over || this.running) return;
    this.onOpened();
    this.written.fire(`${forTerminal(shown(this.run.process.argv))}\r\n\r\n`);
    try {
      this.running = new RunningProcess(this.run.process, (text) => {
        this.written.fire(forTerminal(text));
        this.run.onOutput?.(text);
      });
    } catch (error) {
      this.end(unstarted('failed-to-start', `It could not be started: ${String(error)}`));
      return;
    }
    void this.follow(this.running);
  }

  private async follow(running: RunningProcess): Promise<void> {
    RUNNING.add(running);
    const outcome = await running.ended;
    RUNNING.delete(running);
    this.end(outcome);
  }

  /** The person closed the terminal, or the run was cancelled. */
  close(): void {
    if (this.running) this.running.stop();
    else this.end(unstarted('cancelled'));
  }

  giveUp(problem: string): void {
    if (!this.running) this.end(unstarted('failed-to-start', problem));
  }

  private end(outcome: Outcome): void {
    if (this.over) return;
    this.over = true;
    if (outcome.problem !== undefined) this.written.fire(`\r\n${forTerminal(outcome.problem)}\r\n`);
    if (outcome.ended === 'timeout') this.written.fire('\r\nIt was ended at its time limit.\r\n');
    this.closed.fire(outcome.exitCode ?? 1);
    this.finish(outcome);
  }
}

function taskOf(run: TaskRun, terminal: vscode.Pseudoterminal): vscode.Task {
  const task = new vscode.Task(
    { type: 'steersman', run: run.runId },
    run.folder ?? vscode.TaskScope.Workspace,
    run.name,
    'Steersman',
    new vscode.CustomExecution(() => Promise.resolve(terminal)),
  );
  task.presentationOptions = {
    reveal: vscode.TaskRevealKind.Never,
    panel: vscode.TaskPanelKind.Shared,
    focus: false,
    echo: false,
    clear: true,
    showReuseMessage: false,
  };
  return task;
}

/** The command as a person would read it. It is shown, never run. */
function shown(argv: readonly string[]): string {
  return `> ${argv.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : JSON.stringify(word))).join(' ')}`;
}

function unstarted(ended: Outcome['ended'], problem?: string): Outcome {
  return { ended, exitCode: null, output: '', durationMs: 0, ...(problem === undefined ? {} : { problem }) };
}
