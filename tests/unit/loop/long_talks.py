"""Conversations that outgrow a window: a double whose usage is estimated, and what to ask of the log."""

from __future__ import annotations

import asyncio
from typing import Any

from steersman.domain import events as ev
from steersman.errors import ModelFailed
from steersman.loop.compaction import Shorter
from steersman.loop.journal import Into
from steersman.ports.model import Finish
from steersman.ports.model_double import Piece, ScriptedReplies, call, text
from tests.unit.loop.harness import Loop, StandInTool, start

TOO_LONG = ModelFailed("context-limit", "The provider answered 400: prompt is too long.")


def end(reason: str = "stop") -> Finish:
    """The end of a reply whose usage nobody tells: tokens are estimated from the bytes sent."""
    return Finish(finish_reason=reason, usage=None)


def says(words: str) -> list[Piece]:
    return [text(words), end()]


def looks(name: str, count: int = 1) -> list[Piece]:
    pieces: list[Piece] = [
        call("look", {"name": f"{name}{n}"}, index=n, call_id=f"{name}{n}") for n in range(count)
    ]
    return [*pieces, end("tool_calls")]


async def begin(
    replies: list[list[Piece]],
    *,
    window: int | None,
    result: str = "seen",
    summaries: tuple[list[Piece], ...] = (),
    **more: Any,
) -> tuple[Loop, ScriptedReplies]:
    loop, model = await start(replies, [StandInTool("look", "parallel", result=result)], **more)
    model.window = window
    model.summaries = list(summaries)
    return loop, model


async def compactions(loop: Loop) -> list[ev.ContextCompacted]:
    return await loop.data(ev.ContextCompacted)


async def failures(loop: Loop) -> list[ev.CompactionFailed]:
    return await loop.data(ev.CompactionFailed)


async def ended(loop: Loop) -> Any:
    return (await loop.data(ev.TurnEnd))[-1].reason


async def compact(loop: Loop) -> Shorter:
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    loop.agent.compact(Into(future, lambda result: result))
    found: Shorter = await future
    return found


async def talk(loop: Loop, turns: int, size: int = 600) -> None:
    """Turns of words only; the double answers each."""
    for n in range(turns):
        await loop.prompt(f"ask {n} " + "w" * size)
        await loop.idle()


def body(model: ScriptedReplies, which: int = -1) -> str:
    return model.bodies[which].body.decode()
