"""What others ran is shown as what the server ran: no terminal codes, and no more than the limit."""

from __future__ import annotations

import asyncio

import msgspec

from steersman.ports.process import ProcessOutcome, ProcessSpec, TestRun
from steersman.ports.process_scripted import ScriptedProcesses, ScriptedTests, passed
from steersman.processes.cleaned import CleanedCommands, CleanedTests

CODES = "\x1b[31m10%\x1b[0m\r20%\r100%\n"


async def test_terminal_codes_and_redraws_are_collapsed() -> None:
    raw = ProcessOutcome(ended="exited", exit_code=0, output=CODES, duration_ms=1)
    spec = ProcessSpec(argv=["x"], cwd="/", timeout_seconds=1)
    outcome = await CleanedCommands(ScriptedProcesses([raw])).run(spec, asyncio.Event())
    assert (outcome.output, outcome.omitted_bytes, outcome.exit_code) == ("100%\n", 0, 0)
    tests = CleanedTests(ScriptedTests([msgspec.structs.replace(passed(), output=CODES)]))
    receipt = await tests.run_tests(TestRun(run_id="r", folder="/", timeout_seconds=1), asyncio.Event())
    assert (receipt.status, receipt.output) == ("passed", "100%\n")


async def test_a_flood_keeps_its_head_and_its_tail() -> None:
    flood = "first\n" + "line\n" * 100_000 + "last\n"
    raw = ProcessOutcome(ended="exited", exit_code=1, output=flood, duration_ms=1)
    spec = ProcessSpec(argv=["x"], cwd="/", timeout_seconds=1, output_limit=1000)
    outcome = await CleanedCommands(ScriptedProcesses([raw])).run(spec, asyncio.Event())
    assert len(outcome.output.encode()) <= 1000
    assert outcome.output.startswith("first\n")
    assert outcome.output.endswith("last\n")
    assert outcome.omitted_bytes > 490_000


async def test_closing_reaches_what_is_wrapped() -> None:
    inner = ScriptedProcesses()
    await CleanedCommands(inner).close()
    assert inner.closed
