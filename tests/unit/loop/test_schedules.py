"""People and the model in random order: what must hold under every schedule (loop.md, the last section)."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from steersman.domain import events as ev
from steersman.errors import Aborted, ModelFailed, SessionBusy
from steersman.loop.compaction import Shorter
from steersman.loop.journal import Into
from steersman.ports.approval import ApprovalAnswer
from steersman.ports.clock import ManualClock
from steersman.ports.model import Finish
from steersman.ports.model_double import calls, says, text
from steersman.tools.base import Ask
from tests.unit.loop.harness import Loop, StandInTool, start, until
from tests.unit.loop.test_stop import strict

SEEDS = 200
FAILING: list[Any] = [[ModelFailed("server", "503", retryable=True)], [ModelFailed("auth", "no")]]


class Dice:
    """A person who answers approvals at random, after a random number of ticks."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice

    async def ask(self, session_id: str, asked: ev.ApprovalAsked, timeout_seconds: float) -> ApprovalAnswer:
        await ticks(self._dice.randrange(30))
        decision: Any = self._dice.choice(["allowOnce", "allowSession", "deny"])
        return ApprovalAnswer(decision=decision, by="human")


class Slow(StandInTool):
    """A tool that takes a random number of ticks."""

    dice = random.Random(0)

    async def run(self, arguments, context):  # type: ignore[no-untyped-def]
        await ticks(self.dice.randrange(20))
        return await super().run(arguments, context)


async def ticks(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def reply(dice: random.Random) -> Any:
    match dice.randrange(8):
        case 0:
            return [text("half"), ModelFailed("server", "503", retryable=True)]
        case 1:
            return [ModelFailed("auth", "no")]
        case 2 | 3 | 4:
            names = [dice.choice(["look", "work", "gated", "nobody"]) for _ in range(dice.randint(1, 4))]
            return calls(*((name, {"name": str(n)}) for n, name in enumerate(names)))
        case _:
            return [text("words " * dice.choice([1, 1, 300])), Finish(finish_reason="stop", usage=None)]


async def play(seed: int) -> tuple[Loop, Any, dict[str, str]]:
    """One random session, at rest at its end; and what people were answered, by message id."""
    dice = random.Random(seed)
    Slow.dice = dice
    gated = Slow("gated", permit=Ask(risk="execute", title="", detail="", remember="r"))
    tools = [Slow("look", "parallel"), Slow("work"), gated]
    replies = [reply(dice) for _ in range(200)]
    loop, model = await start(replies, tools, approvals=Dice(dice), clock=ManualClock())
    # A small window, and replies whose usage is estimated: some of them are compacted, some in vain.
    model.window = dice.choice([None, 1200, 1800, 2500])
    model.summaries = [dice.choice([says("sum"), says("long " * 400), *FAILING]) for _ in range(200)]
    accepted: dict[str, str] = {}
    futures: list[asyncio.Future[Any]] = []
    refused: list[asyncio.Future[Any]] = []
    for n in range(dice.randint(3, 25)):
        await ticks(dice.randrange(40))
        match dice.randrange(9):
            case 0 | 1 | 2:
                futures.append(loop.agent.prompt(loop.words(f"p{n}", message_id=f"p{n}")))
                accepted[f"p{n}"] = "next-turn"
            case 3 | 4:
                futures.append(loop.agent.steer(loop.words(f"s{n}", message_id=f"s{n}")))
                accepted[f"s{n}"] = "next-step"
            case 5:
                futures.append(loop.agent.cancel(drop=False, expected_turn=None))
            case 6:
                futures.append(loop.agent.release())
            case 7:
                asked: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
                loop.agent.compact(Into(asked, lambda found: found))
                if dice.randrange(2):
                    asked.add_done_callback(lambda done: done.cancelled() or done.exception())
                    asyncio.get_running_loop().call_soon(asked.cancel)
                else:
                    refused.append(asked)
            case _:
                futures.append(loop.agent.update(f"p{dice.randrange(25)}", "edited"))
    await asyncio.gather(*futures)
    for found in await asyncio.gather(*refused, return_exceptions=True):
        assert isinstance(found, Shorter | SessionBusy | Aborted), found
    await until(lambda: loop.agent.phase == "idle")
    await loop.idle()
    return loop, model, accepted


@pytest.mark.parametrize("seed", range(SEEDS))
async def test_what_must_hold_under_random_schedules(seed: int) -> None:
    loop, model, accepted = await play(seed)
    await loop.check()
    events = await loop.log()
    told = [e.data.message_id for e in events if isinstance(e.data, ev.UserMessage)]
    waiting = [m.message_id for m in (*loop.state.inbox.next_turn, *loop.state.inbox.next_step)]
    assert sorted(told + waiting) == sorted(accepted), "a message was lost or doubled"
    prompts = [m for m in told if accepted[m] == "next-turn"]
    assert prompts == sorted(prompts, key=lambda m: int(m[1:])), "prompts changed their order"
    _numbered(events)
    called = [e.data.call_id for e in events if isinstance(e.data, ev.ToolCalled)]
    assert called == [e.data.call_id for e in events if isinstance(e.data, ev.ToolResult)]
    for request in model.requests:
        strict(request["messages"])
    assert bool(loop.state.inbox.next_turn) == (loop.state.inbox.held is not None), "parked silently"


def _numbered(events: list[ev.Event]) -> None:
    """Turn and step numbers have no gap; each that was opened is closed exactly once."""
    turns = [e.data.turn for e in events if isinstance(e.data, ev.TurnStart)]
    assert turns == list(range(1, len(turns) + 1))
    assert turns == [e.data.turn for e in events if isinstance(e.data, ev.TurnEnd)]
    for turn in turns:
        steps = [e.data.step for e in events if isinstance(e.data, ev.StepStart) and e.data.turn == turn]
        assert steps == list(range(1, len(steps) + 1))
        assert steps == [
            e.data.step for e in events if isinstance(e.data, ev.StepEnd) and e.data.turn == turn
        ]
