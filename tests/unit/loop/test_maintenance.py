"""Maintenance (loop.md, "State"): idle → maintenance → idle, and what people say and do meanwhile."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from steersman.domain import events as ev
from steersman.domain.state import SessionState
from steersman.errors import Aborted, SessionBusy, StorageFailed, TurnMismatch
from steersman.loop.abort import AbortSignal
from steersman.loop.agent import Stopped
from steersman.loop.journal import Decision
from steersman.ports.model_double import Gate, says
from tests.unit.loop.harness import Loop, start, until

TITLE = ev.SessionConfigured(title="tidied")


class Held:
    """A job that waits at its gate, and gives a decision with one event."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.begun = asyncio.Event()
        self.ended = False

    async def __call__(self, abort: AbortSignal) -> Any:
        self.begun.set()
        try:
            await abort.race(self.gate.wait())
        finally:
            self.ended = True
        return lambda state: Decision([TITLE], "tidy")


async def maintained(replies: list[Any]) -> tuple[Loop, Any, Held, asyncio.Future[Any]]:
    """A loop under maintenance."""
    loop, model = await start(replies)
    job = Held()
    future = loop.agent.maintain(job)
    await job.begun.wait()
    return loop, model, job, future


async def told(loop: Loop) -> list[str]:
    return [m.text for m in await loop.data(ev.UserMessage)]


async def rest(loop: Loop) -> None:
    await until(lambda: loop.agent.phase == "idle")
    await loop.idle()


async def test_a_job_runs_while_the_session_shows_maintenance_and_its_decision_is_the_answer() -> None:
    seen: list[str] = []
    loop, _ = await start([])
    loop.agent.touched = lambda: seen.append(loop.agent.phase)
    job = Held()
    future = loop.agent.maintain(job)
    await job.begun.wait()
    assert loop.agent.phase == "maintenance"
    assert await loop.types() == []
    job.gate.set()
    assert await future == "tidy"
    assert loop.state.title == "tidied"
    assert loop.agent.phase == "idle"
    assert seen == ["maintenance", "idle"]
    await loop.check()


async def test_the_answer_of_a_job_comes_before_its_event_is_told() -> None:
    loop, _ = await start([])
    order: list[str] = []
    loop.journal.told = lambda rows: order.extend(row.type for row in rows)
    job = Held()
    job.gate.set()
    loop.agent.maintain(job).add_done_callback(lambda done: order.append("answer"))
    await until(lambda: len(order) == 2)
    assert order == ["answer", "session/configured"]


async def test_only_one_job_runs_and_none_beside_a_turn() -> None:
    loop, _, job, future = await maintained([])
    with pytest.raises(SessionBusy, match="maintenance"):
        await loop.agent.maintain(Held())
    job.gate.set()
    await future
    gate = Gate()
    loop, _ = await start([[gate, *says("ok")]])
    await loop.prompt("go")
    with pytest.raises(SessionBusy, match="running"):
        await loop.agent.maintain(Held())
    gate.open()
    await loop.idle()


async def test_a_prompt_in_maintenance_is_queued_and_runs_right_behind_it_in_the_same_commit() -> None:
    loop, model, job, future = await maintained([says("1"), says("2")])
    receipts = [await loop.prompt("a"), await loop.prompt("b")]
    assert [(r.outcome, r.turn) for r in receipts] == [("queued", None)] * 2
    assert model.requests == []
    job.gate.set()
    await future
    assert loop.agent.phase == "running"
    await rest(loop)
    assert await told(loop) == ["a", "b"]
    assert loop.state.turns == 2
    await loop.check()


async def test_a_steer_in_maintenance_is_queued_and_starts_its_turn_ahead_of_what_waits() -> None:
    loop, _, job, _ = await maintained([says("1"), says("2")])
    await loop.prompt("later")
    assert (await loop.steer("first this")).outcome == "queued"
    assert (await loop.steer("and this")).outcome == "queued"
    job.gate.set()
    await rest(loop)
    assert await told(loop) == ["first this", "and this", "later"]
    assert loop.state.turns == 2
    await loop.check()


async def test_a_steer_that_expects_a_turn_is_refused_in_maintenance() -> None:
    loop, _, job, future = await maintained([])
    with pytest.raises(TurnMismatch):
        await loop.steer("x", expected_turn=1)
    with pytest.raises(TurnMismatch):
        await loop.agent.cancel(drop=False, expected_turn=1)
    assert not future.done()
    job.gate.set()
    await future


async def test_a_message_id_repeated_in_maintenance_is_answered_with_the_first_outcome() -> None:
    loop, _, job, future = await maintained([says("1")])
    first = await loop.prompt("a", message_id="m")
    assert await loop.prompt("a", message_id="m") == first
    job.gate.set()
    await future
    await rest(loop)
    assert await told(loop) == ["a"]


