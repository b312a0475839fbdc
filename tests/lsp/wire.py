"""A plain client over a socket pair and sessions whose answers tests hold: the boundary alone, in process."""

from __future__ import annotations

import asyncio
import json
import socket
from asyncio import Future
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from steersman.domain.settings import Settings
from steersman.lsp.transport import serve
from steersman.sessions.client_ports import ClientPorts

DEADLINE = 5.0
VERBS = frozenset(
    {
        "new",
        "list",
        "open",
        "fork",
        "repair",
        "export",
        "show_transcript",
        "close",
        "rename",
        "delete",
        "events",
        "configure",
        "prompt",
        "steer",
        "cancel",
        "remove_message",
        "update_message",
        "release_queue",
        "set_credentials",
        "status",
        "latest",
        "goal",
        "create_goal",
        "edit_goal",
        "pause_goal",
        "resume_goal",
        "complete_goal",
        "clear_goal",
        "command_goal",
    }
)


class HeldSessions:
    """A SessionApi whose futures tests resolve. `called` are the verbs with their params, in order."""

    def __init__(self) -> None:
        self.called: list[tuple[str, Any]] = []
        self.futures: list[Future[Any]] = []
        self.trusted: list[bool] = []
        self.stopped = 0
        self.warmed = 0
        self.stop_takes = 0.0
        self.last_words: Callable[[], None] = lambda: None

    def __getattr__(self, verb: str) -> Any:
        if verb not in VERBS:
            raise AttributeError(verb)

        def act(params: Any) -> Future[Any]:
            self.called.append((verb, params))
            future: Future[Any] = asyncio.get_running_loop().create_future()
            self.futures.append(future)
            return future

        return act

    def trust(self, params: Any) -> None:
        self.trusted.append(params.trusted)

    def warm(self) -> None:
        self.warmed += 1

    async def stop(self) -> None:
        self.stopped += 1
        await asyncio.sleep(self.stop_takes)
        self.last_words()


class Wire:
    """The client's end: raw bytes out, messages in."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self._id = 0

    def send_bytes(self, data: bytes) -> None:
        self.writer.write(data)

    def send(self, message: Any, *, ascii_only: bool = True) -> None:
        body = json.dumps(message, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
        self.send_bytes(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def ask(self, method: str, params: Any = None) -> int:
        """Send a request; its id."""
        self._id += 1
        self.send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        return self._id

    def tell(self, method: str, params: Any = None) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    async def receive(self) -> Any:
        """The next message; its length must count its bytes exactly."""
        async with asyncio.timeout(DEADLINE):
            header = await self.reader.readuntil(b"\r\n\r\n")
            length = int(header.split(b":")[1])
            return json.loads(await self.reader.readexactly(length))

    async def answer(self, msg_id: int) -> Any:
        """The answer to a request; other messages before it are passed over."""
        while True:
            message = await self.receive()
            if message.get("id") == msg_id and "method" not in message:
                return message

    async def error(self, method: str, params: Any = None) -> Any:
        return (await self.answer(self.ask(method, params)))["error"]

    async def initialize(self, capabilities: Any = None, options: Any = None) -> Any:
        params = {"processId": None, "capabilities": capabilities or {}, "rootUri": None}
        answer = await self.answer(self.ask("initialize", params | {"initializationOptions": options}))
        self.tell("initialized", {})
        return answer["result"]


class Served:
    """A connection: its client end, its sessions, what the build was given, and the server's exit code."""

    def __init__(self, wire: Wire, sessions: HeldSessions, task: asyncio.Task[int]) -> None:
        self.wire = wire
        self.sessions = sessions
        self.task = task
        self.settings: Settings | None = None
        self.ports: ClientPorts | None = None
        self.build_fails: Exception | None = None

    async def code(self) -> int:
        async with asyncio.timeout(DEADLINE):
            return await self.task


@asynccontextmanager
async def served(**limits: Any) -> AsyncIterator[Served]:
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=ours, limit=1 << 20)
    server_reader, server_writer = await asyncio.open_connection(sock=theirs, limit=1 << 20)
    sessions = HeldSessions()
    result: list[Served] = []

    def build(settings: Settings, ports: ClientPorts) -> Any:
        if result[0].build_fails is not None:
            raise result[0].build_fails
        result[0].settings, result[0].ports = settings, ports
        return sessions

    task = asyncio.create_task(serve(build, server_reader, server_writer, **limits))
    result.append(Served(Wire(reader, writer), sessions, task))
    try:
        yield result[0]
    finally:
        writer.close()
        async with asyncio.timeout(DEADLINE):
            await asyncio.wait({task})
        server_writer.close()


EXPERIMENTAL = {"experimental": {"steersman": {"protocolVersion": 1, "events": {}}}}
