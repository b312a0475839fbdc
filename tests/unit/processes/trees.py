"""Process trees for the tests: marked, so that what is left of them can be found."""

from __future__ import annotations

import asyncio
import sys
import time
import uuid
from collections.abc import Callable

import psutil

from steersman.ports.process import ProcessOutcome, ProcessSpec
from steersman.processes.runner import GuardedProcesses

PYTHON = sys.executable

STUBBORN_TREE = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen(["sleep", "600"], start_new_session=True)
subprocess.Popen(["sh", "-c", "sleep 600 & sleep 600"])
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(600)
    os._exit(0)
os.wait()
print("ready", flush=True)
time.sleep(600)
"""
"""Ignores TERM; has a child in a session of its own, a shell with children, and a daemon (double fork)."""


class Marked:
    """Runs with a mark in the environment, which every descendant inherits and `/proc` shows."""

    def __init__(self, processes: GuardedProcesses | None = None) -> None:
        self.mark = uuid.uuid4().hex
        self.processes = processes or GuardedProcesses()
        self.cancel = asyncio.Event()

    async def run(
        self, *argv: str, cwd: str = "/", timeout: float = 30, limit: int = 65536
    ) -> ProcessOutcome:
        spec = ProcessSpec(
            argv=list(argv),
            cwd=cwd,
            timeout_seconds=timeout,
            output_limit=limit,
            env={"STEERSMAN_TEST_MARK": self.mark},
        )
        return await self.processes.run(spec, self.cancel)

    def left(self) -> list[str]:
        return left(self.mark)


def left(mark: str) -> list[str]:
    """The command lines of living processes that carry the mark."""
    found = []
    for process in psutil.process_iter():
        try:
            marked = process.environ().get("STEERSMAN_TEST_MARK") == mark
            if marked and process.status() != psutil.STATUS_ZOMBIE:
                found.append(" ".join(process.cmdline()))
        except psutil.Error:
            continue
    return found


async def until(condition: Callable[[], bool], seconds: float = 10) -> float:
    """Poll until the condition holds. Returns the seconds that took; fails at the deadline."""
    begun = time.monotonic()
    while not condition():
        assert time.monotonic() - begun < seconds, "the condition did not come true in time"
        await asyncio.sleep(0.01)
    return time.monotonic() - begun
