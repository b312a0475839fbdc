"""The client's end of JSON-RPC over a subprocess: requests, notifications, and the server's own requests."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

log = logging.getLogger(__name__)
METHOD_NOT_FOUND: Final = -32601
INTERNAL_ERROR: Final = -32603
REQUEST_SECONDS: Final = 60.0
STREAM_LIMIT: Final = 1 << 20

Handler = Callable[[Any], Awaitable[Any]]
Listener = Callable[[Any], None]


class ServerGone(Exception):
    """The server's process has ended; its exit code and its last words are in the text."""


class RequestFailed(Exception):
    """The server answered with an error. `kind` is `data.kind` of the wire contract, if it gave one."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(str(error.get("message", "the server answered with an error")))
        self.code = error.get("code")
        data = error.get("data")
        self.data: Mapping[str, Any] = data if isinstance(data, dict) else {}
        self.kind = self.data.get("kind")


class Connection:
    """One server process. `handlers` answer its requests, `listeners` hear its notifications."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._ids = 0
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._answering: dict[Any, asyncio.Task[None]] = {}
        self._last_words: list[str] = []
        self.handlers: dict[str, Handler] = {}
        self.listeners: dict[str, Listener] = {}
        self.gone = asyncio.Event()
        self._tasks = [
            asyncio.create_task(self._read(), name="headless-reader"),
            asyncio.create_task(self._read_words(), name="headless-stderr"),
        ]

    @classmethod
    async def start(cls, command: Sequence[str], env: Mapping[str, str] | None = None) -> Connection:
        """Start a server. Raises OSError where its program cannot be started."""
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=dict(env) if env is not None else None,
            limit=STREAM_LIMIT,
        )
        return cls(process)

    @property
    def pid(self) -> int:
        return self._process.pid

    async def request(self, method: str, params: Any = None, seconds: float = REQUEST_SECONDS) -> Any:
        """Ask, and wait for the result. Raises RequestFailed, ServerGone, TimeoutError."""
        self._require_alive()
        self._ids += 1
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[self._ids] = future
        try:
            self._send({"id": self._ids, "method": method, "params": params})
            async with asyncio.timeout(seconds):
                return await future
        finally:
            self._waiting.pop(self._ids, None)

    def notify(self, method: str, params: Any = None) -> None:
        """Tell the server something. After its end it is told nothing."""
        if not self.gone.is_set():
            self._send({"method": method, "params": params})

    async def ended(self, seconds: float) -> int | None:
        """The exit code, if the server ends in time; else None."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._process.wait()
        return self._process.returncode

    async def close(self) -> None:
        """End the process, if it has not ended, and everything that reads from it."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        for task in (*self._tasks, *self._answering.values()):
            task.cancel()
        await asyncio.gather(*self._tasks, *self._answering.values(), return_exceptions=True)
        if self._process.stdin is not None:
            self._process.stdin.close()

    def _send(self, message: dict[str, Any]) -> None:
        stdin = self._process.stdin
        if stdin is None:
            raise AssertionError("the server was started with pipes")
        body = json.dumps({"jsonrpc": "2.0", **message}).encode("ascii")
        with contextlib.suppress(ConnectionError):
            stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def _require_alive(self) -> None:
        if self.gone.is_set():
            raise self._gone_error()

    def _gone_error(self) -> ServerGone:
        words = "\n".join(self._last_words[-8:])
        code = self._process.returncode
        return ServerGone(f"The server has ended (exit code {code}).\n{words}".rstrip())

    async def _read(self) -> None:
        try:
            while (body := await self._frame()) is not None:
                self._take(body)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        await self._process.wait()
        self.gone.set()
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(self._gone_error())

    async def _frame(self) -> bytes | None:
        stdout = self._process.stdout
        if stdout is None:
            raise AssertionError("the server was started with pipes")
        length: int | None = None
        while True:
            try:
                line = await stdout.readline()
            except ValueError:
                continue
            if not line:
                return None
            name, _, value = line.partition(b":")
            if name.strip().lower() == b"content-length" and value.strip().isdigit():
                length = int(value)
            elif line in (b"\r\n", b"\n") and length is not None:
                return await stdout.readexactly(length)

    async def _read_words(self) -> None:
        stderr = self._process.stderr
        if stderr is None:
            raise AssertionError("the server was started with pipes")
        while True:
            try:
                line = await stderr.readline()
            except ValueError:
                continue
            if not line:
                return
            self._last_words = [*self._last_words[-40:], line.decode("utf-8", "replace").rstrip()]

    def _take(self, body: bytes) -> None:
        try:
            message = json.loads(body)
        except ValueError:
            log.warning("the server sent a message that is not JSON")
            return
        if not isinstance(message, dict):
            return
        method = message.get("method")
        if not isinstance(method, str):
            self._answered(message)
        elif "id" in message:
            self._asked(message["id"], method, message.get("params"))
        elif method == "$/cancelRequest":
            self._withdrawn(message.get("params"))
        elif (listener := self.listeners.get(method)) is not None:
            listener(message.get("params"))

    def _answered(self, message: dict[str, Any]) -> None:
        future = self._waiting.get(message.get("id", 0))
        if future is None or future.done():
            return
        error = message.get("error")
        if error is None:
            future.set_result(message.get("result"))
        else:
            future.set_exception(RequestFailed(error if isinstance(error, dict) else {}))

    def _asked(self, msg_id: Any, method: str, params: Any) -> None:
        task = asyncio.create_task(self._answer(msg_id, method, params))
        self._answering[msg_id] = task
        task.add_done_callback(lambda done: self._answering.pop(msg_id, None))

    async def _answer(self, msg_id: Any, method: str, params: Any) -> None:
        handler = self.handlers.get(method)
        if handler is None:
            error = {"code": METHOD_NOT_FOUND, "message": f"this client has no {method}"}
            self._send({"id": msg_id, "error": error})
            return
        try:
            result = await handler(params)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            log.exception("answering %s failed", method)
            self._send({"id": msg_id, "error": {"code": INTERNAL_ERROR, "message": str(error)}})
        else:
            self._send({"id": msg_id, "result": result})

    def _withdrawn(self, params: Any) -> None:
        """The server no longer wants an answer: stop finding one."""
        msg_id = params.get("id") if isinstance(params, dict) else None
        task = self._answering.get(msg_id)
        if task is not None:
            task.cancel()
