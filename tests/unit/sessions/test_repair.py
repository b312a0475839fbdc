"""Repair: only a damaged log, only up to its damage, only on a person's word; the original is kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from steersman.domain.events import StoredEvent
from steersman.domain.views import SessionInfo
from steersman.errors import (
    SessionBusy,
    SessionCorrupt,
    SessionLocked,
    SessionNotFound,
    Unsupported,
    WorkspaceMismatch,
)
from steersman.ports.event_log_memory import MemoryStore
from steersman.ports.model_double import Gate, ScriptedReplies, says
from steersman.sessions import requests as rq
from steersman.sessions.loading import examine
from tests.unit.loop.harness import until
from tests.unit.sessions.logs import ID, edited_run, folded, goal_run, rows_of, stored
from tests.unit.sessions.test_recovery import rich_run
from tests.unit.sessions.test_service import Desk


async def repair(desk: Desk, through_seq: int, session_id: str = ID) -> SessionInfo:
    return await desk.service.repair(rq.RepairSession(session_id=session_id, through_seq=through_seq))


def broken(rows: list[StoredEvent], seq: int) -> list[StoredEvent]:
    """The rows with one that nobody can have written there."""
    return [replace(row, type="session/created") if row.seq == seq else row for row in rows]


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """On a session whose event 20 is not what it was."""
    _, rows, _ = await rich_run()
    desk = Desk(await damaged(rows, 20), ScriptedReplies([says("ok") for _ in range(5)]), tmp_path)
    yield desk
    await desk.service.stop()


async def damaged(rows: list[StoredEvent], seq: int) -> MemoryStore:
    store = await stored(rows)
    store.sessions[ID].rows = broken(rows, seq)
    return store


async def test_a_repaired_session_ends_where_it_was_cut_and_works_again(desk: Desk) -> None:
    before = list(desk.store.sessions[ID].rows)
    info = await repair(desk, 19)
    rows = desk.store.sessions[ID].rows
    assert rows[:19] == before[:19]
    assert b'"repair"' in next(row for row in rows[19:] if row.type == "session/opened").data
    assert desk.store.sessions[ID].kept == [before]
    assert (info.state, info.damaged, info.read_only, info.task) == ("idle", None, False, "PAUSED")
    await desk.service.prompt(rq.Prompt(session_id=ID, text="go on"))
    await desk.idle(ID)
    folded(rows)


async def test_every_cut_before_the_damage_can_be_made(tmp_path: Path) -> None:
    _, plain, _ = await rich_run()
    for rows in (plain, rows_of(await goal_run())):
        for cut in range(1, len(rows) - 1):
            desk = Desk(await damaged(rows, len(rows) - 1), ScriptedReplies([]), tmp_path)
            info = await repair(desk, cut)
            state = folded(desk.store.sessions[ID].rows)
            assert (info.state, state.turn, state.goals.pending) == ("idle", None, None)
            assert state.task not in ("IN_PROGRESS", "WAITING_FOR_USER")
            assert (state.inbox.held == "restart") is bool(state.inbox.next_turn)
            assert desk.model.requests == []
            await desk.service.stop()


@pytest.mark.parametrize("through", [20, 21, 10_000])
async def test_a_cut_through_the_damage_is_refused_with_its_seq(desk: Desk, through: int) -> None:
    before = list(desk.store.sessions[ID].rows)
    with pytest.raises(SessionCorrupt) as refused:
        await repair(desk, through)
    assert refused.value.data["seq"] == 20
    assert desk.store.sessions[ID].rows == before
    assert desk.store.sessions[ID].kept == []


async def test_a_whole_log_is_never_cut_and_stays_open(tmp_path: Path) -> None:
    desk = Desk(MemoryStore(), ScriptedReplies([]), tmp_path)
    info = await desk.service.new(rq.NewSession())
    with pytest.raises(Unsupported, match="fork"):
        await repair(desk, 1, info.session_id)
    assert desk.service._registry.find(info.session_id) is not None
    await desk.service.stop()


async def test_a_session_that_another_server_has_is_not_repaired(desk: Desk) -> None:
    await desk.store.open(ID)
    with pytest.raises(SessionLocked):
        await repair(desk, 19)


async def test_a_session_that_runs_is_not_repaired(tmp_path: Path) -> None:
    gate = Gate()
    desk = Desk(MemoryStore(), ScriptedReplies([[gate, *says("ok")]]), tmp_path)
    info = await desk.service.new(rq.NewSession())
    await desk.service.prompt(rq.Prompt(session_id=info.session_id, text="hi"))
    await gate.reached.wait()
    rows = desk.store.sessions[info.session_id].rows
    desk.store.sessions[info.session_id].rows = broken(rows, 4)
    with pytest.raises(SessionBusy):
        await repair(desk, 3, info.session_id)
    desk.store.sessions[info.session_id].rows = rows
    gate.open()
    await desk.idle(info.session_id)
    await desk.service.stop()


async def test_a_session_of_another_folder_is_not_repaired_here(tmp_path: Path) -> None:
    desk = Desk(MemoryStore(), ScriptedReplies([says("ok")]), tmp_path)
    info = await desk.service.new(rq.NewSession())
    await desk.service.prompt(rq.Prompt(session_id=info.session_id, text="hi"))
    await desk.idle(info.session_id)
    await desk.service.stop()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    session = desk.store.sessions[info.session_id]
    session.rows = broken(session.rows, 5)
    other = Desk(desk.store, desk.model, elsewhere)
    with pytest.raises(WorkspaceMismatch):
        await repair(other, 4, info.session_id)
    assert session.kept == []
    await other.service.stop()


async def test_nobody_is_not_repaired(desk: Desk) -> None:
    with pytest.raises(SessionNotFound):
        await repair(desk, 1, "s-nobody")


async def test_the_answer_comes_before_the_events_of_the_repair(desk: Desk) -> None:
    order: list[str] = []
    appended = desk.feed.appended
    desk.feed.appended = lambda sid, rows: (order.append("appended"), appended(sid, rows))  # type: ignore[assignment]
    repairing = desk.service.repair(rq.RepairSession(session_id=ID, through_seq=19))
    repairing.add_done_callback(lambda _: order.append("answer"))
    await repairing
    await until(lambda: len(order) == 2)
    assert order == ["answer", "appended"]


async def test_a_cancelled_repair_is_whole_or_not_done(desk: Desk) -> None:
    repairing = desk.service.repair(rq.RepairSession(session_id=ID, through_seq=19))
    repairing.cancel()
    await asyncio.sleep(0.01)
    assert desk.store.sessions[ID].kept == []
    assert (await repair(desk, 19)).damaged is None


async def test_the_chunks_before_a_broken_one_are_whole(tmp_path: Path) -> None:
    """They are passed as a run; the one that is refused must not take the others with it."""
    rows = (await edited_run()).rows
    first = next(row for row in rows if row.type == "assistant/chunk")
    later = [replace(row, seq=row.seq + 3) for row in rows if row.seq > first.seq]
    more = [replace(first, seq=first.seq + n) for n in (1, 2, 3)]
    more[1] = replace(more[1], time=0)
    store = await stored([*rows[: first.seq], *more, *later])
    loaded = await examine(store, ID)
    assert loaded.damaged is not None
    assert (loaded.damaged.seq, loaded.state.last_seq) == (first.seq + 2, first.seq + 1)
