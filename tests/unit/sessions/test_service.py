"""The verbs on sessions: opening and closing, lists and pages, and that the answer precedes its events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from steersman.domain.checks import JudgeCheck
from steersman.domain.settings import LoopSettings, Settings
from steersman.errors import (
    InvalidParams,
    NotConfigured,
    SessionBusy,
    SessionCorrupt,
    SessionLocked,
    SessionNotFound,
    Unsupported,
    WorkspaceMismatch,
)
from steersman.loop.services import Services
from steersman.ports.approval import ScriptedApproval
from steersman.ports.clock import SystemClock
from steersman.ports.editor import Folder
from steersman.ports.event_log_memory import MemoryStore
from steersman.ports.feed import RecordingFeed
from steersman.ports.model_double import Gate, ScriptedReplies, says
from steersman.ports.process_scripted import ScriptedProcesses, ScriptedTests
from steersman.ports.question import ScriptedQuestions
from steersman.sessions import requests as rq
from steersman.sessions.service import SessionService
from tests.unit.loop.harness import NoChecks, until


class FolderEditor:
    """An editor that only knows its folders."""

    def __init__(self, *paths: Path) -> None:
        self.paths = paths

    def folders(self) -> tuple[Folder, ...]:
        return tuple(Folder(uri=p.as_uri(), name=p.name, path=p.resolve()) for p in self.paths)


class Desk:
    """A service with doubles at its ports; `again()` is another process on the same store."""

    def __init__(self, store: MemoryStore, model: ScriptedReplies, *paths: Path) -> None:
        self.store, self.model, self.paths = store, model, paths
        self.feed = RecordingFeed()
        self.services = Services(
            settings=Settings(loop=LoopSettings(tool_grace_seconds=0.1)),
            clock=SystemClock(),
            models=model,
            editor=FolderEditor(*paths),  # type: ignore[arg-type]
            approvals=ScriptedApproval(),
            questions=ScriptedQuestions(),
            processes=ScriptedProcesses([]),
            tests=ScriptedTests([]),
            checks=NoChecks(),
            toolbox=lambda mode: {},
            policies=[],
            jitter=lambda: 0.0,
        )
        self.service = SessionService(self.services, store, self.feed, "/state")

    def again(self) -> Desk:
        return Desk(self.store, self.model, *self.paths)

    async def idle(self, session_id: str) -> None:
        """Wait until a session's turns have ended and its last event was told."""

        def quiet() -> bool:
            session = self.service._registry.find(session_id)
            assert session is not None
            told = [event.seq for sid, event in self.feed.events if sid == session_id]
            return session.state.turn is None and told[-1:] == [session.state.last_seq]

        await until(quiet)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    model = ScriptedReplies([says("ok") for _ in range(10)])
    desk = Desk(MemoryStore(), model, tmp_path)
    yield desk
    await desk.service.stop()


async def test_a_new_session_belongs_to_the_first_folder_and_is_listed(desk: Desk, tmp_path: Path) -> None:
    info = await desk.service.new(rq.NewSession(title="mine"))
    assert info.workspace_folder == tmp_path.as_uri()
    assert (info.title, info.state, info.last_seq) == ("mine", "idle", 2)
    listed = await desk.service.list(rq.ListSessions())
    assert [s.session_id for s in listed.sessions] == [info.session_id]


async def test_the_answer_comes_before_the_events_that_it_caused(desk: Desk) -> None:
    order: list[str] = []

    def note(what: str) -> Any:
        return lambda future: order.append(what)

    appended, changed = desk.feed.appended, desk.feed.changed
    desk.feed.appended = lambda sid, rows: (order.append("appended"), appended(sid, rows))  # type: ignore[assignment]
    desk.feed.changed = lambda info: (order.append("changed"), changed(info))  # type: ignore[assignment]
    opening = desk.service.new(rq.NewSession())
    opening.add_done_callback(note("new"))
    info = await opening
    await until(lambda: "changed" in order)
    assert order[:3] == ["new", "appended", "changed"]
    order.clear()
    prompting = desk.service.prompt(rq.Prompt(session_id=info.session_id, text="hi"))
    prompting.add_done_callback(note("prompt"))
    await prompting
    await desk.idle(info.session_id)
    assert order[0] == "prompt"


