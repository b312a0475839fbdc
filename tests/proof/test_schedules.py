"""Random schedules on a virtual clock: what must hold in each of them (loop.md, the last section)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from steersman.domain import events as ev
from steersman.domain.settings import LoopSettings, Settings
from steersman.ports.model_double import calls, says
from steersman.tools.base import Allow, Permit, Refuse
from tests.proof.invariants import broken_by
from tests.proof.layer import check
from tests.proof.layers import LAYERS
from tests.proof.life import SHAPES, Story
from tests.proof.virtual import Deadlock, VirtualLoop
from tests.unit.loop.harness import StandInTool, start

SCHEDULES = LAYERS["schedules"]


@pytest.mark.timeout(240)
@pytest.mark.parametrize("name", SHAPES)
def test_what_must_hold_under_random_schedules(name: str) -> None:
    place, scenarios = list(SHAPES).index(name), len(SHAPES)
    counts = check(SCHEDULES, SCHEDULES.quick // scenarios, first=place, step=scenarios)
    for what, weight in SHAPES[name].person.items():
        assert counts[what] > 8 * weight, f"these schedules hardly ever {what}"


@pytest.mark.full
@pytest.mark.timeout(0)
def test_what_must_hold_under_very_many_random_schedules() -> None:
    check(SCHEDULES, SCHEDULES.full)


@pytest.mark.parametrize("name", SHAPES)
def test_a_schedule_is_the_same_each_time(name: str) -> None:
    def steps() -> list[int]:
        played = Story(f"{name} same", SHAPES[name])
        try:
            played.live(8)
            return [played.steps, played.ledger.requests, *sorted(played.ledger.counts.values())]
        finally:
            played.close()

    assert steps() == steps()


def test_virtual_time_passes_only_when_nothing_is_ready() -> None:
    loop = VirtualLoop(1)
    try:
        before = loop.time()
        loop.run_until_complete(asyncio.sleep(86_400))
        assert loop.time() == pytest.approx(before + 86_400)
        with pytest.raises(Deadlock):
            loop.run_until_complete(loop.create_future())
    finally:
        loop.close()


def test_other_seeds_give_other_orders() -> None:
    def order(seed: int) -> str:
        loop, seen = VirtualLoop(seed), []

        async def one(name: str) -> None:
            await asyncio.sleep(0)
            seen.append(name)

        async def all_of_them() -> None:
            await asyncio.gather(*(one(name) for name in "abcdef"))

        try:
            loop.run_until_complete(all_of_them())
        finally:
            loop.close()
        return "".join(seen)

    assert len({order(seed) for seed in range(20)}) > 10


class Fickle(StandInTool):
    """Allowed until its first body has run."""

    def permit(self, arguments: Any, context: Any) -> Permit:
        return Refuse(code="DENIED", message="not any more") if self.finished else Allow()


async def test_a_permission_that_is_lost_before_the_body_starts_stops_it() -> None:
    tool = Fickle("look", "parallel")
    settings = Settings(loop=LoopSettings(max_parallel_tools=1))
    wanted = calls(("look", {"name": "a"}), ("look", {"name": "b"}))
    loop, _ = await start([wanted, says("ok")], [tool], settings=settings)
    await loop.prompt("go")
    await loop.idle()
    assert tool.started == ["a"]
    assert [r.outcome for r in await loop.data(ev.ToolResult)] == ["ok", "error"]


async def test_the_books_notice_what_a_log_must_not_hold() -> None:
    """The judge is judged: each promise, broken on purpose, is told."""
    loop, _ = await start([calls(("work", {}), ("work", {})), says("ok")], [StandInTool("work")])
    await loop.prompt("one", message_id="m1")
    await loop.idle()
    rows = await loop.rows()
    good = {"m1": ("one", "started")}
    ran = {r.call_id: 1 for r in await loop.data(ev.ToolStart)}
    assert broken_by("s-test", rows, good, ran) == []

    def without(kind: str) -> list[ev.StoredEvent]:
        last = max(n for n, row in enumerate(rows) if row.type == kind)
        kept = [row for n, row in enumerate(rows) if n != last]
        return [ev.StoredEvent(n, row.time, row.type, row.data) for n, row in enumerate(kept, 1)]

    assert broken_by("s-test", rows, good | {"m2": ("two", "queued")}, ran)
    assert broken_by("s-test", rows, {"m1": ("other", "started")}, ran)
    assert broken_by("s-test", rows, good, dict.fromkeys(ran, 2))
    for kind in ("tool/start", "tool/result", "step/end", "turn/end", "user/message", "inbox/queued"):
        assert broken_by("s-test", without(kind), good, ran), kind
    assert broken_by("s-test", rows[:-2], good, ran)
    assert broken_by("s-test", [rows[0], *rows[2:]], good, ran)
