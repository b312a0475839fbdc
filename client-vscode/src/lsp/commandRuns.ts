// `steersman/command/run`: a command of the model's in a task's terminal of its own. Never through a shell.
import * as vscode from 'vscode';
import { childEnvironment } from '../common/environment';
import { interpreterOf, virtualEnvironmentOf } from '../common/interpreter';
import { runInTerminal } from '../common/taskTerminal';
import type { CommandOutcome, CommandRequest } from './protocol';

/** Bytes of output that travel: the server keeps as much of it. */
const OUTPUT_BYTES = 512 * 1024;
const TITLE_CHARACTERS = 80;

/** How the command ended. Rejects where it could not be run at all: that is no outcome of the command's. */
export async function runCommand(request: CommandRequest, token: vscode.CancellationToken): Promise<CommandOutcome> {
  const folder = vscode.Uri.parse(request.folder);
  if (!vscode.workspace.isTrusted) throw new Error('This workspace is not trusted: nothing is run in it.');
  if (folder.scheme !== 'file') throw new Error(`The folder ${request.folder} is not on this machine.`);
  if (request.argv.length === 0) throw new Error('The command names no program.');
  const environment = await virtualEnvironmentOf(await interpreterOf(folder));
  const outcome = await runInTerminal(
    {
      name: request.title.replace(/\s+/g, ' ').slice(0, TITLE_CHARACTERS) || 'Command',
      runId: request.runId,
      folder: vscode.workspace.getWorkspaceFolder(folder),
      process: {
        argv: request.argv,
        cwd: folder.fsPath,
        env: childEnvironment(process.env, environment),
        timeoutMs: request.timeoutSeconds * 1000,
        stopWith: 'SIGTERM',
        outputLimit: OUTPUT_BYTES,
      },
    },
    token,
  );
  if (outcome.ended === 'not-found' || outcome.ended === 'failed-to-start') throw new Error(outcome.problem);
  const { exitCode, output, durationMs, problem } = outcome;
  return {
    exitCode,
    output: problem === undefined ? output : `${output}\n${problem}`,
    durationMs,
    cancelled: outcome.ended === 'cancelled',
    ...(outcome.ended === 'timeout' ? { timedOut: true } : {}),
  };
}
