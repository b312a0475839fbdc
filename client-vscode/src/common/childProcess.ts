// One child process in a group of its own: its words, its end, and an end for all of it. No shell, no input.
import { spawn, type ChildProcess } from 'node:child_process';
import { StringDecoder } from 'node:string_decoder';
import { BoundedText } from './boundedText';
import type { Environment } from './environment';
import { PlainText } from './plainText';

export interface ProcessSpec {
  /** The program and its arguments; never empty. */
  argv: readonly string[];
  cwd: string;
  env: Environment;
  timeoutMs: number;
  /** What asks the group to end; KILL follows after the grace. */
  stopWith: 'SIGTERM' | 'SIGINT';
  /** Bytes of output that the outcome keeps. */
  outputLimit: number;
}

export interface Outcome {
  ended: 'exited' | 'signalled' | 'timeout' | 'cancelled' | 'not-found' | 'failed-to-start';
  /** Only where it ended by itself. */
  exitCode: number | null;
  output: string;
  durationMs: number;
  /** A sentence about what went wrong, where something did. */
  problem?: string;
}

/** Between the stop signal and KILL. */
export const GRACE_MS = 1500;
/** How long output may still come after the process's own end: somebody else may hold its pipe. */
const DRAIN_MS = 500;

export class RunningProcess {
  readonly ended: Promise<Outcome>;
  private readonly child: ChildProcess;
  private readonly begun = Date.now();
  private readonly record: BoundedText;
  private readonly timers: NodeJS.Timeout[] = [];
  private cause: 'timeout' | 'cancelled' | undefined;
  /** Once the process has ended, its number may be somebody else's. */
  private gone = false;

  /** Starts at once; throws for arguments that no program can be given. `onOutput` gets text without control sequences. */
  constructor(
    private readonly spec: ProcessSpec,
    private readonly onOutput: (text: string) => void,
  ) {
    const [program = '', ...args] = spec.argv;
    this.record = new BoundedText(spec.outputLimit);
    this.child = spawn(program, args, {
      cwd: spec.cwd,
      env: spec.env,
      detached: process.platform !== 'win32',
      windowsHide: true,
      shell: false,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const streams = [this.child.stdout, this.child.stderr].map((stream) => this.read(stream));
    this.ended = this.wait(streams).finally(() => {
      for (const timer of this.timers) clearTimeout(timer);
    });
    this.timers.push(
      setTimeout(() => {
        this.end('timeout');
      }, spec.timeoutMs),
    );
  }

  /** Ends the whole group. A second call changes nothing. */
  stop(): void {
    this.end('cancelled');
  }

  /** Ends the group without grace, for an editor that is itself about to end. */
  kill(): void {
    this.cause ??= 'cancelled';
    this.signal('SIGKILL');
  }

  private end(cause: 'timeout' | 'cancelled'): void {
    if (this.cause !== undefined) return;
    this.cause = cause;
    this.signal(this.spec.stopWith);
    this.timers.push(
      setTimeout(() => {
        this.signal('SIGKILL');
      }, GRACE_MS),
    );
  }

  private async wait(streams: Promise<void>[]): Promise<Outcome> {
    const end = await new Promise<{ code: number | null; signal: string | null } | { error: NodeJS.ErrnoException }>(
      (resolve) => {
        this.child.once('error', (error) => {
          resolve({ error });
        });
        this.child.once('exit', (code, signal) => {
          resolve({ code, signal });
        });
      },
    );
    if ('error' in end) return this.outcome(failure(end.error, this.spec));
    const stopped = this.cause;
    // What it left running in its group would go on without anybody to stop it.
    this.signal('SIGKILL');
    this.gone = true;
    await Promise.race([Promise.all(streams), this.pause(DRAIN_MS)]);
    this.child.stdout?.destroy();
    this.child.stderr?.destroy();
    if (stopped !== undefined) return this.outcome({ ended: stopped });
    if (end.code === null) {
      return this.outcome({ ended: 'signalled', problem: `It was ended by ${end.signal ?? 'a signal'}.` });
    }
    return this.outcome({ ended: 'exited', exitCode: end.code });
  }

  private outcome(end: Pick<Outcome, 'ended'> & Partial<Outcome>): Outcome {
    return { exitCode: null, output: this.record.toString(), durationMs: Date.now() - this.begun, ...end };
  }

  private read(stream: NodeJS.ReadableStream | null): Promise<void> {
    if (stream === null) return Promise.resolve();
    const decoder = new StringDecoder('utf8');
    const clean = new PlainText();
    const tell = (text: string) => {
      if (text === '') return;
      this.record.add(text);
      this.onOutput(text);
    };
    return new Promise((resolve) => {
      stream.on('data', (data: Buffer) => {
        tell(clean.add(decoder.write(data)));
      });
      stream.once('error', () => {
        resolve();
      });
      stream.once('close', () => {
        tell(clean.add(decoder.end()) + clean.finish());
        resolve();
      });
    });
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.timers.push(setTimeout(resolve, ms)));
  }

  private signal(signal: NodeJS.Signals): void {
    const { pid } = this.child;
    if (pid === undefined || this.gone) return;
    if (process.platform === 'win32') {
      spawn('taskkill', ['/pid', String(pid), '/T', '/F'], { windowsHide: true, stdio: 'ignore' }).once('error', () =>
        this.child.kill(),
      );
      return;
    }
    try {
      process.kill(-pid, signal);
    } catch {
      // The group is gone, which is what was wanted.
    }
  }
}

function failure(error: NodeJS.ErrnoException, spec: ProcessSpec): Pick<Outcome, 'ended' | 'problem'> {
  const program = spec.argv[0] ?? '';
  if (error.code === 'ENOENT') {
    return { ended: 'not-found', problem: `The program ${program} or the folder ${spec.cwd} was not found.` };
  }
  return { ended: 'failed-to-start', problem: `The program ${program} could not be started: ${error.message}.` };
}
