"""A real `steersman serve` on pipes, and a plain client that keeps every byte which the server said."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

DEADLINE: Final = 120.0
"""Seconds for what takes a fraction of one on an idle machine."""


class Died(Exception):
    """The server is gone, so there is no answer."""


class RealServer:
    """`said` are all bytes of its stdout, `events` what it told of sessions, in order."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.said = bytearray()
        self.complaints = bytearray()
        self.events: list[dict[str, Any]] = []
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._id = 0
        self._readers = [asyncio.create_task(self._read()), asyncio.create_task(self._listen())]

    def ask(self, method: str, params: Any = None) -> asyncio.Future[Any]:
        """Send a request; its answer, whole. Fails with Died."""
        self._id += 1
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._answers[self._id] = future
        self._send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        return future

    def tell(self, method: str, params: Any = None) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    async def result(self, method: str, params: Any = None) -> Any:
        async with asyncio.timeout(DEADLINE):
            answer = await self.ask(method, params)
        if "error" in answer:
            raise AssertionError(f"{method}: {answer['error']}")
        return answer["result"]

    async def until(self, kind: str, after: int = 0) -> dict[str, Any]:
        """The first event of a type behind the first `after` ones."""
        async with asyncio.timeout(DEADLINE):
            while True:
                for event in self.events[after:]:
                    if event["type"] == kind:
                        return event
                await asyncio.sleep(0.01)

    async def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGKILL)
        await self.gone()

    async def gone(self) -> int:
        """Wait for its end and for all that it said. Its exit code."""
        async with asyncio.timeout(DEADLINE):
            code = await self.process.wait()
            await asyncio.wait(self._readers, timeout=5)
        return code

    def _send(self, message: Any) -> None:
        assert self.process.stdin is not None
        body = json.dumps(message).encode()
        with contextlib.suppress(ConnectionError, RuntimeError):
            self.process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    async def _read(self) -> None:
        assert self.process.stdout is not None
        unread = bytearray()
        while data := await self.process.stdout.read(1 << 16):
            self.said += data
            unread += data
            while (frame := _frame(unread)) is not None:
                self._take(frame)
        for future in self._answers.values():
            if not future.done():
                future.set_exception(Died())
                future.exception()

    async def _listen(self) -> None:
        assert self.process.stderr is not None
        while data := await self.process.stderr.read(1 << 16):
            self.complaints += data

    def _take(self, message: Any) -> None:
        if message.get("method") == "steersman/session/didAppend":
            self.events += message["params"]["events"]
        elif "method" in message and "id" in message:
            self._send({"jsonrpc": "2.0", "id": message["id"], "result": None})
        elif message.get("id") in self._answers:
            asked = self._answers.pop(message["id"])
            if not asked.done():  # who asked may have given up
                asked.set_result(message)


def _frame(unread: bytearray) -> Any:
    """Take one whole message from what was read, if there is one."""
    head, found, _ = bytes(unread[:200]).partition(b"\r\n\r\n")
    if not found:
        return None
    length = int(head.split(b":")[1].split(b"\r")[0])
    start = len(head) + 4
    if len(unread) < start + length:
        return None
    message = json.loads(unread[start : start + length])
    del unread[: start + length]
    return message


def clean_environment(home: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment without keys and endpoints, with a home of its own."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("OPENAI_", "STEERSMAN_"))}
    places = {"HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "NO_COLOR": "1"}
    return kept | places | dict(more or {})


def _hears_a_hangup() -> None:
    """Whoever runs the tests in the background may have told them, and so their children, to ignore it."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@asynccontextmanager
async def real_server(
    folder: Path,
    options: Mapping[str, Any],
    *,
    env: Mapping[str, str] | None = None,
    parent: int | None = None,
) -> AsyncIterator[RealServer]:
    """An initialized server whose workspace is `folder`; killed at the end if it still runs."""
    process = await asyncio.create_subprocess_exec(
        *[sys.executable, "-m", "steersman", "serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=clean_environment(folder, env),
        preexec_fn=_hears_a_hangup,
    )
    server = RealServer(process)
    ours = {"protocolVersion": 1, "events": {}}
    params = {
        "processId": parent,
        "capabilities": {"experimental": {"steersman": ours}},
        "workspaceFolders": [{"uri": folder.as_uri(), "name": folder.name}],
        "initializationOptions": dict(options),
    }
    try:
        async with asyncio.timeout(DEADLINE):
            await server.ask("initialize", params)
        server.tell("initialized", {})
        yield server
    finally:
        await server.kill()
        assert process.stdin is not None
        process.stdin.close()