async def test_stop_aborts_the_job_and_holds_what_waited() -> None:
    loop, model, job, future = await maintained([says("1"), says("2")])
    await loop.prompt("waits")
    await loop.steer("waits too")
    assert await loop.agent.cancel(drop=False, expected_turn=None) == Stopped(anything=True)
    with pytest.raises(Aborted):
        await future
    assert job.ended
    await rest(loop)
    assert loop.state.title == ""
    assert [m.text for m in loop.state.inbox.next_turn] == ["waits too", "waits"]
    assert loop.state.inbox.held == "cancelled"
    assert model.requests == []
    assert await loop.agent.release() == 2
    await rest(loop)
    assert await told(loop) == ["waits too", "waits"]
    await loop.check()


async def test_a_stop_of_maintenance_can_drop_what_waits() -> None:
    loop, model, _, _ = await maintained([])
    await loop.prompt("a")
    await loop.steer("b")
    await loop.stop(drop=True)
    await rest(loop)
    assert not loop.state.inbox.people_wait
    assert model.requests == []
    await loop.check()


async def test_a_person_who_writes_after_the_stop_is_answered_right_behind_the_job() -> None:
    loop, _, _, future = await maintained([says("1"), says("2"), says("3")])
    await loop.prompt("waits")
    await asyncio.gather(loop.stop(), loop.steer("instead"))
    with pytest.raises(Aborted):
        await future
    await rest(loop)
    assert await told(loop) == ["instead"]
    assert [m.text for m in loop.state.inbox.next_turn] == ["waits"]
    await loop.prompt("now all")
    await rest(loop)
    assert await told(loop) == ["instead", "waits", "now all"]
    await loop.check()


async def test_cancelling_the_request_stops_the_job_and_lets_what_waits_run() -> None:
    loop, _, job, future = await maintained([says("1")])
    await loop.prompt("a")
    future.cancel()
    await rest(loop)
    assert job.ended
    assert loop.state.title == ""
    assert await told(loop) == ["a"]
    await loop.check()


async def test_a_held_queue_stays_held_through_maintenance_and_a_release_waits_for_its_end() -> None:
    gate = Gate()
    loop, model = await start([[gate, *says("never")], says("1")])
    await loop.prompt("go")
    await gate.reached.wait()
    await loop.prompt("held")
    await loop.stop()
    await loop.idle()
    job = Held()
    first = loop.agent.maintain(job)
    job.gate.set()
    await first
    await rest(loop)
    assert loop.state.inbox.held == "cancelled"
    job = Held()
    loop.agent.maintain(job)
    await job.begun.wait()
    assert await loop.agent.release() == 1
    assert len(model.requests) == 1
    job.gate.set()
    await rest(loop)
    assert await told(loop) == ["go", "held"]
    await loop.check()


@pytest.mark.parametrize(("cause", "held"), [("trust", "cancelled"), ("shutdown", "restart")])
async def test_a_job_that_the_host_ends_starts_nothing(cause: Any, held: str) -> None:
    loop, model, _, future = await maintained([])
    await loop.prompt("a")
    loop.agent.abort(cause)
    with pytest.raises(Aborted):
        await future
    assert await loop.agent.settle(5)
    assert loop.state.inbox.held == held
    assert model.requests == []
    await loop.check()


async def test_a_job_that_fails_leaves_the_session_usable() -> None:
    async def broken(abort: AbortSignal) -> Any:
        raise ZeroDivisionError

    def refused(state: SessionState) -> Decision[None]:
        raise SessionBusy("changed meanwhile")

    async def late(abort: AbortSignal) -> Any:
        return refused

    loop, _ = await start([says("ok")])
    with pytest.raises(ZeroDivisionError):
        await loop.agent.maintain(broken)
    with pytest.raises(SessionBusy, match="meanwhile"):
        await loop.agent.maintain(late)
    assert loop.agent.phase == "idle"
    await loop.prompt("go")
    await loop.idle()
    assert await told(loop) == ["go"]


async def test_a_job_on_a_suspended_session_fails_and_ends() -> None:
    loop, _, job, future = await maintained([])
    loop.journal.log.fail_next = StorageFailed("the disk is full")  # type: ignore[attr-defined]
    job.gate.set()
    with pytest.raises(StorageFailed):
        await future
    assert loop.agent.phase == "idle"
    with pytest.raises(StorageFailed):
        await loop.agent.maintain(Held())
    assert loop.agent.phase == "idle"


async def test_a_stop_between_the_decision_and_the_job_is_a_stop() -> None:
    loop, _ = await start([])
    job = Held()
    future = loop.agent.maintain(job)
    loop.agent.cancel(drop=False, expected_turn=None)
    with pytest.raises(Aborted):
        await future
    assert not job.begun.is_set()
    assert loop.agent.phase == "idle"
