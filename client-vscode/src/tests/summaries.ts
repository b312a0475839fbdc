// Counts from the last words of test runners that write no results file. Pure; a guess is never made.
import type { TestCounts } from '../lsp/protocol';

type Member = Exclude<keyof TestCounts, 'collected'>;
/** A number, and the runner's word for what it counts. */
type Told = [number, string];

const WORDS: Record<string, Member> = {
  passed: 'passed',
  pass: 'passed',
  passing: 'passed',
  xpassed: 'passed',
  failed: 'failed',
  fail: 'failed',
  failing: 'failed',
  failures: 'failed',
  error: 'errors',
  errors: 'errors',
  skipped: 'skipped',
  skip: 'skipped',
  xfailed: 'skipped',
  pending: 'skipped',
  todo: 'skipped',
  ignored: 'skipped',
};
const NUMBER_WORD = /(\d+) ([a-z]+)/g;

/** The counts that the output tells, or undefined if it tells none. */
export function countsIn(output: string): TestCounts | undefined {
  const text = output.replace(/\r\n?/g, '\n');
  for (const read of READERS) {
    const counts = read(text);
    if (counts) return counts;
  }
  return undefined;
}

export function noCounts(): TestCounts {
  return { collected: 0, passed: 0, failed: 0, errors: 0, skipped: 0 };
}

const READERS: ((output: string) => TestCounts | undefined)[] = [
  linesOf(/^=* ?((?:\d+ [a-z]+, )*\d+ [a-z]+) in \d[\d.:]*s\b.*$/gm, 'last'), // pytest
  unittest,
  linesOf(/^\s*Tests:?\s+(\d+ .*)$/gm, 'all'), // jest, vitest
  linesOf(/^\s*(\d+ (?:passing|failing|pending))\b/gm, 'all'), // mocha
  pairsOf(/^(?:#|ℹ) (pass|fail|skipped|todo) (\d+)$/gm), // node --test
  linesOf(/^test result: \w+\. (.*)$/gm, 'all'), // cargo
  goTest,
];

function unittest(output: string): TestCounts | undefined {
  const runs = [...output.matchAll(/^Ran (\d+) tests? in .*\n\s*(?:OK|FAILED)?(.*)/gm)];
  if (runs.length === 0) return undefined;
  const told = counted(
    runs.flatMap(([, , rest = '']) =>
      [...rest.matchAll(/(\w+)=(\d+)/g)].map(([, word = '', n]): Told => [Number(n), word]),
    ),
  );
  const collected = runs.reduce((sum, [, number]) => sum + Number(number), 0);
  const { failed, errors, skipped } = told;
  return { collected, passed: Math.max(0, collected - failed - errors - skipped), failed, errors, skipped };
}

function goTest(output: string): TestCounts | undefined {
  const found = [...output.matchAll(/^\s*--- (PASS|FAIL|SKIP): /gm)];
  return found.length > 0 ? counted(found.map(([, word = '']) => [1, word.toLowerCase()])) : undefined;
}

function linesOf(pattern: RegExp, which: 'last' | 'all'): (output: string) => TestCounts | undefined {
  return (output) => {
    const lines = [...output.matchAll(pattern)].map(([, line = '']) => line);
    if (lines.length === 0) return undefined;
    const chosen = which === 'last' ? lines.slice(-1) : lines;
    return counted(
      chosen.flatMap((line) => [...line.matchAll(NUMBER_WORD)].map(([, n, word = '']): Told => [Number(n), word])),
    );
  };
}

function pairsOf(pattern: RegExp): (output: string) => TestCounts | undefined {
  return (output) => {
    const found = [...output.matchAll(pattern)];
    return found.length > 0 ? counted(found.map(([, word = '', n]) => [Number(n), word])) : undefined;
  };
}

function counted(found: Told[]): TestCounts {
  const counts = noCounts();
  for (const [number, word] of found) {
    const member = WORDS[word];
    if (!member) continue;
    counts[member] += number;
    counts.collected += number;
  }
  return counts;
}
