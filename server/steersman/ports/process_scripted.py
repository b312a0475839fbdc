"""Test doubles of the process ports: they start nothing, answer from a list, and keep what was asked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from steersman.domain.receipts import TestCounts, TestReceipt
from steersman.ports.cancel import Cancel
from steersman.ports.process import ProcessOutcome, ProcessSpec, TestRun

SUCCESS = ProcessOutcome(ended="exited", exit_code=0, output="", duration_ms=1)


class ScriptedProcesses:
    """A ProcessPort. Outcomes are given in order; when none is left, every process succeeds silently."""

    def __init__(self, outcomes: Iterable[ProcessOutcome] = ()) -> None:
        self.outcomes = list(outcomes)
        self.specs: list[ProcessSpec] = []
        self.closed = False

    async def run(self, spec: ProcessSpec, cancel: Cancel) -> ProcessOutcome:
        self.specs.append(spec)
        if cancel.is_set():
            return ProcessOutcome(ended="cancelled", exit_code=None, output="", duration_ms=0)
        return self.outcomes.pop(0) if self.outcomes else SUCCESS

    async def close(self) -> None:
        self.closed = True


class ScriptedTests:
    """A TestRunner. Receipts are given in order under the run's own id; with none left, nothing is found."""

    def __init__(self, receipts: Iterable[TestReceipt] = ()) -> None:
        self.receipts = list(receipts)
        self.runs: list[TestRun] = []

    async def run_tests(self, run: TestRun, cancel: Cancel) -> TestReceipt:
        self.runs.append(run)
        if cancel.is_set():
            return _empty(run, "cancelled")
        if not self.receipts:
            return _empty(run, "noTests")
        return msgspec.structs.replace(self.receipts.pop(0), run_id=run.run_id, folder=run.folder)


def passed(*, tests: int = 1) -> TestReceipt:
    """The receipt of a run in which every test passed."""
    counts = TestCounts(collected=tests, passed=tests)
    return TestReceipt(
        run_id="",
        status="passed",
        exit_code=0,
        counts=counts,
        tests=[],
        output="",
        argv=["pytest"],
        folder="",
        duration_ms=1,
        runner="server",
    )


def failed(*, tests: int = 1, output: str = "") -> TestReceipt:
    """The receipt of a run in which one of the tests failed."""
    counts = TestCounts(collected=tests, passed=tests - 1, failed=1)
    return msgspec.structs.replace(passed(), status="failed", exit_code=1, counts=counts, output=output)


def _empty(run: TestRun, status: Literal["cancelled", "noTests"]) -> TestReceipt:
    return TestReceipt(
        run_id=run.run_id,
        status=status,
        exit_code=None,
        counts=TestCounts(),
        tests=[],
        output="",
        argv=run.argv or [],
        folder=run.folder,
        duration_ms=0,
        runner="server",
    )
