"""A goal over all of its 256 rounds on a real log: exactly so many, and the last costs what the first did."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path

import pytest

from steersman.domain import events as ev
from steersman.domain.messages import Delta
from steersman.goals.decisions import Wishes
from steersman.ports.feed import RecordingFeed
from steersman.ports.model import Finish, ModelRequest
from steersman.ports.model_double import ScriptedReplies, calls, says
from steersman.sessions.open_session import OpenSession
from steersman.store.folder import FolderStore
from tests.unit.goals.world import SESSION, World
from tests.unit.loop.harness import until

LIMIT = 256
RAISED = 300


class Worker(ScriptedReplies):
    """Each round it does something new and says so. It keeps no request."""

    asked = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | Finish]:
        self.asked += 1
        name = {"name": f"{self.asked:05}"}
        for piece in calls(("work", name)) if self.asked % 2 else says("It goes on."):
            yield piece  # type: ignore[misc]


class Silent(RecordingFeed):
    """A feed that keeps nothing."""

    def appended(self, session_id: str, events: object) -> None:  # type: ignore[override]
        return None

    def changed(self, info: object) -> None:  # type: ignore[override]
        return None


@pytest.mark.timeout(240)
async def test_256_rounds_then_the_goal_is_blocked_and_raised_to_300_it_goes_on_at_257(
    tmp_path: Path,
) -> None:
    world, store, model = World(), FolderStore(tmp_path), Worker([])
    world.model = model  # type: ignore[assignment]
    created = ev.SessionCreated(format_version=1, workspace_folder=None, title="")
    log = await store.create(SESSION, None)
    session = await OpenSession.create(log, created, None, world._services(), Silent(), store)
    memory: list[tuple[int, int]] = []

    def rounds() -> int:
        goal = session.state.goal
        return goal.rounds_started if goal is not None else 0

    async def measure_at(number: int) -> None:
        await until(lambda: rounds() >= number, 120)
        gc.collect()
        memory.append((rounds(), tracemalloc.get_traced_memory()[0]))

    tasks = len(asyncio.all_tasks())
    tracemalloc.start()
    try:
        await session.goals.create(Wishes(objective="A long way."), "human")
        for number in (64, 128, 192, 256):
            await measure_at(number)
    finally:
        tracemalloc.stop()
    await until(lambda: session.state.goal is not None and session.state.goal.phase == "blocked", 120)
    goal = session.state.goal
    assert goal is not None
    assert goal.blocked_reason is not None
    assert (goal.rounds_started, goal.blocked_reason.code) == (LIMIT, "round-limit")
    assert model.asked == 2 * LIMIT
    await session.journal.drain()
    assert len(asyncio.all_tasks()) <= tasks + 2

    await session.goals.edit(None, Wishes(max_rounds=RAISED), "human")
    await session.goals.resume(None, "human")
    await until(lambda: session.state.goal is not None and session.state.goal.phase == "blocked", 120)
    rows = await session.journal.log.read(0, 1_000_000)
    events = [ev.from_stored(SESSION, row) for row in rows]
    await session.close()

    admitted = [e for e in events if isinstance(e.data, ev.GoalRound) and e.data.status == "admitted"]
    assert [e.data.round for e in admitted] == list(range(1, RAISED + 1))  # type: ignore[union-attr]
    assert model.asked == 2 * RAISED

    size = {e.seq: len(row.data) for e, row in zip(events, rows, strict=True)}
    starts = [e.seq for e in admitted]
    cost = [sum(size[seq] for seq in range(a, b)) for a, b in pairwise(starts)]
    assert max(cost[200:250]) <= 1.02 * max(cost[10:60]), "a round's part of the log grows"
    first, last = slope(memory[:2]), slope(memory[2:])
    assert last <= max(1.5 * first, 16_000), f"memory a round grows: {memory}"


def slope(points: list[tuple[int, int]]) -> float:
    """Bytes a round between two measurements."""
    (a, before), (b, after) = points
    return (after - before) / (b - a)
