"""Taking a session over at every point where its process can have died."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from steersman.domain import events as ev
from steersman.domain.messages import Delta, ToolCallDelta
from steersman.errors import SessionCorrupt
from steersman.ports.event_log_memory import MemoryStore
from steersman.ports.feed import RecordingFeed
from steersman.ports.model_double import Gate, calls, done, says, text
from steersman.sessions.open_session import OpenSession
from steersman.tools.base import Ask
from tests.unit.loop.harness import Loop, StandInTool, start, until
from tests.unit.loop.test_stop import SilentPerson, strict


async def take(store: MemoryStore, loop: Loop, session_id: str = "s-test") -> OpenSession:
    log = await store.open(session_id)
    return await OpenSession.take(log, loop.services, RecordingFeed(), store, lambda folder: None)


async def rich_run() -> tuple[Loop, list[ev.StoredEvent], StandInTool]:
    """A session with tools, a steer, a retry, an approval and a queue; and all its rows."""
    from steersman.errors import ModelFailed
    from steersman.ports.approval import ApprovalAnswer, ScriptedApproval

    ask = Ask(risk="execute", title="", detail="", remember="r")
    work, look = StandInTool("work"), StandInTool("look", "parallel")
    gated = StandInTool("gated", permit=ask)
    gate = Gate()
    replies: list[Any] = [
        [text("Let me "), text("look."), *calls(("look", {"name": "a"}), ("look", {"name": "b"}))],
        [text("oops"), ModelFailed("server", "503", retryable=True, retry_after=0)],
        [*calls(("work", {"name": "c"}), ("gated", {"name": "d"}))],
        [text("almost"), gate, done()],
        says("and the steer"),
        says("second"),
    ]
    person = ScriptedApproval([ApprovalAnswer(decision="allowOnce", by="human")])
    loop, _ = await start(replies, [work, look, gated], approvals=person)
    await loop.prompt("first", message_id="m1")
    await loop.prompt("second", message_id="m2")
    await gate.reached.wait()
    await loop.steer("steer", message_id="m3")
    gate.open()
    await loop.idle()
    return loop, await loop.rows(), work


async def test_every_prefix_of_a_log_opens_and_nothing_moves_by_itself() -> None:
    loop, rows, work = await rich_run()
    assert len(rows) > 40
    for cut in range(2, len(rows) + 1):
        store = MemoryStore()
        await (await store.create("s-test", None)).append(rows[:cut])
        store.sessions["s-test"].writer = None
        runs, requests = list(work.started), len(loop.services.models.requests)  # type: ignore[attr-defined]
        session = await take(store, loop)
        state = session.state
        assert state.turn is None
        assert session.agent.phase == "idle"
        assert state.inbox.held == ("restart" if state.inbox.next_turn else None)
        stored = [row.data for row in store.sessions["s-test"].rows]
        assert stored[:cut] == [row.data for row in rows[:cut]], "recovery changed what was there"
        _accounted(store.sessions["s-test"].rows)
        await session.close()
        again = await take(store, loop)
        assert len(store.sessions["s-test"].rows) == len(stored) + 1, f"recovery at {cut} is not idempotent"
        await again.close()
        assert work.started == runs
        assert len(loop.services.models.requests) == requests  # type: ignore[attr-defined]


def _accounted(rows: list[ev.StoredEvent]) -> None:
    """Every accepted message is told once or waits; every call has exactly one result, in order."""
    events = [ev.from_stored("s-test", row) for row in rows]
    queued = [e.data.message_id for e in events if isinstance(e.data, ev.InboxQueued)]
    told = [e.data.message_id for e in events if isinstance(e.data, ev.UserMessage)]
    assert len(told) == len(set(told))
    assert set(told) <= set(queued)
    called = [e.data.call_id for e in events if isinstance(e.data, ev.ToolCalled)]
    results = [e.data.call_id for e in events if isinstance(e.data, ev.ToolResult)]
    assert called == results


async def test_after_recovery_the_next_request_is_one_that_a_strict_provider_accepts() -> None:
    loop, rows, _ = await rich_run()
    for cut in range(2, len(rows) + 1, 3):
        store = MemoryStore()
        await (await store.create("s-test", None)).append(rows[:cut])
        store.sessions["s-test"].writer = None
        session = await take(store, loop)
        model = loop.services.models
        model.replies = [says("fine")] * 5  # type: ignore[attr-defined]
        await session.agent.prompt(loop.words("go on"))
        async with asyncio.timeout(5):
            while session.state.turn is not None:
                await asyncio.sleep(0.001)
        strict(model.requests[-1]["messages"])  # type: ignore[attr-defined]
        await session.close()


async def died(loop: Loop) -> OpenSession:
    """Forget the process, keep the store, and take the session over."""
    loop.agent.kill()
    await loop.agent.settle(1)
    await loop.journal.drain()
    loop.store.sessions["s-test"].writer = None
    return await take(loop.store, loop)


async def test_a_call_that_ran_is_unknown_and_one_that_did_not_is_safe() -> None:
    slow, never = StandInTool("slow", gate=True), StandInTool("never")
    loop, _ = await start([calls(("slow", {}), ("never", {}))], [slow, never])
    await loop.prompt("go")
    await slow.running.wait()
    await died(loop)
    assert [r.outcome for r in await loop.data(ev.ToolResult)] == ["unknown", "not-started"]
    assert [e.reason for e in await loop.data(ev.TurnEnd)] == [ev.Interrupted()]
    assert slow.started == [""]
    assert never.started == []


async def test_the_words_that_a_person_saw_stay_in_history() -> None:
    gate = Gate()
    half = Delta(tool_call=ToolCallDelta(index=0, id="x", name="work", arguments='{"na'))
    loop, _ = await start([[text("I see it"), half, gate, done()]])
    await loop.prompt("go")
    await gate.reached.wait()
    session = await died(loop)
    (message,) = await loop.data(ev.AssistantMessage)
    assert (message.text, message.interrupted) == ("I see it", True)
    assert session.state.task == "PAUSED"


async def test_an_open_approval_is_withdrawn() -> None:
    person = SilentPerson()
    gated = StandInTool("gated", permit=Ask(risk="execute", title="", detail=""))
    loop, _ = await start([calls(("gated", {}))], [gated], approvals=person)
    await loop.prompt("go")
    await person.asked.wait()
    loop.journal.log.fail_next = None  # type: ignore[attr-defined]
    rows = list(loop.store.sessions["s-test"].rows)
    store = MemoryStore()
    await (await store.create("s-test", None)).append(rows)
    store.sessions["s-test"].writer = None
    session = await take(store, loop)
    assert session.state.approval is None
    assert session.state.task == "PAUSED"
    loop.agent.abort("human")
    await loop.idle()


async def test_waiting_messages_are_held_with_steers_in_front() -> None:
    gate = Gate()
    loop, model = await start([[text("x"), gate, done()], says("1"), says("2")])
    await loop.prompt("go")
    await gate.reached.wait()
    await loop.prompt("later")
    await loop.steer("sooner")
    session = await died(loop)
    assert [m.text for m in session.state.inbox.next_turn] == ["sooner", "later"]
    assert session.state.inbox.held == "restart"
    assert len(model.requests) == 1
    assert await session.agent.release() == 2
    await until(lambda: session.state.turn is None)
    await session.close()


async def test_a_damaged_log_is_refused_with_its_seq_and_written_to_by_nobody() -> None:
    loop, rows, _ = await rich_run()
    store = MemoryStore()
    await (await store.create("s-test", None)).append(rows)
    session = store.sessions["s-test"]
    del session.rows[10]
    session.writer = None
    before = list(session.rows)
    log = await store.open("s-test")
    with pytest.raises(SessionCorrupt) as refused:
        await OpenSession.take(log, loop.services, RecordingFeed(), store, lambda folder: None)
    assert refused.value.data["seq"] == rows[11].seq
    assert session.rows == before
