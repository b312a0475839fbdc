// Which Python belongs to a folder: the one chosen in the editor, its own virtual environment, else the system's.
// The Python extensions are asked if they are there; nothing here needs them.
import { stat } from 'node:fs/promises';
import * as path from 'node:path';
import * as vscode from 'vscode';
import { findOnPath, isExecutable } from './executables';

/** How long another extension may take to answer. */
const ANSWER_MS = 5000;
const ENVIRONMENTS = ['.venv', 'venv'];
const PYTHON = process.platform === 'win32' ? ['Scripts', 'python.exe'] : ['bin', 'python'];

export async function interpreterOf(folder: vscode.Uri): Promise<string | undefined> {
  return (await chosenInterpreter(folder)) ?? (await folderInterpreter(folder.fsPath)) ?? systemInterpreter();
}

/** The one that the person chose by the Python Environments or the Python extension. */
export async function chosenInterpreter(folder: vscode.Uri | undefined): Promise<string | undefined> {
  for (const ask of [askEnvironments, askPython]) {
    const answer = await within(ANSWER_MS, ask(folder)).catch(() => undefined);
    if (typeof answer === 'string' && path.isAbsolute(answer) && (await isExecutable(answer))) return answer;
  }
  return undefined;
}

/** The virtual environment that an interpreter belongs to, if it is one of such. */
export async function virtualEnvironmentOf(interpreter: string | undefined): Promise<string | undefined> {
  if (interpreter === undefined) return undefined;
  const place = path.dirname(path.dirname(interpreter));
  return (await stat(path.join(place, 'pyvenv.cfg')).catch(() => undefined)) ? place : undefined;
}

/** The virtual environment of the folder, or of a folder above it inside the same repository. */
async function folderInterpreter(folder: string): Promise<string | undefined> {
  for (const place of await withinRepository(folder)) {
    for (const name of ENVIRONMENTS) {
      const python = path.join(place, name, ...PYTHON);
      if (await isExecutable(python)) return python;
    }
  }
  return undefined;
}

async function systemInterpreter(): Promise<string | undefined> {
  return (await findOnPath('python3')) ?? (await findOnPath('python'));
}

/** A virtual environment further up (in a temporary folder, in a home) is somebody else's. */
async function withinRepository(folder: string): Promise<string[]> {
  const places: string[] = [];
  for (let place = folder; ; place = path.dirname(place)) {
    places.push(place);
    if (await stat(path.join(place, '.git')).catch(() => undefined)) return places;
    if (place === path.dirname(place)) return [folder];
  }
}

interface EnvironmentsApi {
  getEnvironment?(
    scope: vscode.Uri | undefined,
  ): Promise<{ execInfo?: { run?: { executable?: unknown } } } | undefined>;
}

interface PythonApi {
  environments?: {
    getActiveEnvironmentPath(resource?: vscode.Uri): unknown;
    resolveEnvironment(environment: unknown): Promise<{ executable?: { uri?: vscode.Uri } } | undefined>;
  };
}

async function askEnvironments(folder: vscode.Uri | undefined): Promise<unknown> {
  const api = await activated<EnvironmentsApi>('ms-python.vscode-python-envs');
  return (await api?.getEnvironment?.(folder))?.execInfo?.run?.executable;
}

async function askPython(folder: vscode.Uri | undefined): Promise<unknown> {
  const environments = (await activated<PythonApi>('ms-python.python'))?.environments;
  if (!environments) return undefined;
  return (await environments.resolveEnvironment(environments.getActiveEnvironmentPath(folder)))?.executable?.uri
    ?.fsPath;
}

async function activated<T>(id: string): Promise<T | undefined> {
  const extension = vscode.extensions.getExtension<T | undefined>(id);
  return extension?.activate();
}

function within<T>(ms: number, answer: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => {
      resolve(undefined);
    }, ms);
  });
  return Promise.race([answer, late]).finally(() => {
    clearTimeout(timer);
  });
}