async def test_a_verb_opens_the_session_and_is_still_answered_first(desk: Desk) -> None:
    info = await desk.service.new(rq.NewSession())
    await desk.service.close(rq.SessionOnly(session_id=info.session_id))
    other = desk.again()
    order: list[str] = []
    appended = other.feed.appended
    other.feed.appended = lambda sid, rows: (order.append("appended"), appended(sid, rows))  # type: ignore[assignment]
    first = other.service.rename(rq.RenameSession(session_id=info.session_id, title="a"))
    second = other.service.rename(rq.RenameSession(session_id=info.session_id, title="b"))
    assert (await first).title == "a"
    assert (await second).title == "b"
    await other.service.stop()


async def test_each_event_is_told_once_and_in_order(desk: Desk) -> None:
    info = await desk.service.new(rq.NewSession())
    await desk.service.prompt(rq.Prompt(session_id=info.session_id, text="hi"))
    await until(lambda: any(e.type == "turn/end" for _, e in desk.feed.events))
    seqs = [event.seq for _, event in desk.feed.events]
    assert seqs == list(range(1, len(seqs) + 1))
    page = await desk.service.events(rq.ReadEvents(session_id=info.session_id))
    assert [e.seq for e in page.events] == seqs
    assert [bytes(e.data) for e in page.events] == [event.data for _, event in desk.feed.events]


async def test_pages_of_events_have_no_gap(desk: Desk) -> None:
    info = await desk.service.new(rq.NewSession())
    await desk.service.prompt(rq.Prompt(session_id=info.session_id, text="hi"))
    await desk.idle(info.session_id)
    seen: list[int] = []
    more = True
    while more:
        page = await desk.service.events(
            rq.ReadEvents(session_id=info.session_id, after_seq=seen[-1] if seen else 0, limit=3)
        )
        seen += [e.seq for e in page.events]
        more = page.has_more
    assert seen == list(range(1, page.last_seq + 1))


async def test_events_can_be_read_without_opening_the_session(desk: Desk) -> None:
    info = await desk.service.new(rq.NewSession())
    await desk.service.close(rq.SessionOnly(session_id=info.session_id))
    other = desk.again()
    page = await other.service.events(rq.ReadEvents(session_id=info.session_id))
    assert [e.type for e in page.events] == ["session/created", "session/opened"]
    assert other.service._registry.sessions() == []


async def test_a_session_is_written_by_one_server_and_read_by_others(desk: Desk) -> None:
    info = await desk.service.new(rq.NewSession())
    other = desk.again()
    with pytest.raises(SessionLocked):
        await other.service.open(rq.OpenSession(session_id=info.session_id))
    seen = await other.service.open(rq.OpenSession(session_id=info.session_id, read_only=True))
    assert seen.read_only
    await desk.service.close(rq.SessionOnly(session_id=info.session_id))
    taken = await other.service.open(rq.OpenSession(session_id=info.session_id))
    assert not taken.read_only
    await other.service.stop()


async def test_a_running_session_is_not_closed_or_deleted(desk: Desk) -> None:
    gate = Gate()
    desk.model.replies = [[gate, *says("ok")]]
    info = await desk.service.new(rq.NewSession())
    await desk.service.prompt(rq.Prompt(session_id=info.session_id, text="hi"))
    with pytest.raises(SessionBusy, match="cancel"):
        await desk.service.close(rq.SessionOnly(session_id=info.session_id))
    with pytest.raises(SessionBusy):
        await desk.service.delete(rq.SessionOnly(session_id=info.session_id))
    gate.open()
    await desk.idle(info.session_id)
    await desk.service.delete(rq.SessionOnly(session_id=info.session_id))
    with pytest.raises(SessionNotFound):
        await desk.service.open(rq.OpenSession(session_id=info.session_id))


