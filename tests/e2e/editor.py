"""An editor for end-to-end tests: pytest-lsp's client, a real server process, real files, real buffers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pytest_lsp import LanguageClient, client_capabilities, make_test_lsp_client

DEADLINE = 20.0
COMMAND = [sys.executable, "-m", "steersman", "serve"]
TRANSPORTS = ("stdio", "tcp")
transport = "stdio"
"""How the editors reach their servers; the fixture `over_every_transport` sets it."""
ALL = ("events", "approvals")
ASKED = (
    "steersman/question/ask",
    "steersman/tests/run",
    "steersman/command/run",
    "steersman/query",
    types.WINDOW_SHOW_MESSAGE_REQUEST,
)
"""Requests of the server that `Editor.answers` answers."""


def plain(value: Any) -> Any:
    """What pygls gives for untyped JSON (named tuples for objects) as plain JSON; typed values stay."""
    if hasattr(value, "_asdict"):
        return {key: plain(item) for key, item in value._asdict().items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def script(path: Path, *lines: Any) -> Path:
    """A script for the scripted model, one reply a line."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def call(name: str, **arguments: Any) -> dict[str, Any]:
    """A reply that calls one tool."""
    return {"toolCalls": [{"name": name, "arguments": arguments}]}


class Editor:
    """Buffers and a person. `decide` answers approvals; `refuse` makes the editor refuse every edit.

    `answers` holds what answers a request of the server, by method (a coroutine is awaited, an exception
    is the error); `asked` are those requests, `withdrawn` the ids that no longer matter.
    """

    def __init__(self, client: LanguageClient, folder: Path) -> None:
        self.client = client
        self.folder = folder
        self.events: list[dict[str, Any]] = []
        self.infos: list[dict[str, Any]] = []
        self.order: list[str] = []
        self.edits: list[types.ApplyWorkspaceEditParams] = []
        self.buffers: dict[str, tuple[int, str]] = {}
        self.approvals: list[dict[str, Any]] = []
        self.decide: Callable[[dict[str, Any]], Any] = lambda asked: {"decision": "deny"}
        self.refuse = False
        self.messages: list[str] = []
        self.answers: dict[str, Callable[[dict[str, Any]], Any]] = {}
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.withdrawn: list[str] = []

    @property
    def pid(self) -> int:
        server = self.client._server
        assert server is not None
        return int(server.pid)

    async def request(self, method: str, params: Any = None) -> Any:
        async with asyncio.timeout(DEADLINE):
            return plain(await self.client.protocol.send_request_async(method, params or {}))

    async def command(self, name: str, *arguments: Any) -> Any:
        params = types.ExecuteCommandParams(command=name, arguments=list(arguments))
        return await self.request(types.WORKSPACE_EXECUTE_COMMAND, params)

    async def new(self, **params: Any) -> str:
        info = await self.request("steersman/session/new", params)
        return str(info["sessionId"])

    async def prompt(self, session_id: str, text: str, **more: Any) -> Any:
        return await self.request("steersman/turn/prompt", {"sessionId": session_id, "text": text, **more})

    async def run(self, session_id: str, text: str, **more: Any) -> dict[str, Any]:
        """Prompt, and wait for the end of the turn; its reason."""
        seen = len(self.events)
        await self.prompt(session_id, text, **more)
        return await self.turn_end(after=seen)

    def tell(self, method: str, params: Any) -> None:
        """Send a notification."""
        self.client.protocol.notify(method, params)

    def asked_for(self, method: str) -> list[dict[str, Any]]:
        """The params of the requests of one method, in order."""
        return [params for name, params in self.asked if name == method]

    async def answer(self, method: str, params: Any) -> Any:
        given = plain(params)
        self.asked.append((method, given))
        answer = self.answers[method](given)
        return await answer if asyncio.iscoroutine(answer) else answer

    async def turn_end(self, after: int = 0) -> dict[str, Any]:
        event = await self.event("turn/end", after=after)
        reason: dict[str, Any] = event["data"]["reason"]
        return reason

    async def event(self, kind: str, after: int = 0) -> dict[str, Any]:
        """The first event of a type that was told, waited for."""
        await self.until(lambda: any(e["type"] == kind for e in self.events[after:]))
        return next(e for e in self.events[after:] if e["type"] == kind)

    async def until(self, condition: Callable[[], bool], seconds: float = DEADLINE) -> None:
        async with asyncio.timeout(seconds):
            while not condition():
                await asyncio.sleep(0.005)

    def data(self, kind: str) -> list[Any]:
        return [e["data"] for e in self.events if e["type"] == kind]

    def open(self, path: Path, text: str | None = None) -> str:
        """Open a file with its own text, or with one that was never saved; its URI."""
        uri = path.as_uri()
        content = path.read_text(encoding="utf-8") if text is None else text
        self.buffers[uri] = (1, content)
        item = types.TextDocumentItem(uri=uri, language_id="python", version=1, text=content)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(text_document=item))
        return uri

    def type_whole(self, uri: str, text: str) -> None:
        """The person replaces a buffer's text."""
        version = self.buffers[uri][0] + 1
        self.buffers[uri] = (version, text)
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                text_document=types.VersionedTextDocumentIdentifier(uri=uri, version=version),
                content_changes=[types.TextDocumentContentChangeWholeDocument(text=text)],
            )
        )

    def apply(self, params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        self.edits.append(params)
        if self.refuse:
            return types.ApplyWorkspaceEditResult(applied=False, failure_reason="not now")
        for change in params.edit.document_changes or ():
            if not self._change(change):
                return types.ApplyWorkspaceEditResult(applied=False, failure_reason="stale")
        for uri, edits in (params.edit.changes or {}).items():
            self._edit(uri, None, edits)
        return types.ApplyWorkspaceEditResult(applied=True)

    def _change(self, change: Any) -> bool:
        if isinstance(change, types.CreateFile):
            path_of(change.uri).touch()
        elif isinstance(change, types.DeleteFile):
            path_of(change.uri).unlink()
        elif isinstance(change, types.RenameFile):
            path_of(change.old_uri).rename(path_of(change.new_uri))
        else:
            return self._edit(change.text_document.uri, change.text_document.version, change.edits)
        return True

    def _edit(self, uri: str, version: int | None, edits: Any) -> bool:
        if uri in self.buffers:
            if version not in (None, self.buffers[uri][0]):
                return False
            self.type_whole(uri, edited(self.buffers[uri][1], edits))
            return True
        path = path_of(uri)
        text = path.read_bytes().decode("utf-8")
        path.write_bytes(edited(text, edits).encode("utf-8"))
        return True


def path_of(uri: str) -> Path:
    return Path(url2pathname(urlsplit(uri).path))


def edited(text: str, edits: Any) -> str:
    """The text after LSP edits, whose positions count UTF-16 units and refer to the text before."""
    lines = text.splitlines(keepends=True) or [""]
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def offset(position: types.Position) -> int:
        if position.line >= len(lines):
            return len(text)
        units = lines[position.line].encode("utf-16-le")[: position.character * 2]
        return starts[position.line] + len(units.decode("utf-16-le"))

    changes = sorted(((offset(e.range.start), offset(e.range.end), e.new_text) for e in edits), reverse=True)
    for start, end, new in changes:
        text = text[:start] + new + text[end:]
    return text


def _make_client(holder: list[Editor]) -> LanguageClient:
    client = make_test_lsp_client()

    @client.feature(types.WORKSPACE_APPLY_EDIT)
    def apply_edit(
        ls: LanguageServer, params: types.ApplyWorkspaceEditParams
    ) -> types.ApplyWorkspaceEditResult:
        return holder[0].apply(params)

    @client.feature("steersman/approval/request")
    async def approve(ls: LanguageServer, params: Any) -> Any:
        asked = plain(params)
        holder[0].approvals.append(asked)
        answer = holder[0].decide(asked)
        return await answer if asyncio.iscoroutine(answer) else answer

    for method in ASKED:
        client.feature(method)(_answering(holder, method))

    @client.feature("steersman/session/didAppend")
    def appended(ls: LanguageServer, params: Any) -> None:
        holder[0].events += plain(params)["events"]
        holder[0].order.append("didAppend")

    @client.feature("steersman/session/didChange")
    def changed(ls: LanguageServer, params: Any) -> None:
        holder[0].infos.append(plain(params)["session"])
        holder[0].order.append("didChange")

    @client.feature("steersman/request/cancelled")
    def withdrawn(ls: LanguageServer, params: Any) -> None:
        holder[0].order.append("cancelled")
        holder[0].withdrawn.append(plain(params)["id"])

    return client


async def listening(env: dict[str, str] | None = None) -> tuple[asyncio.subprocess.Process, int]:
    """A server that waits for a client on the loopback interface, and the port that it told."""
    server = await asyncio.create_subprocess_exec(
        *COMMAND, "--tcp", "127.0.0.1:0", stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env
    )
    assert server.stderr is not None
    async with asyncio.timeout(DEADLINE):
        told = (await server.stderr.readline()).decode()
    assert told.startswith("steersman: listening on 127.0.0.1:"), told
    return server, int(told.rpartition(":")[2])


async def _start(client: LanguageClient, env: dict[str, str] | None) -> None:
    if transport == "stdio":
        await client.start_io(*COMMAND, env=env)
        return
    client._server, port = await listening(env)
    await client.start_tcp("127.0.0.1", port)
    client._async_tasks.append(asyncio.create_task(client._server_exit()))


async def _drop_requests(client: LanguageClient) -> None:
    """Give up the server's requests that are not answered: pygls cannot end them after its server died."""
    open_now = [f for f in client.protocol._request_futures.values() if isinstance(f, asyncio.Task)]
    for task in open_now:
        task.cancel()
    if open_now:
        await asyncio.wait(open_now)


def _answering(holder: list[Editor], method: str) -> Callable[..., Any]:
    async def answering(ls: LanguageServer, params: Any) -> Any:
        return await holder[0].answer(method, params)

    return answering


@asynccontextmanager
async def editor(
    folder: Path,
    options: dict[str, Any],
    *,
    env: dict[str, str] | None = None,
    profile: str = "visual-studio-code",
    offers: tuple[str, ...] | None = ALL,
    kill: bool = False,
) -> AsyncIterator[Editor]:
    """A running server with an editor on `folder`. `kill`: it is ended by SIGKILL, not in order."""
    holder: list[Editor] = []
    client = _make_client(holder)
    holder.append(Editor(client, folder))
    await _start(client, env)
    capabilities = client_capabilities(profile)
    if offers is not None:
        members: dict[str, Any] = {name: {} for name in offers}
        capabilities.experimental = {"steersman": {"protocolVersion": 1, **members}}
    await client.initialize_session(
        types.InitializeParams(
            capabilities=capabilities,
            root_uri=folder.as_uri(),
            workspace_folders=[types.WorkspaceFolder(uri=folder.as_uri(), name=folder.name)],
            initialization_options=options,
        )
    )
    try:
        yield holder[0]
    finally:
        if kill:
            server = client._server
            assert server is not None
            with suppress(ProcessLookupError):  # it may have ended by itself
                server.kill()
            await _drop_requests(client)
            await server.wait()
        else:
            await client.shutdown_session()
        # A server that was killed may have left the last words to it unread: the system says so on a socket.
        with contextlib.suppress(*[ConnectionResetError] if kill else []):
            await client.stop()
        if isinstance(client.protocol.writer, asyncio.StreamWriter):
            client.protocol.writer.close()  # pygls closes pipes only
