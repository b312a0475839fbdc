"""Thousands of orders in which people and the driver cross each other: the person's act wins in all."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from steersman.domain import events as ev
from steersman.domain.messages import Delta
from steersman.errors import RequestRefused
from steersman.goals.decisions import Wishes
from steersman.ports.model import Finish, ModelRequest
from steersman.ports.model_double import ScriptedReplies, calls, says
from tests.unit.goals.harness import Wheel, wheel
from tests.unit.goals.machine import look_at
from tests.unit.loop.harness import StandInTool


class Endless(ScriptedReplies):
    """A model that never ends: it says something, or calls what it never called before."""

    def __init__(self, dice: random.Random) -> None:
        super().__init__([])
        self._dice = dice

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | Finish]:
        number = len(self.requests)
        works = self._dice.random() < 0.4
        self.replies = [calls(("work", {"name": str(number)})) if works else says(f"so far {number}")]
        async for piece in super().stream(request):
            yield piece
            for _ in range(self._dice.randrange(4)):
                await asyncio.sleep(0)


async def interleave(seed: int) -> Wheel:
    """One order. What people did is in the log, and so is what came of it."""
    dice = random.Random(seed)
    w = await wheel([], (StandInTool("work"),), no_progress_rounds=1_000, max_rounds=10_000)
    w.loop.services.models = Endless(dice)

    async def slow() -> None:
        for _ in range(dice.randrange(4)):
            await asyncio.sleep(0)

    w.loop.journal.log._pause = slow  # type: ignore[attr-defined]
    await w.create("start")
    acting: list[asyncio.Task[None]] = []
    for number in range(dice.randint(2, 8)):
        for _ in range(dice.randrange(50)):
            await asyncio.sleep(0)
        acting.append(asyncio.create_task(act(w, dice, number)))
        if dice.random() < 0.7:  # else the next act does not wait for this one's answer
            await acting[-1]
    await asyncio.gather(*acting)
    return w


async def act(w: Wheel, dice: random.Random, number: int) -> None:
    """Something that a person does; what is refused was no longer possible, and changes nothing."""
    with suppress(RequestRefused):
        match dice.randrange(9):
            case 0 | 1:
                await w.loop.prompt(f"p{number}", message_id=f"p{number}")
            case 2 | 3:
                await w.loop.steer(f"s{number}", message_id=f"s{number}")
            case 4:
                await w.goals.edit(None, Wishes(objective=f"objective {number}"), "human")
            case 5:
                await w.goals.pause(None, "human")
                await still(w)
            case 6:
                await w.goals.clear(None, "human")
                await still(w)
                await w.goals.create(Wishes(objective=f"after {number}"), "human")
            case 7:
                if w.goals.between_rounds:
                    w.goals.stop_between_rounds()
                else:
                    await w.loop.stop()
            case _:
                await w.goals.resume(None, "human")


async def still(w: Wheel) -> None:
    """From the answer on, no round is admitted any more (until a person says otherwise)."""
    goal = w.loop.state.goal
    if goal is None or goal.phase != "active":
        admitted = len(await w.admitted())
        for _ in range(20):
            await asyncio.sleep(0)
        now = w.loop.state.goal
        if now is None or (goal is not None and now.ref == goal.ref):
            assert len(await w.admitted()) == admitted, "a round started after the person's word"


async def ends_well(w: Wheel) -> None:
    """The last word is the person's too; then the whole log is looked at."""
    with suppress(RequestRefused):
        await w.goals.pause(None, "human")
    asked = None
    await w.at_rest()
    for _ in range(30):
        await asyncio.sleep(0)
        asked = asked or len(w.loop.services.models.requests)  # type: ignore[attr-defined]
    assert len(w.loop.services.models.requests) == asked, "a request after the pause"  # type: ignore[attr-defined]
    log = await w.loop.log()
    look_at(log)
    said = [
        e.data.message_id for e in log if isinstance(e.data, ev.InboxQueued) and e.data.message_id[0] in "ps"
    ]
    told = [e.data.message_id for e in log if isinstance(e.data, ev.UserMessage)]
    waits: list[Any] = [m.message_id for m in (*w.loop.state.inbox.next_turn, *w.loop.state.inbox.next_step)]
    assert sorted(m for m in told + waits if m in said) == sorted(said), "a word was lost or doubled"
    w.driver.stop()
    await w.check()


async def order(seed: int) -> Counter[str]:
    """One order to its end, and what was in it. Raises AssertionError where the driver was first."""
    w = await interleave(seed)
    await ends_well(w)
    admitted, asked = len(await w.admitted()), len(w.loop.services.models.requests)  # type: ignore[attr-defined]
    return Counter(rounds=admitted, requests=asked, events=len(await w.loop.rows()))
