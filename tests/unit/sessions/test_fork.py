"""Forks: the same beginning under the same numbers, goals of their own, nothing that moves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from steersman.context.request import RequestBuilder
from steersman.domain import events as ev
from steersman.errors import InvalidParams, SessionCorrupt, SessionNotFound, WorkspaceMismatch
from steersman.ports.event_log_memory import MemoryStore
from steersman.ports.model_double import Gate, ScriptedReplies, done, says, text
from steersman.sessions import requests as rq
from tests.unit.loop.harness import until
from tests.unit.sessions.logs import ID, folded, goal_run, rows_of, stored
from tests.unit.sessions.test_recovery import rich_run
from tests.unit.sessions.test_service import Desk


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    desk = Desk(MemoryStore(), ScriptedReplies([says("ok") for _ in range(10)]), tmp_path)
    yield desk
    await desk.service.stop()


async def talked(desk: Desk, *prompts: str) -> str:
    """A session with one turn a prompt; its id."""
    info = await desk.service.new(rq.NewSession(title="parent"))
    for prompt in prompts:
        await desk.service.prompt(rq.Prompt(session_id=info.session_id, text=prompt))
        await desk.idle(info.session_id)
    return info.session_id


def fork(desk: Desk, session_id: str, at_seq: int | None = None) -> Any:
    return desk.service.fork(rq.ForkSession(session_id=session_id, at_seq=at_seq))


async def test_a_fork_has_its_parents_events_under_the_same_numbers(desk: Desk) -> None:
    parent = await talked(desk, "one", "two")
    before = list(desk.store.sessions[parent].rows)
    info = await fork(desk, parent)
    child = desk.store.sessions[info.session_id].rows
    end = max(row.seq for row in before if row.type == "turn/end")
    assert info.parent == ev.Parent(session_id=parent, seq=end)
    assert child[1:end] == before[1:end]
    created = msgspec.json.decode(child[0].data)
    assert created == msgspec.json.decode(before[0].data) | {"parent": {"sessionId": parent, "seq": end}}
    assert [row.type for row in child[end:]] == ["task/state", "session/opened"]
    assert b'"fork"' in child[-1].data
    assert (info.state, info.turn, info.task, info.read_only) == ("idle", None, "SUCCEEDED", False)
    assert desk.store.sessions[parent].rows == before


async def test_a_fork_in_the_past_continues_from_there(desk: Desk) -> None:
    parent = await talked(desk, "one", "two")
    rows = desk.store.sessions[parent].rows
    first_end = next(row.seq for row in rows if row.type == "turn/end")
    info = await fork(desk, parent, first_end)
    await desk.service.prompt(rq.Prompt(session_id=info.session_id, text="other"))
    await desk.idle(info.session_id)
    said = [m["content"] for m in desk.model.requests[-1]["messages"] if m["role"] == "user"]
    assert said == ["one", "other"]


async def test_the_answer_comes_first_and_then_what_the_parent_does_not_have(desk: Desk) -> None:
    parent = await talked(desk, "one")
    order: list[str] = []
    appended = desk.feed.appended
    desk.feed.appended = lambda sid, rows: (order.append("appended"), appended(sid, rows))  # type: ignore[assignment]
    forking = fork(desk, parent)
    forking.add_done_callback(lambda _: order.append("answer"))
    info = await forking
    await until(lambda: len(order) == 2)
    assert order == ["answer", "appended"]
    told = [event.seq for sid, event in desk.feed.events if sid == info.session_id]
    assert told == list(range(info.parent.seq + 1, info.last_seq + 1))


async def test_a_running_turn_is_interrupted_in_the_child_and_goes_on_in_the_parent(desk: Desk) -> None:
    gate = Gate()
    desk.model.replies = [says("first"), [text("half "), gate, text("whole"), done()]]
    parent = await talked(desk, "one")
    await desk.service.prompt(rq.Prompt(session_id=parent, text="two"))
    await desk.service.prompt(rq.Prompt(session_id=parent, text="queued", message_id="q"))
    await gate.reached.wait()
    await until(lambda: desk.store.sessions[parent].rows[-1].type == "assistant/chunk")
    last = desk.store.sessions[parent].rows[-1].seq
    info = await fork(desk, parent, last)
    child = [ev.from_stored(info.session_id, row) for row in desk.store.sessions[info.session_id].rows]
    ends = [e.data.reason for e in child if isinstance(e.data, ev.TurnEnd)]
    assert ends == [ev.Completed(), ev.Interrupted()]
    assert [e.data.text for e in child if isinstance(e.data, ev.AssistantMessage)] == ["first", "half "]
    assert info.queue.next_turn == []
    assert info.queue.held is None
    withdrawn = [e.data for e in child if isinstance(e.data, ev.InboxRemoved)]
    assert withdrawn == [ev.InboxRemoved(message_id="q", reason="withdrawn")]
    resting = await fork(desk, parent)
    assert resting.parent is not None
    assert resting.parent.seq < last, "by default the turn that runs is not part of it"
    gate.open()
    await desk.idle(parent)
    session = desk.service._registry.find(parent)
    assert session is not None
    assert session.state.turns == 3


async def test_a_goal_is_copied_under_a_new_id_and_disarmed(desk: Desk) -> None:
    desk.store = await stored(rows_of(await goal_run()))
    other = desk.again()
    parent = (await other.service.open(rq.OpenSession(session_id=ID, read_only=True))).goal
    info = await fork(other, ID, len(desk.store.sessions[ID].rows))
    assert info.goal is not None
    assert parent is not None
    assert info.goal.id != parent.id
    assert info.goal.activation == "disarmed"
    same = (
        "objective",
        "phase",
        "revision",
        "rounds_started",
        "checks",
        "budgets",
        "blocked_reason",
        "usage",
    )
    assert {name: getattr(info.goal, name) for name in same} == {n: getattr(parent, n) for n in same}
    await other.service.stop()


async def test_every_cut_of_a_log_can_be_forked_and_nothing_waits_or_moves(tmp_path: Path) -> None:
    """Also in the middle of what was one commit, where no crash could have left it."""
    _, plain, _ = await rich_run()
    for rows in (plain, rows_of(await goal_run())):
        assert len(rows) > 40
        for cut in range(1, len(rows) + 1):
            desk = Desk(await stored(rows), ScriptedReplies([]), tmp_path)
            info = await fork(desk, ID, cut)
            child = desk.store.sessions[info.session_id].rows
            state = folded(child, info.session_id)
            assert [(row.seq, row.type) for row in child[:cut]] == [(r.seq, r.type) for r in rows[:cut]]
            assert (state.turn, state.inbox.next_turn, state.inbox.next_step) == (None, (), ())
            assert state.goals.pending is None
            assert state.task not in ("IN_PROGRESS", "WAITING_FOR_USER", "SUB_TASK_FAILED")
            assert info.goal is None or info.goal.activation == "disarmed"
            await desk.service.close(rq.SessionOnly(session_id=info.session_id))
            again = await desk.service.open(rq.OpenSession(session_id=info.session_id))
            assert again.last_seq == info.last_seq + 1, "the fork was left open"
            assert desk.model.requests == []
            await desk.service.stop()


async def test_the_childs_next_request_is_the_parents_word_for_word(desk: Desk) -> None:
    rows = rows_of(await goal_run())
    desk.store = await stored(rows)
    other = desk.again()
    end = max(row.seq for row in rows if row.type == "turn/end")
    info = await fork(other, ID)
    child = folded(desk.store.sessions[info.session_id].rows, info.session_id)
    assert RequestBuilder().build(child) == RequestBuilder().build(folded(rows[:end]))
    await other.service.stop()


async def test_a_session_without_a_turn_can_be_forked(desk: Desk) -> None:
    info = await desk.service.new(rq.NewSession(model="m2", mode="plan"))
    child = await fork(desk, info.session_id)
    assert (child.model, child.mode) == ("m2", "plan")


async def test_a_damaged_parent_is_forked_before_its_damage_only(desk: Desk) -> None:
    parent = await talked(desk, "one", "two")
    await desk.service.close(rq.SessionOnly(session_id=parent))
    rows = desk.store.sessions[parent].rows
    first_end = next(row.seq for row in rows if row.type == "turn/end")
    del rows[first_end + 3]
    with pytest.raises(SessionCorrupt) as refused:
        await fork(desk, parent, first_end + 6)
    assert refused.value.data["seq"] == first_end + 5
    info = await fork(desk, parent)
    assert info.parent == ev.Parent(session_id=parent, seq=first_end)


async def test_a_fork_past_the_end_or_of_nobody_makes_nothing(desk: Desk) -> None:
    parent = await talked(desk)
    with pytest.raises(InvalidParams, match="atSeq"):
        await fork(desk, parent, 3)
    with pytest.raises(SessionNotFound):
        await fork(desk, "s-nobody")
    assert list(desk.store.sessions) == [parent]


async def test_a_fork_of_another_folders_session_is_refused(desk: Desk, tmp_path: Path) -> None:
    parent = await talked(desk, "one")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    other = Desk(desk.store, desk.model, elsewhere)
    with pytest.raises(WorkspaceMismatch):
        await fork(other, parent)
    assert list(desk.store.sessions) == [parent]
    await other.service.stop()


async def test_a_locked_session_can_be_forked(desk: Desk) -> None:
    parent = await talked(desk, "one")
    other = desk.again()
    info = await fork(other, parent)
    assert info.parent is not None
    await asyncio.sleep(0)
    await other.service.stop()


async def test_a_list_shows_a_fork_without_its_log(desk: Desk) -> None:
    parent = await talked(desk, "one")
    info = await fork(desk, parent)
    await until(lambda: desk.store.sessions[info.session_id].header is not None)
    header = msgspec.json.decode(desk.store.sessions[info.session_id].header or b"")
    assert (header["lastSeq"], header["parent"]["sessionId"]) == (info.last_seq, parent)
