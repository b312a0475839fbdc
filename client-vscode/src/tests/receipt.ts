// What a test run came to. The exit code wins over counts, and zero tests are never a success. Pure.
// The judgement is that of the server's own runner.
import * as path from 'node:path';
import type { Outcome } from '../common/childProcess';
import type { TestCase, TestCounts, TestReceipt, TestsRequest } from '../lsp/protocol';
import { countsIn, noCounts } from './summaries';
import { isPytest } from './testCommand';

/** Tests that a receipt lists; the failures come first. */
const CASES = 200;
const PYTEST_FAILED = 1;
const PYTEST_NOTHING = 5;
const COMMAND_NOT_FOUND = 127;
const ADVICE = "Install it in the folder's environment, or set `steersman.tests.command`.";

type Judgement = [status: TestReceipt['status'], note?: string];

/** The receipt of a run that could not be started. `problem` says what to do. */
export function refused(request: TestsRequest, problem: string): TestReceipt {
  return {
    runId: request.runId,
    status: 'error',
    exitCode: null,
    counts: noCounts(),
    tests: [],
    output: problem,
    argv: request.argv ?? [],
    folder: request.folder,
    durationMs: 0,
    runner: 'editor',
  };
}

/** `argv` is what a person would type to do the same; `cases` what the results file holds, if there is one. */
export function receiptOf(
  request: TestsRequest,
  outcome: Outcome,
  argv: readonly string[],
  cases: readonly TestCase[] | undefined,
): TestReceipt {
  const counts = cases ? countsOf(cases) : countsIn(outcome.output);
  const [status, note] = judge(outcome, argv, counts);
  return {
    runId: request.runId,
    status,
    exitCode: outcome.exitCode,
    counts: counts ?? noCounts(),
    tests: (cases ?? []).slice(0, CASES),
    output: note === undefined ? outcome.output : `${note}\n${outcome.output}`,
    argv: [...argv],
    folder: request.folder,
    durationMs: outcome.durationMs,
    runner: 'editor',
  };
}

function judge(outcome: Outcome, argv: readonly string[], counts: TestCounts | undefined): Judgement {
  switch (outcome.ended) {
    case 'timeout':
      return ['timeout', 'The test run was ended at its time limit; what follows is partial.'];
    case 'cancelled':
      return ['cancelled', 'The test run was stopped; what follows is partial.'];
    case 'signalled':
      return ['error', `The test runner crashed. ${outcome.problem ?? ''}`.trimEnd()];
    case 'not-found':
      return ['error', `Runner missing. ${outcome.problem ?? ''} ${ADVICE}`];
    case 'failed-to-start':
      return ['error', `The test run could not start. ${outcome.problem ?? ''}`.trimEnd()];
    case 'exited': {
      const missing = missingRunner(outcome, argv);
      return missing === undefined ? byExitCode(outcome.exitCode ?? 0, counts, isPytest(argv)) : ['error', missing];
    }
  }
}

function byExitCode(code: number, counts: TestCounts | undefined, pytest: boolean): Judgement {
  if (code === 0) {
    if (!counts) return ['noTests', 'The runner exited with 0 but told no counts: nothing shows that a test ran.'];
    return counts.collected > 0 ? ['passed'] : ['noTests', 'No test was collected.'];
  }
  if (pytest && code === PYTEST_NOTHING) return ['noTests', 'No test was collected.'];
  if (pytest && code !== PYTEST_FAILED) {
    return ['error', `pytest could not finish (exit code ${code}): an error in collection, options or itself.`];
  }
  if (!pytest && counts?.collected === 0) return ['noTests', 'No test was collected.'];
  return ['failed'];
}

function missingRunner(outcome: Outcome, argv: readonly string[]): string | undefined {
  const program = path.basename(argv[0] ?? '');
  if (outcome.exitCode === COMMAND_NOT_FOUND) {
    return `Runner missing: ${program} did not find the program that it should run. ${ADVICE}`;
  }
  const missing = /: No module named '?([\w.]+)'?\s*$/.exec(outcome.output)?.[1];
  if (
    outcome.exitCode === 1 &&
    missing !== undefined &&
    argv.includes('-m') &&
    argv[argv.indexOf('-m') + 1] === missing
  ) {
    return `Runner missing: ${program} has no module ${missing}. ${ADVICE}`;
  }
  return undefined;
}

function countsOf(cases: readonly TestCase[]): TestCounts {
  const counts = { ...noCounts(), collected: cases.length };
  for (const { outcome } of cases) counts[outcome === 'error' ? 'errors' : outcome] += 1;
  return counts;
}
