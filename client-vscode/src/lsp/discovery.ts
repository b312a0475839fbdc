// Where the server is. Nothing of an untrusted workspace is run to find it.
import { execFile } from 'node:child_process';
import { homedir } from 'node:os';
import * as path from 'node:path';
import { promisify } from 'node:util';
import * as vscode from 'vscode';
import { findOnPath, isExecutable } from '../common/executables';
import { chosenInterpreter } from '../common/interpreter';
import { personal } from './settings';

export type Discovery = { argv: [string, ...string[]] } | { problem: string };

const SERVE = 'serve';
const PROBE_MS = 10_000;
const HOW = 'Install the `steersman` package into a Python 3.11 or newer, or set `steersman.server.command`.';

export async function findServer(): Promise<Discovery> {
  const configured = personal('server.command');
  if (configured !== undefined && configured !== null) return configuredServer(configured);
  const program = await findOnPath('steersman');
  if (program !== undefined) return { argv: [program, SERVE] };
  return (await interpreterServer()) ?? { problem: `The Steersman server was not found. ${HOW}` };
}

async function configuredServer(command: unknown): Promise<Discovery> {
  if (!isArgv(command)) {
    return { problem: '`steersman.server.command` must be a list of words that starts with a program. Correct it.' };
  }
  const [program, ...args] = command;
  const found = path.isAbsolute(program) ? program : await findOnPath(program);
  if (found === undefined || !(await isExecutable(found))) {
    return { problem: `The program ${program} of \`steersman.server.command\` was not found. Correct the setting.` };
  }
  return { argv: [found, ...args] };
}

/** The interpreter chosen in the editor may be the workspace's own: it is asked only where that is trusted. */
async function interpreterServer(): Promise<Discovery | undefined> {
  if (!vscode.workspace.isTrusted) return undefined;
  const python = await chosenInterpreter(vscode.workspace.workspaceFolders?.[0]?.uri);
  if (python === undefined) return undefined;
  // -P keeps the working folder off the import path.
  const module: [string, ...string[]] = [python, '-P', '-m', 'steersman'];
  const works = await answers([...module, 'version']);
  return works ? { argv: [...module, SERVE] } : undefined;
}

async function answers([program, ...args]: [string, ...string[]]): Promise<boolean> {
  try {
    await promisify(execFile)(program, args, { cwd: homedir(), timeout: PROBE_MS, windowsHide: true });
    return true;
  } catch {
    return false;
  }
}

function isArgv(value: unknown): value is [string, ...string[]] {
  return Array.isArray(value) && value.every((word) => typeof word === 'string') && Boolean(value[0]);
}
