"""Test runs through the editor, as it offers them. What it claims is checked: doubt is never a pass."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from steersman.domain.receipts import TestCase, TestCounts, TestOutcome, TestReceipt, TestStatus
from steersman.domain.value import Value, clean_text, clean_value
from steersman.errors import Aborted
from steersman.lsp.channel import ClientChannel
from steersman.lsp.client_messages import TESTS_RUN, TestsRequest
from steersman.lsp.long_requests import LongRequests, Milliseconds
from steersman.ports.cancel import Cancel
from steersman.ports.process import TestRun

GRACE_SECONDS: Final = 5.0
"""How long after a run's own time limit the editor may take to tell that it ended it."""
CASES: Final = 200
"""Tests that a receipt lists; the failures come first."""
_MESSAGE: Final = 4000
"""Characters of a test's message that are kept."""
_OUTPUT: Final = 256 * 1024
"""Characters of progress output that are kept, from its end."""
_FAILURES: Final = ("failed", "error")


class _Case(Value, frozen=True):
    """A test as an editor tells it: times may be fractions."""

    id: str
    outcome: TestOutcome
    duration_ms: Milliseconds | None = None
    message: str | None = None
    uri: str | None = None
    line: int | None = None


class _Claim(Value, frozen=True):
    """A receipt as an editor tells it. Only what a verdict rests on must be there."""

    status: TestStatus
    counts: TestCounts
    run_id: str | None = None
    exit_code: int | None = None
    tests: list[_Case] = []
    output: str = ""
    argv: list[str] = []
    duration_ms: Milliseconds = 0


class _Partial:
    """What an editor told of a run that has not ended."""

    def __init__(self) -> None:
        self.cases: dict[str, TestCase] = {}
        self.output = ""
        self.begun = time.monotonic()

    def add(self, params: dict[str, Any]) -> None:
        output, test, outcome = (params.get(name) for name in ("output", "test", "outcome"))
        if isinstance(output, str):
            self.output = (self.output + output)[-_OUTPUT:]
        if isinstance(test, str) and outcome in ("passed", "failed", "error", "skipped"):
            self.cases[test] = TestCase(id=clean_text(test), outcome=outcome)

    @property
    def duration_ms(self) -> int:
        return round((time.monotonic() - self.begun) * 1000)


class ClientTestRunner:
    """Implements `ports.process.TestRunner` for a client that advertised `tests`.

    `uri_of` spells a folder as the client does, `command` is the configured test command.
    """

    def __init__(
        self,
        channel: ClientChannel,
        uri_of: Callable[[Path], str],
        command: list[str] | None = None,
        *,
        grace_seconds: float = GRACE_SECONDS,
    ) -> None:
        self._requests = LongRequests(channel, TESTS_RUN)
        self._uri_of = uri_of
        self._command = command
        self._grace = grace_seconds
        self._partial: dict[str, _Partial] = {}

    async def run_tests(self, run: TestRun, cancel: Cancel) -> TestReceipt:
        """Ask the editor, and judge its receipt. Silence, errors and nonsense are never a pass."""
        folder = self._uri_of(Path(run.folder))
        argv = run.argv or self._command
        partial = self._partial[run.run_id] = _Partial()
        try:
            claim = await self._requests.ask(
                _params(run, folder, argv), run.timeout_seconds + self._grace, cancel
            )
        except TimeoutError:
            words = f"The editor told no result within {run.timeout_seconds:g} s; what follows is partial."
            return _unfinished(run, "timeout", folder, argv, words, partial)
        except Aborted:
            words = "The test run was stopped; what follows is partial."
            return _unfinished(run, "cancelled", folder, argv, words, partial)
        except Exception as error:
            words = f"The editor could not run the tests: {error}"
            return _unfinished(run, "error", folder, argv, words, partial)
        finally:
            del self._partial[run.run_id]
        try:
            return _judged(run, folder, argv, msgspec.convert(clean_value(claim), _Claim, strict=True))
        except ValueError as problem:
            words = f"The editor's receipt makes no sense: {problem}"
            return _unfinished(run, "error", folder, argv, words, partial)

    def result(self, params: object) -> None:
        """`steersman/tests/result`: the receipt of a run that the client accepted."""
        self._requests.result(params)

    def progress(self, params: object) -> None:
        """`steersman/tests/progress`: kept for the receipt of a run that is broken off."""
        if isinstance(params, dict) and self._requests.is_open(params.get("runId")):
            self._partial[params["runId"]].add(params)


