// The cases of a JUnit XML file, written by the workspace's own code: nothing in it may be trusted.
import { constants } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import * as path from 'node:path';
import { pathToFileURL } from 'node:url';
import { SaxesParser } from 'saxes';
import type { TestCase } from '../lsp/protocol';

const FILE_BYTES = 32 * 1024 * 1024;
const MESSAGE_CHARACTERS = 1000;
/** The order in which a test with several results is told, and in which tests are listed. */
const WORST: TestCase['outcome'][] = ['error', 'failed', 'skipped', 'passed'];
const RESULTS = new Map<string, TestCase['outcome']>([
  ['error', 'error'],
  ['failure', 'failed'],
  ['skipped', 'skipped'],
]);

interface Found {
  testCase: TestCase;
  file: string | undefined;
  line: number | undefined;
}

interface Suite {
  /** How many tests the suite itself says that it has. */
  count: number;
  cases: Found[];
}

/** The cases, the worst first, or undefined if there is no such file or nothing to be made of it. */
export async function readCases(file: string, folder: string, partial: boolean): Promise<TestCase[] | undefined> {
  const text = await readRegular(file);
  if (text === undefined) return undefined;
  let suites: Suite[];
  try {
    suites = parsed(text);
  } catch {
    return undefined; // whatever the parser throws for it, it is no result
  }
  const cases = suites.flatMap((suite) => distinct(suite, partial));
  for (const found of cases) await locate(found, folder);
  return cases.map(({ testCase }) => testCase).sort((a, b) => rank(a) - rank(b));
}

/** The text of a regular file, never of a link or of a pipe that somebody put in its place. */
async function readRegular(file: string): Promise<string | undefined> {
  let handle;
  try {
    handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return undefined;
  }
  try {
    const found = await handle.stat();
    return found.isFile() && found.size <= FILE_BYTES ? await handle.readFile('utf8') : undefined;
  } finally {
    await handle.close();
  }
}

/** The suites. Throws for a text that is not JUnit XML, and for one that declares a document type. */
function parsed(text: string): Suite[] {
  const suites: Suite[] = [];
  const open: Suite[] = [];
  let current: Found | undefined;
  let words: string | undefined;
  let outermost: string | undefined;
  const parser = new SaxesParser();
  parser.on('error', (error) => {
    throw error;
  });
  parser.on('doctype', () => {
    throw new Error('runners declare no document types');
  });
  parser.on('opentag', ({ name, attributes }) => {
    outermost ??= name;
    const result = RESULTS.get(name);
    if (name === 'testsuite') {
      const suite = { count: Number(attributes.tests) || 0, cases: [] };
      suites.push(suite);
      open.push(suite);
    } else if (name === 'testcase') {
      current = caseOf(attributes);
      open.at(-1)?.cases.push(current);
    } else if (result !== undefined && current) {
      words = worsen(current.testCase, result, attributes.message) ? '' : undefined;
    }
  });
  const told = (piece: string) => {
    if (words !== undefined && words.length < MESSAGE_CHARACTERS) words += piece;
  };
  parser.on('text', told);
  parser.on('cdata', told);
  parser.on('closetag', ({ name }) => {
    if (name === 'testsuite') open.pop();
    if (name === 'testcase') current = undefined;
    if (RESULTS.has(name)) {
      if (words && current) current.testCase.message ??= words.slice(0, MESSAGE_CHARACTERS);
      words = undefined;
    }
  });
  parser.write(text).close();
  if (outermost !== 'testsuites' && outermost !== 'testsuite') throw new Error('no suites');
  return suites;
}

/** Whether the result is worse than what the test has, and was taken. */
function worsen(testCase: TestCase, outcome: TestCase['outcome'], message: string | undefined): boolean {
  if (WORST.indexOf(outcome) >= rank(testCase)) return false;
  testCase.outcome = outcome;
  delete testCase.message;
  if (message) testCase.message = message.slice(0, MESSAGE_CHARACTERS);
  return true;
}

/**
 * One entry a test: one whose teardown failed too is told twice by pytest. An interrupted pytest lists the tests that
 * were running as if they had passed, but does not count them: the last passes beyond the suite's count are those.
 */
function distinct(suite: Suite, partial: boolean): Found[] {
  const found = new Map<string, Found>();
  for (const one of suite.cases) {
    const known = found.get(one.testCase.id);
    if (!known || rank(one.testCase) < rank(known.testCase)) found.set(one.testCase.id, one);
  }
  const cases = [...found.values()];
  if (!partial) return cases;
  let surplus = cases.length - suite.count;
  const kept = cases.reverse().filter(({ testCase }) => testCase.outcome !== 'passed' || surplus-- <= 0);
  return kept.reverse();
}

function caseOf({ file, classname, name, line, time }: Partial<Record<string, string>>): Found {
  const testCase: TestCase = { id: idOf(file, classname ?? '', name ?? ''), outcome: 'passed' };
  const seconds = Number(time ?? NaN);
  if (seconds >= 0 && Number.isFinite(seconds)) testCase.durationMs = Math.round(seconds * 1000);
  return { testCase, file, line: /^\d+$/.test(line ?? '') ? Number(line) + 1 : undefined };
}

/** The runner's own id: `tests/test_a.py::TestX::test_y` where the file is told. */
function idOf(file: string | undefined, classname: string, name: string): string {
  if (!file) return classname ? `${classname}::${name}` : name;
  const module = file.replace(/\.py$/, '').replaceAll('/', '.');
  const inner = classname.startsWith(module) ? classname.slice(module.length) : classname;
  return [file, ...inner.split('.').filter(Boolean), name].join('::');
}

/** Adds where the test stands, if that file exists. */
async function locate({ testCase, file, line }: Found, folder: string): Promise<void> {
  if (!file) return;
  const place = path.resolve(folder, file);
  if ((await stat(place).catch(() => undefined))?.isFile()) {
    testCase.uri = pathToFileURL(place).href;
    if (line !== undefined) testCase.line = line;
  }
}

function rank(testCase: TestCase): number {
  return WORST.indexOf(testCase.outcome);
}
