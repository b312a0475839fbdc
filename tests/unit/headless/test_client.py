"""The headless client with the real server over stdio."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from steersman.headless.client import HeadlessClient
from steersman.headless.connection import RequestFailed, ServerGone
from steersman.headless.run import SERVER, server_environment
from steersman.headless.text_edits import Encoding
from tests.unit.headless.servers import program

FACES = "# 😀é中\r\nmood = '😀 sad'  # 😀\r\n"


async def deny(asked: Mapping[str, Any]) -> dict[str, Any]:
    return {"decision": "deny"}


@asynccontextmanager
async def client_on(
    folder: Path, *lines: Any, encodings: tuple[Encoding, ...] = ("utf-16",)
) -> AsyncIterator[HeadlessClient]:
    """A client with a real server and a scripted model; its state is beside the folder."""
    script = folder.parent / "script.jsonl"
    script.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    options = {"stateDir": str(folder.parent / "state"), "scriptedModel": str(script)}
    client = await HeadlessClient.start(
        SERVER, folder, options, deny, server_environment(os.environ), encodings
    )
    try:
        yield client
    finally:
        await client.stop()


async def turn(client: HeadlessClient) -> list[Mapping[str, Any]]:
    """Prompt in a new session; the events until the end of the turn."""
    events: list[Mapping[str, Any]] = []
    client.on_event = events.append
    session = await client.request("steersman/session/new", {})
    await client.request("steersman/turn/prompt", {"sessionId": session["sessionId"], "text": "Go."})
    async with asyncio.timeout(30):
        await client.until(lambda: any(event["type"] == "turn/end" for event in events))
    return events


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "mood.py").write_bytes(FACES.encode())
    return folder


def edit_of(path: str) -> dict[str, Any]:
    edits = [{"old_text": "sad", "new_text": "😀😀 glad"}]
    return {"toolCalls": [{"name": "edit_file", "arguments": {"path": path, "edits": edits}}]}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
async def test_an_edit_behind_wide_characters_lands_where_it_is_meant(
    folder: Path, encoding: Encoding
) -> None:
    opened, closed = folder / "mood.py", folder / "closed.py"
    closed.write_bytes(FACES.encode())
    lines = [edit_of(opened.name), edit_of(closed.name), {"text": "Done."}]
    async with client_on(folder, *lines, encodings=(encoding,)) as client:
        assert client.editor.encoding == encoding
        client.editor.open(opened.as_uri())
        events = await turn(client)
        outcomes = [event["data"]["outcome"] for event in events if event["type"] == "tool/result"]
        assert outcomes == ["ok", "ok"]
        assert [*client.editor.buffers] == [opened.as_uri()]
    meant = FACES.replace("sad", "😀😀 glad")
    assert (opened.read_bytes().decode(), closed.read_bytes().decode()) == (meant, meant)


async def test_the_events_of_a_session_come_without_gap_or_repetition(folder: Path) -> None:
    async with client_on(folder, edit_of("mood.py"), {"text": "Done."}) as client:
        events = await turn(client)
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))


async def test_a_stop_in_order_ends_the_server_with_0(folder: Path) -> None:
    async with client_on(folder) as client:
        await client.stop()
        assert await client.connection.ended(0) == 0
        with pytest.raises(ServerGone):
            await client.request("steersman/status", {})


async def test_who_waits_for_events_is_told_that_the_server_is_gone(folder: Path) -> None:
    script = """
    answer(read(), {"capabilities": {}})
    read()
    print("out of memory", file=sys.stderr)
    """
    client = await HeadlessClient.start(program(script), folder, {}, deny)
    with pytest.raises(ServerGone, match="out of memory"):
        await client.until(lambda: False)
    await client.stop()


async def test_a_server_that_refuses_to_start_is_ended(folder: Path) -> None:
    script = """
    send(id=read()["id"], error={"code": -32803, "message": "the state folder cannot be used"})
    time.sleep(600)
    """
    with pytest.raises(RequestFailed, match="state folder"):
        await HeadlessClient.start(program(script), folder, {}, deny)


async def test_a_server_that_does_not_want_to_end_is_ended(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steersman.headless.client.STOP_SECONDS", 0.1)
    script = """
    answer(read(), {"capabilities": {}})
    while True:
        time.sleep(600)
    """
    client = await HeadlessClient.start(program(script), folder, {}, deny)
    await client.stop()
    assert await client.connection.ended(0) is not None
