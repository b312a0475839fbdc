"""After a storage error a session writes nothing until it is opened again; the others go on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from steersman.domain import events as ev
from steersman.errors import StorageFailed
from steersman.ports.event_log_memory import MemoryStore
from steersman.ports.model_double import Gate, ScriptedReplies, calls, says
from steersman.sessions import requests as rq
from tests.unit.loop.harness import StandInTool, until
from tests.unit.sessions.test_service import Desk

FULL = StorageFailed("The disk is full. Free some space, then open the session again.")


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    desk = Desk(MemoryStore(), ScriptedReplies([says("ok") for _ in range(10)]), tmp_path)
    yield desk
    await desk.service.stop()


async def new(desk: Desk) -> str:
    return (await desk.service.new(rq.NewSession())).session_id


async def test_a_suspended_session_takes_nothing_until_it_is_opened_again(desk: Desk) -> None:
    one, two = await new(desk), await new(desk)
    desk.store.fail_next = FULL
    with pytest.raises(StorageFailed, match="disk is full"):
        await desk.service.prompt(rq.Prompt(session_id=one, text="lost"))
    rows = len(desk.store.sessions[one].rows)
    for refused in (
        desk.service.prompt(rq.Prompt(session_id=one, text="again")),
        desk.service.steer(rq.Steer(session_id=one, text="again")),
        desk.service.rename(rq.RenameSession(session_id=one, title="x")),
    ):
        with pytest.raises(StorageFailed):
            await refused
    assert len(desk.store.sessions[one].rows) == rows
    await desk.service.prompt(rq.Prompt(session_id=two, text="goes on"))
    await desk.idle(two)
    info = await desk.service.open(rq.OpenSession(session_id=one))
    assert (info.state, info.last_seq, info.queue.next_turn) == ("idle", rows + 1, [])
    await desk.service.prompt(rq.Prompt(session_id=one, text="works"))
    await desk.idle(one)
    assert [m["content"] for m in desk.model.requests[-1]["messages"][1:]] == ["works"]


async def test_a_turn_in_which_the_disk_failed_is_interrupted_when_it_is_opened_again(desk: Desk) -> None:
    gate = Gate()
    desk.model.replies = [[gate, *says("never stored")], says("after")]
    one = await new(desk)
    await desk.service.prompt(rq.Prompt(session_id=one, text="go"))
    await gate.reached.wait()
    desk.store.fail_next = FULL
    gate.open()
    session = desk.service._registry.find(one)
    assert session is not None
    await until(lambda: session.journal.suspended is not None)
    assert session.info().state == "idle", "it does not run, whatever its last state says"
    info = await desk.service.open(rq.OpenSession(session_id=one))
    assert (info.state, info.turn, info.task) == ("idle", None, "PAUSED")
    rows = [ev.from_stored(one, row) for row in desk.store.sessions[one].rows]
    assert [e.data.reason for e in rows if isinstance(e.data, ev.TurnEnd)] == [ev.Interrupted()]
    assert desk.service._registry.find(one) is not session


async def test_a_tool_that_ran_when_the_disk_failed_has_ended_before_the_session_is_taken_again(
    desk: Desk,
) -> None:
    tool = StandInTool("work", gate=True)
    desk.services.toolbox = lambda mode: {"work": tool}
    desk.model.replies = [calls(("work", {"name": "a"}))]
    one = await new(desk)
    await desk.service.prompt(rq.Prompt(session_id=one, text="go"))
    await tool.running.wait()
    desk.store.fail_next = FULL
    with pytest.raises(StorageFailed):
        await desk.service.steer(rq.Steer(session_id=one, text="lost"))
    before = desk.service._registry.find(one)
    assert before is not None
    await desk.service.open(rq.OpenSession(session_id=one))
    assert await before.agent.settle(0)
    assert tool.finished == []
    rows = [ev.from_stored(one, row) for row in desk.store.sessions[one].rows]
    assert [e.data.outcome for e in rows if isinstance(e.data, ev.ToolResult)] == ["unknown"]


async def test_opening_a_session_that_is_whole_changes_nothing(desk: Desk) -> None:
    one = await new(desk)
    session = desk.service._registry.find(one)
    assert (await desk.service.open(rq.OpenSession(session_id=one))).last_seq == 2
    assert desk.service._registry.find(one) is session


async def test_a_disk_that_still_fails_refuses_the_opening_too(desk: Desk) -> None:
    one = await new(desk)
    for _ in range(2):
        desk.store.fail_next = FULL
        with pytest.raises(StorageFailed):
            await desk.service.rename(rq.RenameSession(session_id=one, title="x"))
        desk.store.fail_next = FULL
        with pytest.raises(StorageFailed):
            await desk.service.open(rq.OpenSession(session_id=one))
    assert (await desk.service.open(rq.OpenSession(session_id=one))).title == "New session"
    assert (await desk.service.rename(rq.RenameSession(session_id=one, title="x"))).title == "x"
