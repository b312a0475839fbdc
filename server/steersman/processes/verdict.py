"""What a guardian reported, and what a run came to. A stop is never told as the process's own end."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
from typing import Literal

import msgspec

from steersman.ports.process import Ended, ProcessOutcome, ProcessSpec

REPORT_BYTES = 64 * 1024

Cause = Literal["timeout", "cancelled"]
"""Why the server ended a tree."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """A guardian's report (its words are explained in `guardian.py`). `failed` is the stage and the errno."""

    failed: tuple[str, int] | None = None
    stopped: bool = False
    exit_code: int | None = None
    signal: int | None = None
    left: int = 0
    whole: bool = False


async def read_report(stream: asyncio.StreamReader) -> Report:
    """Read to the end of the stream. What a dying guardian wrote besides its report is passed over."""
    received = bytearray()
    while data := await stream.read(REPORT_BYTES):
        received += data[: REPORT_BYTES - len(received)]
    return parse_report(received.decode("ascii", "replace"))


def parse_report(text: str) -> Report:
    report = Report()
    for line in text.splitlines():
        match line.split():
            case ["failed", stage, number] if number.isdecimal():
                report = msgspec.structs.replace(report, failed=(stage, int(number)))
            case ["stopped"]:
                report = msgspec.structs.replace(report, stopped=True)
            case ["exited", code] if code.isdecimal():
                report = msgspec.structs.replace(report, exit_code=int(code))
            case ["signalled", number] if number.isdecimal():
                report = msgspec.structs.replace(report, signal=int(number))
            case ["left", count] if count.isdecimal():
                report = msgspec.structs.replace(report, left=int(count))
            case ["gone"]:
                report = msgspec.structs.replace(report, whole=True)
    return report


def outcome_of(
    spec: ProcessSpec,
    report: Report,
    cause: Cause | None,
    output: str,
    *,
    omitted_bytes: int,
    duration_ms: int,
) -> ProcessOutcome:
    ended, problem = _ended(spec, report, cause)
    return ProcessOutcome(
        ended=ended,
        exit_code=report.exit_code if ended == "exited" else None,
        output=output,
        duration_ms=duration_ms,
        signal=report.signal if ended == "signalled" else None,
        omitted_bytes=omitted_bytes,
        problem=problem,
    )


def _ended(spec: ProcessSpec, report: Report, cause: Cause | None) -> tuple[Ended, str | None]:
    if report.failed is not None:
        return _failed_start(spec, *report.failed)
    left = f"{report.left} of its processes could not be ended." if report.left else None
    if cause is not None and (report.stopped or not report.whole):
        lost = None if report.whole else "Its guardian did not answer; processes of it may be left."
        return cause, left or lost
    if not report.whole or report.stopped:
        return "signalled", "Its guardian was ended from outside, and the process with it."
    if report.signal is not None:
        return "signalled", left or f"Ended by {_signal_name(report.signal)}."
    return "exited", left


def _failed_start(spec: ProcessSpec, stage: str, number: int) -> tuple[Ended, str]:
    reason = os.strerror(number)
    if stage == "chdir":
        return "failed-to-start", f"The folder {spec.cwd} cannot be entered: {reason}."
    if stage == "exec" and number in (errno.ENOENT, errno.ENOTDIR):
        return "not-found", f"The program {spec.argv[0]} was not found."
    return "failed-to-start", f"The program {spec.argv[0][:200]} could not be started: {reason}."


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
