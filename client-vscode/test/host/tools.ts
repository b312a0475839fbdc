// What the tests of the host share: conditions with a deadline, temporary folders, and the Python of this checkout.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach } from 'vitest';
import * as vscode from 'vscode';

export const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** Polls until the condition holds. */
export async function until(condition: () => boolean, what: string, ms = 10_000): Promise<void> {
  const deadline = Date.now() + ms;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`It never came true: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** A folder with these files, gone after the test. */
export function folderWith(files: Record<string, string> = {}): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'steersman-test-'));
  folders.push(folder);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
  return folder;
}

export function neverCancelled(): vscode.CancellationToken {
  return new vscode.CancellationTokenSource().token;
}

/** Whether a process is there. A zombie is not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return !execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).startsWith('Z');
}

/** A Python with these modules: `$STEERSMAN_PYTHON`, the checkout's environment, or the one on the PATH. */
export function pythonWith(...modules: string[]): string | undefined {
  const environment = process.env.STEERSMAN_VENV ?? path.join(ROOT, '.venv');
  const candidates = [process.env.STEERSMAN_PYTHON, path.join(environment, 'bin', 'python'), 'python3'];
  return candidates.find((python) => python !== undefined && hasModules(python, modules));
}

function hasModules(python: string, modules: string[]): boolean {
  if (path.isAbsolute(python) && !existsSync(python)) return false;
  try {
    execFileSync(python, ['-c', modules.map((name) => `import ${name}`).join('; ')], {
      stdio: 'ignore',
      cwd: tmpdir(),
    });
    return true;
  } catch {
    return false;
  }
}

/** Says in the test's output why tests are skipped. */
export function loudly(missing: boolean, why: string): boolean {
  if (missing) process.stderr.write(`\nSKIPPED: ${why}\n`);
  return missing;
}
