"""Stored sessions over the wire: fork, export, transcript, repair, a second server, another folder."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from pygls.exceptions import JsonRpcException

from tests.e2e.editor import Editor, editor, path_of, plain, script


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    made.mkdir()
    return made


def options(tmp_path: Path, *lines: Any) -> dict[str, Any]:
    replies = script(tmp_path / "script.jsonl", *(lines or [{"text": f"answer {n}"} for n in range(9)]))
    return {"stateDir": str(tmp_path / "state"), "scriptedModel": str(replies)}


async def refused(ed: Editor, method: str, params: Any) -> tuple[int, Any]:
    """The code and the data of a refusal."""
    with pytest.raises(JsonRpcException) as error:
        await ed.request(method, params)
    return error.value.code, plain(error.value.data)


async def test_a_session_is_forked_exported_and_shown(
    tmp_path: Path, folder: Path, clean_env: dict[str, str]
) -> None:
    async with editor(folder, options(tmp_path), env=clean_env) as ed:
        parent = await ed.new(title="Parent")
        await ed.run(parent, "one")
        first_end = next(e["seq"] for e in ed.events if e["type"] == "turn/end")
        await ed.run(parent, "two")
        ed.order.clear()
        seen = len(ed.events)
        child = await ed.request("steersman/session/fork", {"sessionId": parent, "atSeq": first_end})
        await ed.until(lambda: len(ed.events) > seen)
        assert ed.order[0] == "didAppend"
        assert child["parent"] == {"sessionId": parent, "seq": first_end}
        assert {e["sessionId"] for e in ed.events[seen:]} == {child["sessionId"]}
        assert ed.events[seen]["seq"] == first_end + 1
        theirs = await ed.request("steersman/session/events", {"sessionId": parent})
        ours = await ed.request("steersman/session/events", {"sessionId": child["sessionId"]})
        assert [(e["seq"], e["type"], e["data"]) for e in ours["events"][1:first_end]] == [
            (e["seq"], e["type"], e["data"]) for e in theirs["events"][1:first_end]
        ]
        assert await ed.run(child["sessionId"], "three") == {"kind": "completed"}
        exported = await ed.request(
            "steersman/session/export", {"sessionId": child["sessionId"], "format": "jsonl"}
        )
        lines = [json.loads(line) for line in exported["text"].splitlines()]
        assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
        params = {"sessionId": parent, "format": "markdown"}
        shown = (await ed.request("steersman/session/export", params))["text"]
        assert shown.startswith("# Parent\n")
        assert shown.index("> one") < shown.index("answer 0") < shown.index("> two")
        answer = await ed.command("steersman.showTranscript", {"sessionId": parent})
        assert answer["shown"] is True
        assert [document.uri for document in ed.client.shown_documents] == [answer["uri"]]
        assert path_of(answer["uri"]).read_text(encoding="utf-8") == shown
        code, data = await refused(ed, "steersman/session/fork", {"sessionId": parent, "atSeq": 10_000})
        assert (code, data) == (-32602, {"errors": [f"$.atSeq: the last event is {theirs['lastSeq']}"]})


async def test_what_destroys_needs_a_name(tmp_path: Path, folder: Path, clean_env: dict[str, str]) -> None:
    async with editor(folder, options(tmp_path), env=clean_env) as ed:
        session = await ed.new()
        for arguments in ([], [{}], [{"sessionId": None}]):
            with pytest.raises(JsonRpcException, match="sessionId") as error:
                await ed.command("steersman.deleteSession", *arguments)
            assert error.value.code == -32602
        listed = await ed.request("steersman/session/list")
        assert [info["sessionId"] for info in listed["sessions"]] == [session]
        assert await ed.command("steersman.deleteSession", {"sessionId": session}) == {}
        assert (await ed.request("steersman/session/list"))["sessions"] == []


async def test_a_damaged_session_is_refused_read_and_repaired(
    tmp_path: Path, folder: Path, clean_env: dict[str, str]
) -> None:
    async with editor(folder, options(tmp_path), env=clean_env) as ed:
        session = await ed.new()
        await ed.run(session, "one")
        await ed.run(session, "two")
        only = {"sessionId": session}
        await ed.request("steersman/session/close", only)
        database = tmp_path / "state" / "sessions" / session / "session.db"
        with contextlib.closing(sqlite3.connect(database)) as connection, connection:
            connection.execute("UPDATE events SET data = CAST('{}' AS BLOB) WHERE seq = 20")
        code, data = await refused(ed, "steersman/session/open", only)
        assert (code, data["kind"], data["seq"]) == (-32803, "sessionCorrupt", 20)
        assert data["reason"]
        code, data = await refused(ed, "steersman/turn/prompt", {**only, "text": "x"})
        assert (code, data["kind"]) == (-32803, "sessionCorrupt")
        seen = await ed.request("steersman/session/open", {**only, "readOnly": True})
        assert (seen["readOnly"], seen["damaged"]["seq"], seen["lastSeq"]) == (True, 20, 19)
        exported = await ed.request("steersman/session/export", {**only, "format": "markdown"})
        assert "damaged at event 20" in exported["text"]
        code, data = await refused(ed, "steersman/session/repair", {**only, "throughSeq": 20})
        assert (code, data["kind"], data["seq"]) == (-32803, "sessionCorrupt", 20)
        repaired = await ed.request("steersman/session/repair", {**only, "throughSeq": 19})
        assert (repaired["readOnly"], repaired["state"]) == (False, "idle")
        assert "damaged" not in repaired
        opened = await ed.event("session/opened", after=len(ed.events) - 10)
        assert opened["data"]["reason"] == "repair"
        assert await ed.run(session, "three") == {"kind": "completed"}
        assert sorted(p.name for p in database.parent.glob("*.db")) == ["damaged-1.db", "session.db"]
        code, data = await refused(ed, "steersman/session/repair", {**only, "throughSeq": 5})
        assert (code, data["kind"]) == (-32803, "unsupported")


async def test_a_second_server_reads_forks_and_exports_but_does_not_write(
    tmp_path: Path, folder: Path, clean_env: dict[str, str]
) -> None:
    told = options(tmp_path)
    async with editor(folder, told, env=clean_env) as one, editor(folder, told, env=clean_env) as two:
        session = await one.new()
        await one.run(session, "one")
        for method, more in (
            ("session/open", {}),
            ("turn/prompt", {"text": "mine"}),
            ("session/delete", {}),
        ):
            code, data = await refused(two, f"steersman/{method}", {"sessionId": session, **more})
            assert (code, data["kind"], data["retryable"]) == (-32803, "sessionLocked", True)
            assert data["holder"]["pid"] == one.pid
        seen = await two.request("steersman/session/open", {"sessionId": session, "readOnly": True})
        assert seen["readOnly"] is True
        params = {"sessionId": session, "format": "markdown"}
        assert "> one" in (await two.request("steersman/session/export", params))["text"]
        child = await two.request("steersman/session/fork", {"sessionId": session})
        assert await two.run(child["sessionId"], "theirs") == {"kind": "completed"}
        await one.run(session, "two")
        await one.request("steersman/session/close", {"sessionId": session})
        taken = await two.request("steersman/session/open", {"sessionId": session})
        assert (taken["readOnly"], taken["state"]) == (False, "idle")


async def test_a_session_of_another_folder_is_only_read_here(
    tmp_path: Path, folder: Path, clean_env: dict[str, str]
) -> None:
    told = options(tmp_path)
    async with editor(folder, told, env=clean_env) as ed:
        session = await ed.new()
        await ed.run(session, "one")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    only = {"sessionId": session}
    async with editor(elsewhere, told, env=clean_env) as ed:
        for method, params in (("session/open", only), ("session/fork", only)):
            code, data = await refused(ed, f"steersman/{method}", params)
            assert (code, data["kind"]) == (-32803, "workspaceMismatch")
            assert (data["session"], data["open"]) == (folder.as_uri(), [elsewhere.as_uri()])
        seen = await ed.request("steersman/session/open", {**only, "readOnly": True})
        assert seen["workspaceFolder"] == folder.as_uri()
    link = tmp_path / "link"
    link.symlink_to(folder)
    async with editor(link, told, env=clean_env) as ed:
        assert (await ed.request("steersman/session/open", only))["readOnly"] is False
    folder.rename(tmp_path / "gone")
    async with editor(tmp_path / "gone", told, env=clean_env) as ed:
        code, data = await refused(ed, "steersman/session/open", only)
        assert data["kind"] == "workspaceMismatch"
        seen = await ed.request("steersman/session/open", {**only, "readOnly": True})
        assert seen["title"] == "one"