@pytest.mark.parametrize("session_id", ["nobody", "../etc", "", "s" * 300, "s\x00"])
async def test_an_unknown_session_is_told_so_by_every_verb(desk: Desk, session_id: str) -> None:
    only = rq.SessionOnly(session_id=session_id)
    service = desk.service
    attempts: list[Any] = [
        service.open(rq.OpenSession(session_id=session_id)),
        service.open(rq.OpenSession(session_id=session_id, read_only=True)),
        service.events(rq.ReadEvents(session_id=session_id)),
        service.prompt(rq.Prompt(session_id=session_id, text="x")),
        service.steer(rq.Steer(session_id=session_id, text="x")),
        service.cancel(rq.CancelTurn(session_id=session_id)),
        service.rename(rq.RenameSession(session_id=session_id, title="x")),
        service.configure(rq.ConfigureSession(session_id=session_id, mode="plan")),
        service.remove_message(rq.RemoveMessage(session_id=session_id, message_id="x")),
        service.update_message(rq.UpdateMessage(session_id=session_id, message_id="x", text="x")),
        service.release_queue(only),
        service.close(only),
        service.delete(only),
    ]
    for attempt in attempts:
        with pytest.raises(SessionNotFound):
            await attempt


async def test_without_a_model_words_are_refused_and_nothing_is_queued(desk: Desk) -> None:
    desk.model.configured = False
    info = await desk.service.new(rq.NewSession())
    with pytest.raises(NotConfigured):
        await desk.service.prompt(rq.Prompt(session_id=info.session_id, text="hi"))
    with pytest.raises(NotConfigured):
        await desk.service.steer(rq.Steer(session_id=info.session_id, text="hi"))
    page = await desk.service.events(rq.ReadEvents(session_id=info.session_id))
    assert page.last_seq == 2


async def test_a_session_of_a_folder_that_is_not_open_here_is_only_read(desk: Desk, tmp_path: Path) -> None:
    info = await desk.service.new(rq.NewSession())
    await desk.service.close(rq.SessionOnly(session_id=info.session_id))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    other = Desk(desk.store, desk.model, elsewhere)
    with pytest.raises(WorkspaceMismatch) as refused:
        await other.service.prompt(rq.Prompt(session_id=info.session_id, text="hi"))
    assert refused.value.data == {"session": tmp_path.as_uri(), "open": [elsewhere.as_uri()]}
    seen = await other.service.open(rq.OpenSession(session_id=info.session_id, read_only=True))
    assert seen.workspace_folder == tmp_path.as_uri()
    await desk.service.open(rq.OpenSession(session_id=info.session_id))


async def test_a_workspace_that_does_not_exist_is_refused(desk: Desk, tmp_path: Path) -> None:
    with pytest.raises(InvalidParams, match="exists"):
        await desk.service.new(rq.NewSession(workspace_folder=(tmp_path / "gone").as_uri()))
    with pytest.raises(InvalidParams):
        await desk.service.new(rq.NewSession(workspace_folder="not a uri"))
    assert await desk.store.count() == 0


async def test_a_damaged_session_is_refused_but_shown_with_its_damage(desk: Desk) -> None:
    info = await desk.service.new(rq.NewSession())
    await desk.service.prompt(rq.Prompt(session_id=info.session_id, text="hi"))
    await desk.idle(info.session_id)
    await desk.service.close(rq.SessionOnly(session_id=info.session_id))
    del desk.store.sessions[info.session_id].rows[6]
    other = desk.again()
    with pytest.raises(SessionCorrupt, match="event 8"):
        await other.service.open(rq.OpenSession(session_id=info.session_id))
    seen = await other.service.open(rq.OpenSession(session_id=info.session_id, read_only=True))
    assert seen.damaged is not None
    assert (seen.damaged.seq, seen.last_seq, seen.read_only) == (8, 6, True)


async def test_a_list_is_newest_first_in_pages_and_can_be_searched(desk: Desk) -> None:
    for n in range(5):
        await desk.service.new(rq.NewSession(title=f"Session {n}"))
        await asyncio.sleep(0.002)
    first = await desk.service.list(rq.ListSessions(limit=2))
    second = await desk.service.list(rq.ListSessions(limit=2, cursor=first.next_cursor))
    third = await desk.service.list(rq.ListSessions(limit=2, cursor=second.next_cursor))
    titles = [s.title for page in (first, second, third) for s in page.sessions]
    assert titles == [f"Session {n}" for n in (4, 3, 2, 1, 0)]
    assert third.next_cursor is None
    found = await desk.service.list(rq.ListSessions(query="session 3"))
    assert [s.title for s in found.sessions] == ["Session 3"]
    with pytest.raises(InvalidParams):
        await desk.service.list(rq.ListSessions(cursor="nonsense"))


