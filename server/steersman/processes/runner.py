"""Runs processes under guardians: each has a deadline and an end, and nothing of it is left afterwards.

It never raises for what a process does, and never lets output grow in memory.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from steersman.ports.cancel import Cancel
from steersman.ports.process import ProcessOutcome, ProcessSpec
from steersman.processes.environment import child_environment
from steersman.processes.output import Output
from steersman.processes.request import never_ran, problem_of, request_bytes
from steersman.processes.verdict import Cause, Report, outcome_of, read_report

T = TypeVar("T")
GUARDIAN = Path(__file__).with_name("guardian.py")
READ_BYTES = 64 * 1024
GUARDIAN_SECONDS = 4.0
"""How much longer than the grace a guardian may take to end a tree; then it is ended itself."""
DRAIN_SECONDS = 0.5
"""How long output is read after the tree is gone. Only a process that nobody could end keeps it open."""


class GuardedProcesses:
    """The ProcessPort over real processes. `own` is the server's environment, cleaned for each child."""

    def __init__(self, grace_seconds: float = 1.5, own: Mapping[str, str] | None = None) -> None:
        self._grace = grace_seconds
        self._own = os.environ if own is None else own
        self._jobs: dict[asyncio.Task[ProcessOutcome], _Job] = {}

    async def run(self, spec: ProcessSpec, cancel: Cancel) -> ProcessOutcome:
        problem = problem_of(spec)
        if problem is not None:
            return never_ran("failed-to-start", problem)
        if cancel.is_set():
            return never_ran("cancelled", "Stopped before it started.")
        job = _Job(spec, self._grace, child_environment(self._own, Path(spec.cwd), spec.env))
        task = asyncio.create_task(job.run(cancel))
        self._jobs[task] = job
        task.add_done_callback(self._jobs.pop)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            job.abandon()
            await asyncio.wait({task})
            raise

    async def close(self) -> None:
        for job in self._jobs.values():
            job.abandon()
        if self._jobs:
            await asyncio.wait(set(self._jobs))


class _Job:
    """One process under its guardian, from start to end."""

    def __init__(self, spec: ProcessSpec, grace: float, env: dict[str, str]) -> None:
        self._spec = spec
        self._grace = grace
        self._env = env
        self._output = Output(spec.output_limit)
        self._abandoned = asyncio.Event()

    def abandon(self) -> None:
        """End it soon, with the short grace: nobody waits for its result."""
        self._abandoned.set()

    async def run(self, cancel: Cancel) -> ProcessOutcome:
        begun = time.monotonic()
        try:
            guardian = await _start_guardian()
        except OSError as problem:
            return never_ran("failed-to-start", f"The guardian could not start: {problem.strerror}")
        cause, report = await self._attend(guardian, cancel, begun)
        text, omitted = self._output.finish()
        duration = round((time.monotonic() - begun) * 1000)
        return outcome_of(self._spec, report, cause, text, omitted_bytes=omitted, duration_ms=duration)

    async def _attend(self, guardian: Process, cancel: Cancel, begun: float) -> tuple[Cause | None, Report]:
        lifeline = _there(guardian.stdin)
        lifeline.write(request_bytes(self._spec, self._grace, self._env))
        reading = asyncio.create_task(self._read(_there(guardian.stdout)))
        reporting = asyncio.create_task(read_report(_there(guardian.stderr)))
        try:
            cause = await self._watch(reporting, cancel, begun)
            if cause is not None:
                _order_end(guardian, at_once=self._abandoned.is_set())
                await self._wait_for_end(guardian, reporting)
            report = await reporting
            await asyncio.wait({reading}, timeout=DRAIN_SECONDS)
        finally:
            reading.cancel()
            reporting.cancel()
            lifeline.close()
            await guardian.wait()
            await asyncio.gather(reading, reporting, return_exceptions=True)
        return cause, report

    async def _watch(self, reporting: asyncio.Task[Report], cancel: Cancel, begun: float) -> Cause | None:
        """Until the guardian is done, or there is a cause to end the tree."""
        stops = [asyncio.create_task(cancel.wait()), asyncio.create_task(self._abandoned.wait())]
        left = begun + self._spec.timeout_seconds - time.monotonic()
        try:
            done, _ = await asyncio.wait(
                {reporting, *stops}, timeout=max(0.0, left), return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            for stop in stops:
                stop.cancel()
        if reporting in done:
            return None
        return "cancelled" if done else "timeout"

    async def _wait_for_end(self, guardian: Process, reporting: asyncio.Task[Report]) -> None:
        abandoned = asyncio.create_task(self._abandoned.wait())
        limit = time.monotonic() + self._grace + GUARDIAN_SECONDS
        await asyncio.wait(
            {reporting, abandoned},
            timeout=self._grace + GUARDIAN_SECONDS,
            return_when=asyncio.FIRST_COMPLETED,
        )
        abandoned.cancel()
        if not reporting.done():
            _order_end(guardian, at_once=True)
            await asyncio.wait({reporting}, timeout=max(0.0, limit - time.monotonic()))
        if not reporting.done():
            with suppress(ProcessLookupError):
                guardian.kill()

    async def _read(self, stream: asyncio.StreamReader) -> None:
        while data := await stream.read(READ_BYTES):
            self._output.feed(data)


async def _start_guardian() -> Process:
    """Raises OSError. It gets nothing of the server's environment but where its libraries are."""
    needed = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        "-S",
        str(GUARDIAN),
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        cwd="/",
        start_new_session=True,
        env={name: os.environ[name] for name in needed if name in os.environ},
    )


def _order_end(guardian: Process, *, at_once: bool) -> None:
    lifeline = _there(guardian.stdin)
    if at_once:
        lifeline.close()
    else:
        lifeline.write(b"T")


def _there(pipe: T | None) -> T:
    """The pipe, which is there because it was asked for."""
    if pipe is None:
        raise RuntimeError("The guardian was started without a pipe.")
    return pipe
