// Which test command a folder suggests when none is configured. Reads a few small files, runs nothing.
import { readFile, readdir, stat } from 'node:fs/promises';
import * as path from 'node:path';

const PYTEST = ['python', '-m', 'pytest'];
const NPM = ['npm', 'test'];
/** What npm puts into a new package's test script: it is not a test command. */
const SILENCE = 'no test specified';
/** A configuration file that is longer is none. */
const CONFIG_BYTES = 1 << 20;
const PYTEST_FILES = ['pytest.ini', '.pytest.ini', 'pytest.toml', 'conftest.py'];
const PYTEST_SECTIONS: [string, RegExp][] = [
  ['pyproject.toml', /^\s*\[\s*tool\s*\.\s*pytest\b/m],
  ['setup.cfg', /^\[tool:pytest\]/m],
  ['tox.ini', /^\[pytest\]/m],
];
const PYTHON_TEST = /^(test_.*|.*_test)\.py$/;

/** The command, or undefined where nothing in the folder says how its tests are run. */
export async function suggestedCommand(folder: string): Promise<string[] | undefined> {
  if ((await namesPytest(folder)) || (await hasPythonTests(folder))) return [...PYTEST];
  if (await hasNpmTest(path.join(folder, 'package.json'))) return [...NPM];
  return undefined;
}

async function namesPytest(folder: string): Promise<boolean> {
  for (const name of PYTEST_FILES) if (await isFile(path.join(folder, name))) return true;
  for (const [name, section] of PYTEST_SECTIONS) {
    if (section.test(await smallText(path.join(folder, name)))) return true;
  }
  return false;
}

async function hasPythonTests(folder: string): Promise<boolean> {
  for (const place of ['.', 'tests', 'test']) {
    const names = await readdir(path.join(folder, place)).catch(() => []);
    if (names.some((name) => PYTHON_TEST.test(name))) return true;
  }
  return false;
}

async function hasNpmTest(file: string): Promise<boolean> {
  try {
    const script = (JSON.parse(await smallText(file)) as { scripts?: { test?: unknown } } | null)?.scripts?.test;
    return typeof script === 'string' && script.trim() !== '' && !script.includes(SILENCE);
  } catch {
    return false;
  }
}

async function isFile(file: string): Promise<boolean> {
  return (await stat(file).catch(() => undefined))?.isFile() ?? false;
}

/** The text of a small regular file, else nothing. */
async function smallText(file: string): Promise<string> {
  const found = await stat(file).catch(() => undefined);
  if (!found?.isFile() || found.size > CONFIG_BYTES) return '';
  return readFile(file, 'utf8').catch(() => '');
}