def _params(run: TestRun, folder: str, argv: list[str] | None) -> dict[str, Any]:
    request = TestsRequest(
        run_id=run.run_id,
        session_id=run.session_id,
        turn=run.turn,
        folder=folder,
        timeout_seconds=run.timeout_seconds,
        reason=run.reason,
        call_id=run.call_id,
        argv=argv or None,
        selection=run.selection,
    )
    params: dict[str, Any] = msgspec.to_builtins(request)
    return params


def _judged(run: TestRun, folder: str, argv: list[str] | None, claim: _Claim) -> TestReceipt:
    """The receipt, with the status that its own numbers allow. Raises ValueError."""
    if claim.run_id not in (None, run.run_id):
        raise ValueError(f"it belongs to run {claim.run_id!r}")
    counts = claim.counts
    if min(msgspec.structs.astuple(counts)) < 0:
        raise ValueError("a count is below zero")
    status, note = _status(claim)
    cases = sorted(claim.tests, key=lambda case: case.outcome not in _FAILURES)[:CASES]
    return TestReceipt(
        run_id=run.run_id,
        status=status,
        exit_code=claim.exit_code,
        counts=counts,
        tests=[_kept(case) for case in cases],
        output=f"{note}\n{claim.output}" if note else claim.output,
        argv=claim.argv or argv or [],
        folder=folder,
        duration_ms=round(claim.duration_ms),
        runner="editor",
    )


def _status(claim: _Claim) -> tuple[TestStatus, str | None]:
    """The exit code wins over what is claimed, and so do failures; zero tests are never a success."""
    if claim.status not in ("passed", "failed"):
        return claim.status, None
    if claim.counts.collected == 0:
        return "noTests", "No test was collected."
    if claim.status == "failed":
        return "failed", None
    if claim.exit_code not in (None, 0):
        return "failed", f"The editor calls this run passed, but its exit code is {claim.exit_code}."
    failures = claim.counts.failed + claim.counts.errors
    if failures or any(case.outcome in _FAILURES for case in claim.tests):
        return "failed", "The editor calls this run passed, but its receipt holds failures."
    return "passed", None


def _kept(case: _Case) -> TestCase:
    message = case.message
    if message is not None and len(message) > _MESSAGE:
        message = f"{message[:_MESSAGE]}\n… {len(message) - _MESSAGE} characters omitted …"
    return TestCase(
        id=case.id,
        outcome=case.outcome,
        duration_ms=None if case.duration_ms is None else round(case.duration_ms),
        message=message,
        uri=case.uri,
        line=case.line,
    )


def _unfinished(
    run: TestRun,
    status: TestStatus,
    folder: str,
    argv: list[str] | None,
    words: str,
    partial: _Partial,
) -> TestReceipt:
    """The receipt of a run without a result: what its progress told, and why there is no more."""
    cases = sorted(partial.cases.values(), key=lambda case: case.outcome not in _FAILURES)
    by = Counter(case.outcome for case in cases)
    counts = TestCounts(
        collected=len(cases),
        passed=by["passed"],
        failed=by["failed"],
        errors=by["error"],
        skipped=by["skipped"],
    )
    output = clean_text(partial.output)
    return TestReceipt(
        run_id=run.run_id,
        status=status,
        exit_code=None,
        counts=counts,
        tests=cases[:CASES],
        output=f"{clean_text(words)}\n{output}" if output else clean_text(words),
        argv=argv or [],
        folder=folder,
        duration_ms=partial.duration_ms,
        runner="editor",
    )
