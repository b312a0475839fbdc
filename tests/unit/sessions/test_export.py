"""Exports: every event as it is stored, a transcript for people, and never a secret."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from steersman.domain import events as ev
from steersman.domain.messages import ContextItem
from steersman.errors import ModelFailed, SessionNotFound
from steersman.loop.journal import Into
from steersman.ports.event_log_memory import MemoryStore
from steersman.ports.model_double import Gate, ScriptedReplies, calls, done, says, text
from steersman.sessions import requests as rq
from steersman.sessions.export import export
from tests.unit.loop.harness import StandInTool, start
from tests.unit.sessions.logs import ID, goal_run, rows_of, stored
from tests.unit.sessions.test_recovery import rich_run
from tests.unit.sessions.test_service import Desk

CANARY = "sk-canary0123456789abcdef"


def same(words: str) -> str:
    return words


async def jsonl(store: MemoryStore, session_id: str = ID, redact: Any = same) -> list[dict[str, Any]]:
    exported = await export(store, session_id, "jsonl", redact)
    assert exported.endswith("\n") or not exported
    return [json.loads(line) for line in exported.splitlines()]


async def markdown(store: MemoryStore, session_id: str = ID, redact: Any = same) -> str:
    return await export(store, session_id, "markdown", redact)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    desk = Desk(MemoryStore(), ScriptedReplies([says("ok") for _ in range(10)]), tmp_path)
    yield desk
    await desk.service.stop()


async def test_jsonl_is_every_event_as_it_is_stored_chunks_too() -> None:
    for rows in ((await rich_run())[1], rows_of(await goal_run())):
        store = await stored(rows)
        lines = (await export(store, ID, "jsonl", same)).splitlines()
        assert lines == [msgspec.json.encode(rq.event_view(ID, row)).decode() for row in rows]
        assert [json.loads(line)["seq"] for line in lines] == list(range(1, len(rows) + 1))
        assert all(row.data.decode() in line for row, line in zip(rows, lines, strict=True))


async def test_a_transcript_shows_what_the_model_went_on_from() -> None:
    loop, model = await start([says("a" * 2000) for _ in range(5)])
    for n in range(5):
        await loop.prompt(f"question {n}")
        await loop.idle()
    for reply in (says("They greeted."), [ModelFailed("auth", "bad key")]):
        model.summaries = [reply]
        asked: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        loop.agent.compact(Into(asked, lambda found: found))
        await asked
        loop.agent.prompt(loop.words("and?"))
        model.replies = [says("b" * 2000)] * 4
        await loop.idle()
        for _ in range(3):
            await loop.prompt("more")
            await loop.idle()
    shown = await markdown(loop.store)
    assert "made shorter for the model" in shown
    assert "> They greeted." in shown
    assert "question 0" in shown
    assert "bad key" in shown


async def test_a_transcript_tells_who_said_what_and_what_was_done() -> None:
    work = StandInTool("work", result="line\n```\n" + "\n".join(f"row {n}" for n in range(30)))
    loop, _ = await start(
        [
            [text("I will look."), *calls(("work", {"name": "`tick`"}))],
            [ModelFailed("server", "503 from afar", retryable=True, retry_after=0)],
            says("# All done\n\nIt works."),
        ],
        [work],
    )
    await loop.prompt("Fix it\n\nplease", context=[ContextItem(uri="file:///w/a.py")])
    await loop.idle()
    shown = await markdown(loop.store)
    parts = (
        "# Fix it please",
        "## Turn 1",
        "> Fix it\n>\n> please\n> attached: file:///w/a.py",
        "**Steersman**\n\nI will look.",
        '- `work` `{"name":"\'tick\'"}`',
        "  ````text",
        "  … ",
        "*The model did not answer (server: 503 from afar); tried again.*",
        "**Steersman**\n\n# All done\n\nIt works.",
        "3 requests",
    )
    at = [shown.index(part) for part in parts]
    assert at == sorted(at)
    assert "row 29" not in shown


async def test_a_transcript_tells_of_goals_their_rounds_and_their_checks() -> None:
    shown = await markdown(await stored(rows_of(await goal_run())))
    for part in (
        "*Goal: create by human: The first.*",
        "## Turn 1, a round of the goal",
        "**Goal**, round 1",
        "*Checks (claim): fail*",
        "**error NOT_VERIFIED**",
        "*Goal: complete by model: The first.*",
        "> a question",
    ):
        assert part in shown
    assert "<goal_round>" not in shown


async def test_what_still_waits_and_what_was_interrupted_is_told(desk: Desk) -> None:
    gate = Gate()
    desk.model.replies = [[text("half"), gate, done()]]
    info = await desk.service.new(rq.NewSession())
    await desk.service.prompt(rq.Prompt(session_id=info.session_id, text="one"))
    await desk.service.prompt(rq.Prompt(session_id=info.session_id, text="and\nthis"))
    await gate.reached.wait()
    shown = await markdown(desk.store, info.session_id)
    assert "## Still waiting\n\n> and\n> this" in shown
    gate.open()
    await desk.idle(info.session_id)


@pytest.mark.parametrize("form", ["jsonl", "markdown"])
async def test_no_secret_leaves_through_an_export(form: Any) -> None:
    """In the words of people and models, in arguments, and in pieces over several chunks."""
    pieces = [text(piece) for piece in ("It is sk-can", "ary012345", "6789abcdef", " I think")]
    loop, _ = await start(
        [calls(("work", {"name": CANARY})), [*pieces, done()], says("my own-odd-secret is known")],
        [StandInTool("work")],
    )
    await loop.prompt(f'use {CANARY} and password = "hunter2hunter2x" please')
    await loop.idle()
    await loop.prompt("go on")
    await loop.idle()
    exported = await export(loop.store, ID, form, lambda words: words.replace("own-odd-secret", "***"))
    for secret in (CANARY, "hunter2hunter2x", "own-odd-secret", "ary012345", "6789abcdef"):
        assert secret not in exported
    assert "I think" in exported
    assert "my *** is known" in exported
    if form == "jsonl":
        rows = [json.loads(line) for line in exported.splitlines()]
        assert [row["seq"] for row in rows] == list(range(1, loop.state.last_seq + 1))
        for row in rows:
            ev.decode_data(row["type"], json.dumps(row["data"]).encode(), ignorable=False)


async def test_a_damaged_session_is_exported_up_to_its_damage_and_says_so(desk: Desk) -> None:
    rows = (await rich_run())[1]
    broken = [*rows[:20], msgspec.structs.replace(rows[20], type="turn/start"), *rows[21:]]
    store = await stored(broken)
    shown = await markdown(store)
    assert "**The log is damaged at event 21**" in shown
    assert "> first" in shown
    assert [line["seq"] for line in await jsonl(store)][:20] == list(range(1, 21))


async def test_an_event_that_cannot_be_read_is_told_and_breaks_no_line() -> None:
    rows = (await rich_run())[1]
    store = await stored([*rows[:9], msgspec.structs.replace(rows[9], data=b'{"a\xff'), *rows[10:]])
    assert len(await jsonl(store)) == len(rows)
    assert "Event 10 (" in await markdown(store)


async def test_a_session_that_is_open_elsewhere_is_exported(desk: Desk) -> None:
    info = await desk.service.new(rq.NewSession(title="mine"))
    other = desk.again()
    for form in ("jsonl", "markdown"):
        params = rq.ExportSession(session_id=info.session_id, format=form)  # type: ignore[arg-type]
        assert (await other.service.export(params)).text
    with pytest.raises(SessionNotFound):
        await other.service.export(rq.ExportSession(session_id="s-nobody", format="jsonl"))
    await other.service.stop()


async def test_the_key_in_memory_is_in_no_export(desk: Desk) -> None:
    await desk.service.set_credentials(rq.SetCredentials(api_key="a-key-like-no-other"))
    info = await desk.service.new(rq.NewSession(title="a-key-like-no-other"))
    await desk.service.prompt(rq.Prompt(session_id=info.session_id, text="It is a-key-like-no-other."))
    await desk.idle(info.session_id)
    for form in ("jsonl", "markdown"):
        params = rq.ExportSession(session_id=info.session_id, format=form)  # type: ignore[arg-type]
        assert "no-other" not in (await desk.service.export(params)).text


class Screen:
    """A viewer that shows, or does not."""

    def __init__(self, answer: bool) -> None:
        self.answer = answer
        self.asked: list[Path] = []

    async def show(self, path: Path) -> bool:
        self.asked.append(path)
        return self.answer


@pytest.mark.parametrize("viewer", [Screen(True), Screen(False), None])
async def test_a_transcript_is_written_and_shown_where_the_client_can(desk: Desk, viewer: Any) -> None:
    desk.service._viewer = viewer
    info = await desk.service.new(rq.NewSession(title="mine"))
    shown = await desk.service.show_transcript(rq.SessionOnly(session_id=info.session_id))
    assert shown.shown is bool(viewer and viewer.answer)
    assert shown.uri.endswith("/transcript.md")
    written = desk.store.sessions[info.session_id].transcript
    assert written is not None
    assert written.startswith("# mine\n")
    if viewer is not None:
        assert [path.as_uri() for path in viewer.asked] == [shown.uri]
