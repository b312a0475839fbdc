"""What the engine itself costs as a session grows: the fold, the request, the memory. No socket, no disk.

Only joining the encoded parts of a request may grow; everything else costs at step 2,000 what it costs at 20.
"""

from __future__ import annotations

import asyncio
import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

from steersman.context.request import RequestBuilder
from steersman.domain import events as ev
from steersman.domain.fold import empty, fold
from steersman.domain.messages import Human, ToolCall
from steersman.domain.settings import Settings
from steersman.domain.state import SessionState
from steersman.domain.usage import Usage
from steersman.loop.agent import Agent
from steersman.loop.inbox import Words
from steersman.loop.journal import Journal
from steersman.ports.clock import SystemClock
from steersman.ports.model import Finish
from steersman.ports.model_double import text
from tests.bench.rows import Row
from tests.unit.loop.harness import start

EARLY, LATE = 20, 2000
TURNS = 1000
ENOUGH_KB = 1.0
"""For a message's id, which is answered alike for ever, and a person's words, which are never dropped."""
RESULT = "x" * 600


def measure(rounds: int) -> list[Row]:
    session = Grown()
    at: dict[int, dict[str, float]] = {}
    for step in (EARLY, LATE):
        session.grow(step)
        at[step] = {name: session.cost(name, rounds) for name in ("fold", "tokens", "build", "join")}
    early, late = at[EARLY], at[LATE]
    kept = asyncio.run(_memory())
    return [
        Row(f"a step folded, step {LATE} beside step {EARLY}", late["fold"], early["fold"], "µs", 1.3),
        Row(
            f"its tokens counted, step {LATE} beside step {EARLY}", late["tokens"], early["tokens"], "µs", 1.3
        ),
        Row(
            f"its request built, at step {LATE}, beside joining its parts",
            late["build"],
            late["join"],
            "µs",
            1.3,
        ),
        Row(f"memory that a turn leaves behind, turns {TURNS // 2} to {TURNS}", kept, ENOUGH_KB, "KB", 1.0),
    ]


class Grown:
    """A turn with ever more steps, folded; each has one call with a small result."""

    def __init__(self) -> None:
        self.state = empty("s-bench")
        self.builder = RequestBuilder()
        self.step = 0
        header = ev.RequestHeader(turn=1, step=1, model="m", params={}, system="s" * 2000, tools=[])
        self.add(
            ev.SessionCreated(format_version=1, workspace_folder=None, title=""),
            ev.SessionOpened(reason="new", server="bench"),
            ev.InboxQueued(
                message_id="m",
                queue="next-turn",
                source=Human(),
                text="go",
                method="turn/prompt",
                outcome="started",
            ),
            ev.TurnStart(turn=1, trigger="human"),
            ev.InboxClaimed(message_ids=["m"], turn=1, step=1),
            ev.StepStart(turn=1, step=1),
            ev.UserMessage(turn=1, step=1, message_id="m", source=Human(), text="go"),
            header,
        )

    def add(self, *data: ev.EventData) -> None:
        self.state = after(self.state, data)

    def grow(self, steps: int) -> None:
        while self.step < steps:
            self.step += 1
            self.add(*step_events(self.step))
            self.builder.build(self.state)

    def cost(self, name: str, rounds: int) -> float:
        """Microseconds, the best of many, the median of the rounds."""
        state, builder = self.state, self.builder
        parts = [*builder._parts]
        work: dict[str, Callable[[], Any]] = {
            "fold": lambda: after(state, step_events(self.step + 1)),
            "tokens": lambda: builder.tokens(state),
            "build": lambda: builder.build(state),
            "join": lambda: b"".join((builder._head, *parts, builder._tail)),
        }
        return median(_best(work[name]) for _ in range(rounds))


def step_events(step: int) -> list[ev.EventData]:
    """The events from a reply that calls a tool to the start of the next step."""
    call = ToolCall(call_id=f"c{step}", name="look", arguments='{"path": "a.py"}')
    usage = Usage(requests=1, input_tokens=100 + step, output_tokens=5)
    return [
        ev.AssistantMessage(
            turn=1, step=step, text="Let me look.", tool_calls=[call], finish_reason="tool_calls", usage=usage
        ),
        ev.ToolCalled(
            turn=1, step=step, call_id=call.call_id, name=call.name, arguments=call.arguments, mode="parallel"
        ),
        ev.ToolStart(turn=1, step=step, call_id=call.call_id),
        ev.ToolResult(turn=1, step=step, call_id=call.call_id, outcome="ok", content=RESULT),
        ev.StepEnd(turn=1, step=step, usage=usage),
        ev.StepStart(turn=1, step=step + 1),
    ]


def after(state: SessionState, data: Sequence[ev.EventData]) -> SessionState:
    for item in data:
        state = fold(state, ev.make_event(state.session_id, state.last_seq + 1, 1000, item))
    return state


def _best(work: Callable[[], Any]) -> float:
    best = float("inf")
    for _ in range(200):
        begun = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begun)
    return best * 1e6


class Forgetful:
    """A log that keeps nothing: what is measured is the session's own memory."""

    session_id = "s-bench"

    async def append(self, rows: Sequence[ev.StoredEvent], blobs: Mapping[str, bytes] | None = None) -> None:
        return None


async def _memory() -> float:
    """KB by which each turn of the second half makes a session larger, in a window that is compacted."""
    loop, model = await start([], settings=Settings())
    model.window = 8000
    journal = Journal(Forgetful(), empty("s-bench"), SystemClock())  # type: ignore[arg-type]
    await journal.append(
        ev.SessionCreated(format_version=1, workspace_folder=None, title=""),
        ev.SessionOpened(reason="new", server="bench"),
    )
    agent = Agent(journal, loop.services)
    tracemalloc.start()
    held = []
    for turn in range(TURNS):
        model.requests.clear()
        model.bodies.clear()
        model.replies = [[text("answer " + "a" * 400), Finish(finish_reason="stop", usage=None)]]
        model.summaries = [[text("a summary"), Finish(finish_reason="stop", usage=None)]]
        await agent.prompt(Words(message_id=f"m{turn}", text=f"a question {turn}"))
        await journal.until(lambda state: state.turn is None)
        await agent.settle(5)
        if turn + 1 in (TURNS // 2, TURNS):
            held.append(tracemalloc.get_traced_memory()[0] / 1024)
    tracemalloc.stop()
    return (held[1] - held[0]) / (TURNS // 2)
