"""Output of runs that others made, cleaned and bounded like that of the server's own. It runs nothing."""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec

from steersman.domain.receipts import TestReceipt
from steersman.ports.cancel import Cancel
from steersman.ports.process import ProcessOutcome, ProcessPort, ProcessSpec, TestRun, TestRunner
from steersman.processes.output import Output
from steersman.processes.test_runner import OUTPUT_BYTES

_OFF_LOOP: Final = 64 * 1024
"""Characters above which cleaning is done in a thread."""


class CleanedCommands:
    """A ProcessPort whose outcomes keep to `spec.output_limit` and hold no terminal codes."""

    def __init__(self, commands: ProcessPort) -> None:
        self._commands = commands

    async def run(self, spec: ProcessSpec, cancel: Cancel) -> ProcessOutcome:
        outcome = await self._commands.run(spec, cancel)
        output, omitted = await _cleaned(outcome.output, spec.output_limit)
        return msgspec.structs.replace(outcome, output=output, omitted_bytes=outcome.omitted_bytes + omitted)

    async def close(self) -> None:
        await self._commands.close()


class CleanedTests:
    """A TestRunner whose receipts keep as much output as the server's own, and no terminal codes."""

    def __init__(self, tests: TestRunner) -> None:
        self._tests = tests

    async def run_tests(self, run: TestRun, cancel: Cancel) -> TestReceipt:
        receipt = await self._tests.run_tests(run, cancel)
        output, _ = await _cleaned(receipt.output, OUTPUT_BYTES)
        return msgspec.structs.replace(receipt, output=output)


async def _cleaned(text: str, limit: int) -> tuple[str, int]:
    """The text, and how many bytes of it were left out."""
    if len(text) > _OFF_LOOP:
        return await asyncio.to_thread(_clean, text, limit)
    return _clean(text, limit)


def _clean(text: str, limit: int) -> tuple[str, int]:
    output = Output(limit)
    output.feed(text.encode("utf-8", "replace"))
    return output.finish()