async def test_a_list_survives_missing_and_broken_headers(desk: Desk) -> None:
    info = await desk.service.new(rq.NewSession(title="kept"))
    await desk.service.close(rq.SessionOnly(session_id=info.session_id))
    for header in (None, b"{broken", b"[]"):
        desk.store.sessions[info.session_id].header = header
        listed = await desk.again().service.list(rq.ListSessions())
        assert [s.title for s in listed.sessions] == ["kept"]
    assert msgspec.json.decode(desk.store.sessions[info.session_id].header or b"")["title"] == "kept"


async def test_a_check_that_cannot_be_run_refuses_the_prompt(desk: Desk) -> None:
    info = await desk.service.new(rq.NewSession())
    with pytest.raises(Unsupported, match="judge"):
        await desk.service.prompt(
            rq.Prompt(session_id=info.session_id, text="hi", checks=[JudgeCheck(question="good?")])
        )


async def test_losing_trust_stops_the_running_turn(desk: Desk) -> None:
    gate = Gate()
    desk.model.replies = [[gate, *says("ok")]]
    info = await desk.service.new(rq.NewSession())
    await desk.service.prompt(rq.Prompt(session_id=info.session_id, text="hi"))
    await gate.reached.wait()
    desk.service.trust(rq.Trust(trusted=False))
    await desk.idle(info.session_id)
    ends = [e.data for _, e in desk.feed.events if e.type == "turn/end"]
    assert ends == [b'{"turn":1,"reason":{"kind":"aborted","by":"trust"}}']


async def test_an_ordered_stop_ends_the_turn_and_gives_the_session_back(desk: Desk) -> None:
    gate = Gate()
    desk.model.replies = [[gate, *says("ok")]]
    info = await desk.service.new(rq.NewSession())
    await desk.service.prompt(rq.Prompt(session_id=info.session_id, text="hi"))
    await desk.service.prompt(rq.Prompt(session_id=info.session_id, text="later"))
    await gate.reached.wait()
    await desk.service.stop()
    rows = desk.store.sessions[info.session_id].rows
    assert b'"by":"shutdown"' in next(r.data for r in rows if r.type == "turn/end")
    other = desk.again()
    opened = await other.service.open(rq.OpenSession(session_id=info.session_id))
    assert opened.queue.held == "restart"
    assert opened.task == "PAUSED"
    await other.service.stop()


async def test_status_tells_what_is_configured(desk: Desk) -> None:
    status = await desk.service.status(rq.Nothing())
    assert (status.protocol_version, status.model.configured, status.sessions) == (1, True, 0)
    await desk.service.set_credentials(rq.SetCredentials(api_key="k"))
    assert desk.model.key == "k"


async def test_a_command_without_a_session_uses_the_latest_or_a_new_one(desk: Desk, tmp_path: Path) -> None:
    first = await desk.service.latest(tmp_path.as_uri())
    assert await desk.service.latest(tmp_path.as_uri()) == first
    second = await desk.service.new(rq.NewSession())
    await desk.service.rename(rq.RenameSession(session_id=second.session_id, title="newer"))
    assert await desk.service.latest(None) == second.session_id


async def test_a_session_works_in_its_own_folder_first(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("a", "b", "c")]
    for folder in folders:
        folder.mkdir()
    desk = Desk(MemoryStore(), ScriptedReplies([]), *folders)
    info = await desk.service.new(rq.NewSession(workspace_folder=folders[1].as_uri()))
    session = desk.service._registry.find(info.session_id)
    assert session is not None
    assert [folder.name for folder in session.services.editor.folders()] == ["b", "a", "c"]
    await desk.service.stop()


async def test_a_goal_command_needs_a_model_only_where_it_arms(desk: Desk) -> None:
    desk.model.configured = False
    info = await desk.service.new(rq.NewSession())

    async def say(text: str) -> rq.GoalAnswer:
        return await desk.service.command_goal(rq.CommandGoal(session_id=info.session_id, text=text))

    assert (await say("/goal")).ok
    refused = await say("/goal make it work")
    assert not refused.ok
    assert refused.goal is None
    with pytest.raises(NotConfigured):
        await desk.service.create_goal(rq.CreateGoal(session_id=info.session_id, objective="x"))
