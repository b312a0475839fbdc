// From a test command to the argument vector that is run: interpreter, selection, results file. Pure.
// It follows the server's own runner, so that a run means the same whoever makes it.
import * as path from 'node:path';
import type { Selection } from '../lsp/protocol';

const PYTHON = /^python3?(\.exe)?$/;
const PYTEST = new Set(['pytest', 'py.test', 'pytest.exe']);
/** Words behind which `pytest` is the runner: `python -m pytest`, `uv run pytest`. */
const LAUNCHERS = new Set(['-m', 'run']);
const NAME = /^[\p{L}_][\p{L}\p{N}_]*$/u;

export function isPytest(argv: readonly string[]): boolean {
  return pytestIndex(argv) >= 0;
}

/** The command with the interpreter in place of `python`, or of the Python behind `pytest`. */
export function resolved(argv: readonly string[], interpreter: string | undefined): string[] {
  const [program = '', ...rest] = argv;
  if (interpreter === undefined) return [...argv];
  if (PYTHON.test(program)) return [interpreter, ...rest];
  if (PYTEST.has(program)) return [interpreter, '-m', 'pytest', ...rest];
  return [...argv];
}

/** The command for a part of the suite. No name can turn into an option. Plain names of tests go to pytest's `-k`. */
export function selected(argv: readonly string[], selection: Selection | undefined): string[] {
  const { files = [], tests = [] } = selection ?? {};
  if (files.length + tests.length === 0) return [...argv];
  const byName = isPytest(argv) && tests.length > 0 && tests.every((test) => NAME.test(test));
  const chosen = [...new Set([...files, ...(byName ? [] : tests)])].map(harmless);
  const separator = argv[0] === 'npm' && argv[1] === 'test' && !argv.includes('--') ? ['--'] : [];
  return [...withOptions(argv, byName ? ['-k', tests.join(' or ')] : []), ...separator, ...chosen];
}

/** A pytest command that also writes JUnit XML, and keeps its cache out of the workspace. */
export function withResults(argv: readonly string[], results: string, cache: string): string[] {
  return withOptions(argv, [`--junitxml=${results}`, '-o', 'junit_family=xunit1', '-o', `cache_dir=${cache}`]);
}

function pytestIndex(argv: readonly string[]): number {
  return argv.findIndex(
    (word, index) => PYTEST.has(path.basename(word)) && (index === 0 || LAUNCHERS.has(argv[index - 1] ?? '')),
  );
}

/** Options go last, so that they win, but before a `--` that follows the runner. */
function withOptions(argv: readonly string[], options: readonly string[]): string[] {
  const separator = argv.indexOf('--', Math.max(0, pytestIndex(argv)));
  const end = separator < 0 ? argv.length : separator;
  return [...argv.slice(0, end), ...options, ...argv.slice(end)];
}

/** pytest reads `-x` as an option and `@file` as a file of options; a path can do neither. */
function harmless(text: string): string {
  return /^[-@]/.test(text) ? `./${text}` : text;
}
