"""Compaction by hand: in maintenance, stopped and cancelled, and what is left of it when it fails."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from steersman.domain import events as ev
from steersman.errors import ModelFailed, SessionBusy
from steersman.loop.compaction import Shorter
from steersman.loop.journal import Into
from steersman.ports.clock import ManualClock
from steersman.ports.model_double import Gate
from tests.unit.loop.harness import until
from tests.unit.loop.long_talks import (
    begin,
    body,
    compact,
    compactions,
    ended,
    failures,
    says,
    talk,
)


async def test_by_hand_an_idle_session_is_made_shorter_in_maintenance() -> None:
    replies = [says("a" * 2000) for _ in range(6)]
    loop, model = await begin(replies, window=None, summaries=(says("by hand"),))
    await talk(loop, 5)
    before = loop.state.usage.requests
    found = await compact(loop)
    assert found.compacted
    assert found.tokens_after < found.tokens_before
    (event,) = await compactions(loop)
    assert (event.trigger, event.summary) == ("human", "by hand")
    assert (event.tokens_before, event.tokens_after) == (found.tokens_before, found.tokens_after)
    assert loop.state.context_tokens == found.tokens_after
    assert loop.state.usage.requests == before + 1
    await loop.prompt("on")
    await loop.idle()
    assert "by hand" in body(model)
    await loop.check()


async def test_a_session_without_anything_to_leave_out_says_so() -> None:
    loop, model = await begin([says("hi")], window=None)
    assert await compact(loop) == Shorter(compacted=False, tokens_before=0, tokens_after=0)
    await loop.prompt("hello")
    await loop.idle()
    found = await compact(loop)
    assert not found.compacted
    assert found.tokens_before == found.tokens_after > 0
    assert len(model.bodies) == 1
    await loop.check()


async def test_a_compaction_by_hand_is_refused_while_a_turn_runs() -> None:
    gate = Gate()
    loop, _ = await begin([[gate, *says("ok")]], window=None)
    await loop.prompt("go")
    await gate.reached.wait()
    with pytest.raises(SessionBusy):
        await compact(loop)
    gate.open()
    await loop.idle()


async def test_a_model_that_fails_by_hand_is_an_event_and_no_error_of_the_request() -> None:
    broken = [ModelFailed("auth", "bad key")]
    loop, _ = await begin([says("a" * 2000)] * 5, window=None, summaries=(broken,))
    await talk(loop, 5)
    found = await compact(loop)
    assert not found.compacted
    (failed,) = await failures(loop)
    assert "bad key" in failed.reason
    assert loop.agent.phase == "idle"
    await loop.check()


async def test_a_retry_by_hand_belongs_to_no_turn() -> None:
    busy = ModelFailed("server", "503", retryable=True)
    loop, _ = await begin(
        [says("a" * 2000)] * 5, window=None, summaries=([busy], says("sum")), clock=ManualClock()
    )
    await talk(loop, 5)
    assert (await compact(loop)).compacted
    (retry,) = await loop.data(ev.ModelRetry)
    assert (retry.turn, retry.step, retry.purpose) == (None, None, "summary")
    await loop.check()


async def test_stop_by_hand_leaves_the_conversation_as_it_was() -> None:
    gate = Gate()
    loop, _ = await begin([says("a" * 2000)] * 6, window=None, summaries=([gate, *says("never")],))
    await talk(loop, 5)
    history = loop.state.history
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    loop.agent.compact(Into(future, lambda result: result))
    await gate.reached.wait()
    assert loop.agent.phase == "maintenance"
    await loop.stop()
    assert not (await future).compacted
    assert loop.state.history is history
    assert await compactions(loop) == []
    await loop.prompt("go on")
    await loop.idle()
    assert await ended(loop) == ev.Completed()
    await loop.check()


async def test_cancelling_the_request_for_it_stops_the_summary() -> None:
    gate = Gate()
    loop, model = await begin([says("a" * 2000)] * 5, window=None, summaries=([gate, *says("never")],))
    await talk(loop, 5)
    closed = model.closed
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    loop.agent.compact(Into(future, lambda result: result))
    await gate.reached.wait()
    future.cancel()
    await until(lambda: loop.agent.phase == "idle")
    assert model.closed == closed + 1
    assert await compactions(loop) == []


async def test_what_was_read_before_a_compaction_counts_as_unread() -> None:
    loop, _ = await begin([says("a" * 2000)] * 5, window=None, summaries=(says("sum"),))
    await talk(loop, 5)
    loop.journal.state = msgspec.structs.replace(loop.state, seen=loop.state.seen.set("file:///a", "x"))
    await compact(loop)
    assert not loop.state.seen
