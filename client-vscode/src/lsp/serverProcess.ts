// The server's process: how it is started, what it last said, and that it is gone in the end.
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { homedir } from 'node:os';
import { createInterface } from 'node:readline';

/** How long the server may take to end after it was asked to. */
const STOP_MS = 4000;
/** The editor's own, which would change a Python or a Node that the server starts. */
const DROPPED = /^(?:ELECTRON_|VSCODE_|NODE_OPTIONS$|PYTHONHOME$|PYTHONINSPECT$)/;
const LINE_CHARACTERS = 2000;

export class ServerProcess {
  readonly child: ChildProcessWithoutNullStreams;
  /** Resolves with how it ended, in words. */
  readonly ended: Promise<string>;
  private lastLine = '';

  /** `log` gets each line of the server's standard error. */
  constructor([program, ...args]: [string, ...string[]], log: (line: string) => void) {
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !DROPPED.test(name)));
    // Not in a workspace: nothing in there may be imported by accident.
    this.child = spawn(program, args, { cwd: homedir(), env, windowsHide: true, shell: false });
    this.ended = new Promise((resolve) => {
      this.child.once('error', (error) => {
        resolve(`It could not be started: ${error.message}.`);
      });
      this.child.once('close', (code, signal) => {
        const how = code === null ? `was ended by ${signal ?? 'a signal'}` : `ended with exit code ${code}`;
        resolve(`It ${how}${this.lastLine ? `: ${this.lastLine}` : '.'}`);
      });
    });
    this.child.stdin.on('error', () => undefined); // a pipe that breaks ends the process too, which is told above
    createInterface({ input: this.child.stderr }).on('line', (line) => {
      const short = line.slice(0, LINE_CHARACTERS);
      if (short.trim()) this.lastLine = short.trim();
      log(short);
    });
  }

  kill(): void {
    this.child.kill('SIGKILL');
  }

  /** Waits for the end, and makes one if none comes. */
  async gone(): Promise<void> {
    const timer = setTimeout(() => {
      this.kill();
    }, STOP_MS);
    await this.ended;
    clearTimeout(timer);
  }
}
