"""Processes and test runs: argument vectors, no shell, every one with a deadline and an end."""

from __future__ import annotations

from typing import ClassVar, Literal, Protocol

import msgspec

from steersman.domain.checks import Selection
from steersman.domain.receipts import TestReceipt
from steersman.ports.cancel import Cancel

Ended = Literal["exited", "signalled", "timeout", "cancelled", "not-found", "failed-to-start", "unknown"]


class ProcessSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What to run. `cwd` is an absolute path, `timeout_seconds` real time, `output_limit` bytes kept.

    `stop_with` is how it is asked to end before KILL; a test runner that is interrupted writes its results.
    `session_id`, `turn`, `call_id` and `title` say who wants it, for a client that shows it to a person.
    """

    argv: list[str]
    cwd: str
    timeout_seconds: float
    output_limit: int = 64 * 1024
    env: dict[str, str] = {}
    stop_with: Literal["terminate", "interrupt"] = "terminate"
    session_id: str | None = None
    turn: int | None = None
    call_id: str | None = None
    title: str | None = None


class ProcessOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What happened. `exit_code` is the process's own (None unless `exited`), `signal` its killer.

    `unknown`: whoever ran it did not tell how it ended, nor whether it began; `problem` says why.

    `output` is stdout and stderr as they came, decoded as UTF-8 with replacement, escapes and redraws
    collapsed, head and tail kept. `omitted_bytes` counts what was left out between them.
    """

    ended: Ended
    exit_code: int | None
    output: str
    duration_ms: int
    signal: int | None = None
    omitted_bytes: int = 0
    problem: str | None = None


class ProcessPort(Protocol):
    async def run(self, spec: ProcessSpec, cancel: Cancel) -> ProcessOutcome:
        """Run to its end, its deadline or `cancel`. Never raises for what the process does.

        When it returns, no process of the run is left: TERM, then KILL after the grace, to the whole tree.
        """
        ...

    async def close(self) -> None:
        """End every process that is left."""
        ...


class TestRun(msgspec.Struct, frozen=True, kw_only=True):
    """A test run. `argv` None means the configured command, else what the folder suggests.

    `session_id`, `turn` (None where none is open), `call_id` and `reason` say who wants it and why, for a
    client that shows it to a person.
    """

    __test__: ClassVar[bool] = False

    run_id: str
    folder: str
    timeout_seconds: float
    argv: list[str] | None = None
    selection: Selection | None = None
    session_id: str | None = None
    turn: int | None = None
    call_id: str | None = None
    reason: Literal["tool", "check", "baseline"] = "tool"


class TestRunner(Protocol):
    async def run_tests(self, run: TestRun, cancel: Cancel) -> TestReceipt:
        """Run tests and return what really happened. Never raises for what the tests do."""
        ...


TestRunner.__test__ = False  # type: ignore[attr-defined]  # no test class; no member of the port either
