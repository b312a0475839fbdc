"""Test receipts: what a test run really did. Zero tests collected is never a success."""

from __future__ import annotations

from typing import ClassVar, Literal

from steersman.domain.value import Value

TestStatus = Literal["passed", "failed", "error", "cancelled", "timeout", "noTests"]
TestOutcome = Literal["passed", "failed", "error", "skipped"]


class TestCounts(Value, frozen=True, omit_defaults=False):
    __test__: ClassVar[bool] = False  # not a test class, whatever its name says

    collected: int = 0
    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0

    def __str__(self) -> str:
        return (
            f"{self.collected} collected, {self.passed} passed, {self.failed} failed, "
            f"{self.errors} errors, {self.skipped} skipped"
        )


class TestCase(Value, frozen=True):
    """One test. `duration_ms` is in milliseconds, `line` counts from 1."""

    __test__: ClassVar[bool] = False

    id: str
    outcome: TestOutcome
    duration_ms: int | None = None
    message: str | None = None
    uri: str | None = None
    line: int | None = None


class TestReceipt(Value, frozen=True):
    """Protocol.md section 4. The exit code wins over parsed counts; failures come first, capped."""

    __test__: ClassVar[bool] = False

    run_id: str
    status: TestStatus
    exit_code: int | None
    counts: TestCounts
    tests: list[TestCase]
    output: str
    argv: list[str]
    folder: str
    duration_ms: int
    runner: Literal["editor", "server"]
    content_hash: str | None = None
