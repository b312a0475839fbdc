"""What a step costs beside the model: twenty chunks and one cheap tool call, with a provider on loopback.

The floor does the same with nothing in between (floor_loop.py). Early and late steps tell whether it grows.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from statistics import median

import psutil

from tests.bench.rows import Row
from tests.fixtures.provider import DONE, Provider, Reply, Request, Script, fin, provider, reply, tc, txt, use
from tests.lsp.wire import Wire

WINDOW = 20
"""Steps over which a value is the mean."""
EARLY = 20
LATE = (200, 2000)
"""The last steps of the windows that are compared with the first."""


class Clock:
    """When each request came in, and how much CPU the process under test had used by then."""

    def __init__(self) -> None:
        self.process: psutil.Process | None = None
        self.seen: list[tuple[float, float]] = []

    def take(self) -> None:
        assert self.process is not None
        used = self.process.cpu_times()
        self.seen.append((time.perf_counter(), used.user + used.system))

    def step(self, last: int) -> tuple[float, float]:
        """Milliseconds of a step, from request to request, and of its CPU, over the window up to `last`."""
        (wall, cpu), (wall_end, cpu_end) = self.seen[last - WINDOW], self.seen[last]
        return (wall_end - wall) / WINDOW * 1000, (cpu_end - cpu) / WINDOW * 1000


def measure(rounds: int) -> list[Row]:
    steps = LATE[0] if rounds < 3 else LATE[-1]
    windows = [EARLY, *(late for late in LATE if late <= steps)]
    ours: dict[int, list[tuple[float, float]]] = {last: [] for last in windows}
    floor: dict[int, list[tuple[float, float]]] = {last: [] for last in windows}
    for _ in range(min(rounds, 3)):
        for kept, run in ((ours, _steersman), (floor, _floor)):
            clock = asyncio.run(_run(run, steps + 1))
            for last in windows:
                kept[last].append(clock.step(last))
    rows = []
    for index, what in enumerate(("wall", "CPU")):
        mine = {last: median(value[index] for value in ours[last]) for last in windows}
        its = {last: median(value[index] for value in floor[last]) for last in windows}
        rows += [Row(f"a step, {what}, at step {last}", mine[last], its[last], "ms") for last in windows]
        rows += [
            Row(f"a step, {what}, step {last} beside step {EARLY}", mine[last], mine[EARLY], "ms", 1.2)
            for last in windows[1:]
        ]
    return rows


async def _run(run: object, steps: int) -> Clock:
    clock = Clock()

    def step(number: int) -> Script:
        def answer(request: Request) -> Reply:
            clock.take()
            if number == steps:
                return reply(txt("done"), fin("stop"), use(1, 1), DONE)
            call = tc(0, f"c{number}", "read_file", '{"path": "a.py"}')
            return reply(*(txt("word ") for _ in range(20)), call, fin("tool_calls"), use(1, 1), DONE)

        return answer

    async with provider(*(step(number) for number in range(steps + 1))) as p:
        assert callable(run)
        with tempfile.TemporaryDirectory() as folder:
            async with run(p, Path(folder), clock, steps):
                await p.asked(steps + 1 if run is _steersman else steps, timeout=600)
    return clock


@contextlib.asynccontextmanager
async def _steersman(p: Provider, folder: Path, clock: Clock, steps: int) -> AsyncIterator[None]:
    work = folder / "work"
    work.mkdir()
    (work / "a.py").write_text("x = 1\n", encoding="utf-8")
    process = await asyncio.create_subprocess_exec(
        *[sys.executable, "-m", "steersman", "serve"],
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=1 << 24,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    clock.process = psutil.Process(process.pid)
    wire = Wire(process.stdout, process.stdin)
    ours = {"protocolVersion": 1, "events": {}}
    params = {
        "processId": None,
        "rootUri": work.as_uri(),
        "capabilities": {"experimental": {"steersman": ours}},
        "initializationOptions": {
            "stateDir": str(folder / "state"),
            "model": {"baseUrl": p.base_url, "name": "m"},
            "loop": {"maxStepsPerTurn": steps + 10},
        },
    }
    async with asyncio.timeout(60):
        await wire.answer(wire.ask("initialize", params))
        wire.tell("initialized", {})
        session = (await wire.answer(wire.ask("steersman/session/new", {})))["result"]["sessionId"]
    wire.ask("steersman/turn/prompt", {"sessionId": session, "text": "go"})
    reading = asyncio.create_task(_drain(process.stdout))
    try:
        yield
    finally:
        process.kill()
        await process.wait()
        await reading


@contextlib.asynccontextmanager
async def _floor(p: Provider, folder: Path, clock: Clock, steps: int) -> AsyncIterator[None]:
    process = await asyncio.create_subprocess_exec(
        *[sys.executable, str(Path(__file__).with_name("floor_loop.py"))],
        *[str(p.port), str(steps), str(folder / "log.sqlite")],
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    clock.process = psutil.Process(process.pid)
    reading = asyncio.create_task(_drain(process.stdout))
    try:
        yield
    finally:
        await process.wait()
        await reading


async def _drain(output: asyncio.StreamReader) -> None:
    while await output.read(1 << 20):
        pass
