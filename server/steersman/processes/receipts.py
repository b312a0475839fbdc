"""What a test run came to. The exit code wins over counts, and zero tests are never a success. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from steersman.domain.receipts import TestCase, TestCounts, TestReceipt, TestStatus
from steersman.ports.process import ProcessOutcome, TestRun
from steersman.processes.summaries import counts_in

CASES = 200
"""Tests that a receipt lists; the failures come first."""
PYTEST_FAILED, PYTEST_NOTHING = 1, 5
COMMAND_NOT_FOUND = 127
ADVICE = "Install it in the folder's environment, or configure `tests.command`."

_NO_MODULE = re.compile(r": No module named '?([\w.]+)'?\s*\Z")


def refused(run: TestRun, folder: str, problem: str) -> TestReceipt:
    """The receipt of a run that could not be started. `problem` says what to do."""
    return _receipt(run, "error", folder=folder, argv=run.argv or [], output=problem)


def receipt_of(
    run: TestRun,
    outcome: ProcessOutcome,
    *,
    folder: str,
    argv: Sequence[str],
    pytest: bool,
    cases: list[TestCase] | None,
) -> TestReceipt:
    """The receipt of a run that was started.

    `folder` is its URI, `argv` what a person would type to do the same, `cases` what the results file holds
    (None: there is none).
    """
    counts = _counts(cases) if cases is not None else counts_in(outcome.output)
    status, note = _status(outcome, argv, counts, pytest=pytest)
    return _receipt(
        run,
        status,
        folder=folder,
        argv=list(argv),
        output=f"{note}\n{outcome.output}" if note else outcome.output,
        exit_code=outcome.exit_code,
        counts=counts or TestCounts(),
        cases=(cases or [])[:CASES],
        duration_ms=outcome.duration_ms,
    )


def _status(
    outcome: ProcessOutcome, argv: Sequence[str], counts: TestCounts | None, *, pytest: bool
) -> tuple[TestStatus, str | None]:
    match outcome.ended:
        case "timeout":
            return "timeout", "The test run was ended at its time limit; what follows is partial."
        case "cancelled":
            return "cancelled", "The test run was stopped; what follows is partial."
        case "signalled" | "unknown":
            return "error", f"The test runner crashed. {outcome.problem or ''}".rstrip()
        case "not-found":
            return "error", f"Runner missing: the program {argv[0]} was not found. {ADVICE}"
        case "failed-to-start":
            return "error", f"The test run could not start. {outcome.problem or ''}".rstrip()
        case "exited":
            missing = _missing_runner(outcome, argv)
            if missing is not None:
                return "error", missing
            return _exit_status(outcome.exit_code or 0, counts, pytest=pytest)


def _exit_status(code: int, counts: TestCounts | None, *, pytest: bool) -> tuple[TestStatus, str | None]:
    if code == 0:
        if counts is None:
            return "noTests", "The runner exited with 0 but told no counts: nothing shows that a test ran."
        return ("passed", None) if counts.collected else ("noTests", "No test was collected.")
    if pytest and code == PYTEST_NOTHING:
        return "noTests", "No test was collected."
    if pytest and code != PYTEST_FAILED:
        return (
            "error",
            f"pytest could not finish (exit code {code}): an error in collection, options or itself.",
        )
    if not pytest and counts is not None and not counts.collected:
        return "noTests", "No test was collected."
    return "failed", None


def _missing_runner(outcome: ProcessOutcome, argv: Sequence[str]) -> str | None:
    if outcome.exit_code == COMMAND_NOT_FOUND:
        return f"Runner missing: {argv[0]} did not find the program that it should run. {ADVICE}"
    missing = _NO_MODULE.search(outcome.output)
    if outcome.exit_code == 1 and missing and "-m" in argv:
        module = argv[argv.index("-m") + 1 :][:1]
        if module == [missing[1]]:
            return f"Runner missing: {argv[0]} has no module {missing[1]}. {ADVICE}"
    return None


def _counts(cases: Sequence[TestCase]) -> TestCounts:
    by = Counter(case.outcome for case in cases)
    return TestCounts(
        collected=len(cases),
        passed=by["passed"],
        failed=by["failed"],
        errors=by["error"],
        skipped=by["skipped"],
    )


def _receipt(
    run: TestRun,
    status: TestStatus,
    *,
    folder: str,
    argv: list[str],
    output: str,
    exit_code: int | None = None,
    counts: TestCounts | None = None,
    cases: list[TestCase] | None = None,
    duration_ms: int = 0,
) -> TestReceipt:
    return TestReceipt(
        run_id=run.run_id,
        status=status,
        exit_code=exit_code,
        counts=counts or TestCounts(),
        tests=cases or [],
        output=output,
        argv=argv,
        folder=folder,
        duration_ms=duration_ms,
        runner="server",
    )
