"""The client's ports over the real server and a real socket: notifications and answers keep their order."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest
from lsprotocol import converters, types

from steersman.domain.settings import Settings
from steersman.lsp.documents import OpenDocuments
from steersman.lsp.transport import serve
from steersman.ports.editor import Applied, Replacement
from steersman.sessions.api import SessionApi
from steersman.sessions.client_ports import ClientPorts
from steersman.sessions.requests import Cancelled, CancelTurn
from tests.lsp.fake_editor import FakeEditor
from tests.lsp.test_approvals import asked
from tests.lsp.test_editor_apply import edit_of
from tests.lsp.test_progress import info, running

CONVERTER = converters.get_converter()
CAPABILITIES = {
    "workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}},
    "window": {"workDoneProgress": True},
}
OPTIONS = {"loop": {"clientRequestTimeoutSeconds": 0.5}}


class Sessions:
    """As much of the sessions as the client's ports need: it hears of cancelled turns."""

    def __init__(self) -> None:
        self.cancelled: list[CancelTurn] = []

    def cancel(self, params: CancelTurn) -> asyncio.Future[Cancelled]:
        self.cancelled.append(params)
        return asyncio.get_running_loop().create_future()

    async def stop(self) -> None:
        return


class Wire:
    """A client whose editor's notifications and answers travel as frames; it is the editor's `documents`."""

    encoding = "utf-8"

    def __init__(self, root: Path, writer: asyncio.StreamWriter) -> None:
        self.root = root
        self.sessions = Sessions()
        self.editor = FakeEditor(cast(OpenDocuments, self))
        self.progress: list[dict[str, Any]] = []
        self.withdrawn: list[Any] = []
        self.silent: set[str] = set()
        self._writer = writer
        self._built: asyncio.Future[ClientPorts] = asyncio.get_running_loop().create_future()

    def build(self, settings: Settings, ports: ClientPorts) -> SessionApi:
        assert settings.loop.client_request_timeout_seconds == 0.5
        self._built.set_result(ports)
        return cast(SessionApi, self.sessions)

    async def ports(self) -> ClientPorts:
        return await self._built

    def did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        self.send(method=types.TEXT_DOCUMENT_DID_OPEN, params=CONVERTER.unstructure(params))

    def did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        self.send(method=types.TEXT_DOCUMENT_DID_CHANGE, params=CONVERTER.unstructure(params))

    def send(self, **message: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    async def run(self, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError):  # the server closed
            while True:
                header = await reader.readuntil(b"\r\n\r\n")
                length = int(header.partition(b"Content-Length: ")[2].split()[0])
                await self._received(json.loads(await reader.readexactly(length)))

    async def _received(self, message: dict[str, Any]) -> None:
        method, params = message.get("method"), message.get("params", {})
        if method == types.CANCEL_REQUEST:
            self.withdrawn.append(params["id"])
        elif method == types.PROGRESS:
            self.progress.append(params)
        elif method and "id" in message and method not in self.silent:
            self.send(id=message["id"], result=await self.editor.call(method, params, timeout=5))

    async def seen(self, name: str, text: str) -> None:
        """Wait until the server has the client's text."""
        editor = (await self.ports()).editor
        async with asyncio.timeout(5):
            while (found := await editor.read(self.root / name)) is None or found.text != text:
                await asyncio.sleep(0.001)

    async def replace(self, name: str, old: str, new: str) -> Applied:
        editor = (await self.ports()).editor
        document = await editor.read(self.root / name)
        assert document is not None
        start = document.text.index(old)
        replacement = Replacement(start=start, end=start + len(old), new_text=new)
        return await editor.apply("edit", edit_of(document, replacement))


@pytest.fixture
async def wire(tmp_path: Path) -> AsyncIterator[Wire]:
    left, right = socket.socketpair()
    client_reader, client_writer = await asyncio.open_connection(sock=left)
    server_reader, server_writer = await asyncio.open_connection(sock=right)
    wire = Wire(tmp_path, client_writer)
    serving = asyncio.create_task(serve(wire.build, server_reader, server_writer))
    client = asyncio.create_task(wire.run(client_reader))
    general = {"positionEncodings": [wire.encoding, "utf-16"]}
    params = {
        "processId": None,
        "rootUri": tmp_path.as_uri(),
        "capabilities": {**CAPABILITIES, "general": general},
        "initializationOptions": OPTIONS,
    }
    wire.send(id=1, method=types.INITIALIZE, params=params)
    wire.send(method=types.INITIALIZED, params={})
    yield wire
    wire.send(id=2, method=types.SHUTDOWN)
    wire.send(method=types.EXIT)
    assert await asyncio.wait_for(serving, 5) == 0
    server_writer.close()
    await client
    client_writer.close()


async def test_open_and_closed_documents_are_edited_over_the_wire(wire: Wire) -> None:
    (wire.root / "closed 漢.py").write_bytes("one 😀 two\r\n".encode())
    uri = (wire.root / "a.py").as_uri()
    wire.editor.open(uri, "x = '😀' + tail\r\n")
    await wire.seen("a.py", "x = '😀' + tail\r\n")
    assert await wire.replace("a.py", "tail", "漢") == Applied(status="applied", text="x = '😀' + 漢\r\n")
    assert (await wire.replace("closed 漢.py", "two", "2")).status == "applied"
    texts = [buffer.text for buffer in wire.editor.buffers.values()]
    assert texts == ["x = '😀' + 漢\r\n", "one 😀 2\r\n"]
    wire.editor.type(uri, 0, 1, "👩‍👩‍👧")
    await wire.seen("a.py", "👩‍👩‍👧 = '😀' + 漢\r\n")


async def test_an_edit_that_the_client_never_answers_is_withdrawn_and_unknown(wire: Wire) -> None:
    wire.silent.add(types.WORKSPACE_APPLY_EDIT)
    wire.editor.open((wire.root / "a.py").as_uri(), "one")
    await wire.seen("a.py", "one")
    assert (await wire.replace("a.py", "one", "two")).status == "unknown"
    async with asyncio.timeout(5):
        while not wire.withdrawn:
            await asyncio.sleep(0.001)


async def test_an_edit_that_the_client_refuses_is_refused_with_its_words(wire: Wire) -> None:
    wire.editor.answer(types.WORKSPACE_APPLY_EDIT, {"applied": False, "failureReason": "not now"})
    wire.editor.open((wire.root / "a.py").as_uri(), "one")
    await wire.seen("a.py", "one")
    result = await wire.replace("a.py", "one", "two")
    assert (result.status, result.reason) == ("refused", "not now")


async def test_a_person_is_asked_over_the_wire(wire: Wire) -> None:
    wire.editor.answer("window/showMessageRequest", {"title": "Allow once"})
    answer = await (await wire.ports()).approvals.ask("s1", asked(), 5)
    assert (answer.decision, answer.by) == ("allowOnce", "human")


async def test_a_turns_progress_is_shown_and_its_cancel_cancels_the_turn(wire: Wire) -> None:
    wire.editor.answer("window/workDoneProgress/create", None)
    feed = (await wire.ports()).feed
    feed.changed(running(turn=3))
    async with asyncio.timeout(5):
        while not wire.progress:
            await asyncio.sleep(0.001)
        wire.send(method="window/workDoneProgress/cancel", params={"token": wire.progress[0]["token"]})
        while not wire.sessions.cancelled:
            await asyncio.sleep(0.001)
        feed.changed(info())
        while wire.progress[-1]["value"]["kind"] != "end":
            await asyncio.sleep(0.001)
    assert wire.sessions.cancelled == [CancelTurn(session_id="s1", expected_turn=3)]
