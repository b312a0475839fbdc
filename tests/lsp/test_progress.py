"""Progress: one token a turn, begun, reported and ended in order, and its cancel cancels that turn."""

from __future__ import annotations

import asyncio
from asyncio import Future
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from steersman.domain.events import EventData, StoredEvent, TurnStart, UserMessage, make_event, to_stored
from steersman.domain.messages import Human, Notice, Source
from steersman.domain.usage import Usage
from steersman.domain.value import clean_text
from steersman.domain.views import ContextView, QueueView, SessionInfo
from steersman.errors import TurnMismatch
from steersman.lsp.documents import OpenDocuments
from steersman.lsp.features.progress import ProgressFeed
from steersman.ports.feed import Feed
from steersman.sessions.requests import Cancelled, CancelTurn
from tests.lsp.fake_editor import FakeEditor

CREATE = "window/workDoneProgress/create"
IDLE = SessionInfo(
    session_id="s1",
    title="A title",
    workspace_folder=None,
    created_at=1,
    updated_at=1,
    last_seq=1,
    state="idle",
    waiting_on=None,
    turn=None,
    step=None,
    queue=QueueView(next_turn=[], next_step=[], held=None),
    goal=None,
    task="IDLE",
    plan=None,
    model="m",
    mode="agent",
    usage=Usage(),
    context=ContextView(used_tokens=0, window_tokens=None, estimated=False),
    read_only=False,
)


def info(**members: Any) -> SessionInfo:
    return msgspec.structs.replace(IDLE, **members)


def running(
    turn: int = 1, step: int | None = 1, waiting_on: str | None = "model", **more: Any
) -> SessionInfo:
    return info(state="running", turn=turn, step=step, waiting_on=waiting_on, **more)


def said(*words: tuple[str, Source], turn: int = 1) -> list[StoredEvent]:
    data: list[EventData] = [TurnStart(turn=turn, trigger="human")]
    data += [
        UserMessage(turn=turn, step=1, message_id=f"m{n}", source=source, text=text)
        for n, (text, source) in enumerate(words)
    ]
    return [to_stored(make_event("s1", seq, 1, each)) for seq, each in enumerate(data, 1)]


class Screen:
    """A client that shows progress, and the turns that were cancelled from there."""

    def __init__(self) -> None:
        self.client = FakeEditor(OpenDocuments())
        self.client.answer(CREATE, None)
        self.cancelled: list[CancelTurn] = []
        self.feed = ProgressFeed(self.client, self.cancel, request_timeout_seconds=0.2)

    def cancel(self, params: CancelTurn) -> Future[Cancelled]:
        self.cancelled.append(params)
        answer: Future[Cancelled] = asyncio.get_running_loop().create_future()
        answer.set_exception(TurnMismatch("it is over"))
        return answer

    @property
    def shown(self) -> list[dict[str, Any]]:
        return [params["value"] for method, params in self.client.notified if method == "$/progress"]

    @property
    def tokens(self) -> list[str]:
        return [params["token"] for method, params in self.client.calls if method == CREATE]

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(5):
            while not condition():
                await asyncio.sleep(0)


@pytest.fixture
async def screen() -> Screen:
    return Screen()


async def begun(screen: Screen, first: SessionInfo) -> None:
    already = len(screen.shown)
    screen.feed.changed(first)
    await screen.until(lambda: any(value["kind"] == "begin" for value in screen.shown[already:]))


async def test_a_turn_begins_reports_and_ends(screen: Screen) -> None:
    feed: Feed = screen.feed
    feed.appended("s1", said(("notice", Notice(name="n")), ("Fix  the\nparser", Human()), ("steer", Human())))
    await begun(screen, running())
    feed.changed(running(usage=Usage(requests=1)))
    feed.changed(running(waiting_on="approval"))
    feed.changed(running(step=2, waiting_on=None))
    feed.changed(info())
    feed.changed(info())
    assert screen.shown == [
        {
            "kind": "begin",
            "title": "Fix the parser",
            "cancellable": True,
            "message": "step 1: waiting for the model",
        },
        {"kind": "report", "cancellable": True, "message": "step 1: waiting for your approval"},
        {"kind": "report", "cancellable": True, "message": "step 2"},
        {"kind": "end"},
    ]
    assert len(screen.tokens) == 1
    assert {params["token"] for _, params in screen.client.notified} == set(screen.tokens)


async def test_a_turn_that_follows_at_once_has_a_token_and_a_title_of_its_own(screen: Screen) -> None:
    screen.feed.appended("s1", said(("first", Human())))
    await begun(screen, running(turn=1))
    screen.feed.appended("s1", said(("x" * 100, Human()), turn=2))
    await begun(screen, running(turn=2))
    assert [value.get("title", value["kind"]) for value in screen.shown] == ["first", "end", "x" * 59 + "…"]
    assert len(set(screen.tokens)) == 2


async def test_a_turn_without_a_persons_words_has_the_sessions_title(screen: Screen) -> None:
    screen.feed.appended("s1", said(("notice", Notice(name="n"))))
    await begun(screen, running(title="Bad \ud800 title"))
    assert screen.shown[0]["title"] == clean_text("Bad \ud800 title")


async def test_maintenance_shows_nothing(screen: Screen) -> None:
    screen.feed.changed(info(state="maintenance"))
    assert screen.client.calls == []


async def test_cancelling_a_token_cancels_its_turn_and_no_other(screen: Screen) -> None:
    await begun(screen, running(turn=4))
    await begun(screen, running(turn=9, session_id="s2"))
    screen.feed.cancelled(screen.tokens[1])
    assert screen.cancelled == [CancelTurn(session_id="s2", expected_turn=9)]
    screen.feed.changed(info(session_id="s2"))
    for token in (screen.tokens[1], "unknown", 5, None, ["x"]):
        screen.feed.cancelled(token)
    assert len(screen.cancelled) == 1


@pytest.mark.parametrize("answer", [RuntimeError("-32601"), TimeoutError()])
async def test_a_client_that_gives_no_token_is_shown_nothing(screen: Screen, answer: Exception) -> None:
    screen.client.answer(CREATE, answer)
    screen.feed.changed(running())
    await screen.until(lambda: bool(screen.tokens))
    await asyncio.sleep(0)
    screen.feed.changed(running(step=2))
    screen.feed.changed(info())
    assert screen.shown == []


async def test_a_turn_that_ends_before_its_token_came_never_begins(screen: Screen) -> None:
    answered = asyncio.Event()

    async def slow(_: dict[str, Any]) -> Any:
        await answered.wait()

    screen.client.answers[CREATE] = slow
    screen.feed.changed(running())
    await screen.until(lambda: bool(screen.tokens))
    screen.feed.changed(info())
    answered.set()
    await screen.until(lambda: len(asyncio.all_tasks()) == 1)
    assert screen.shown == []


async def test_what_happened_before_the_token_came_is_the_first_message(screen: Screen) -> None:
    screen.feed.changed(running())
    screen.feed.changed(running(step=5, waiting_on="tool"))
    await screen.until(lambda: bool(screen.shown))
    assert [value["message"] for value in screen.shown] == ["step 5: running tools"]
