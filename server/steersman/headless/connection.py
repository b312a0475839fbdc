"""The client's end of JSON-RPC over a server's process: requests, notifications, and what the server asks.

Nothing that a server sends, or its death at any moment, may leave a caller waiting.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from steersman.headless.frames import frame, next_body
from steersman.headless.process import ServerProcess

log = logging.getLogger(__name__)
METHOD_NOT_FOUND: Final = -32601
INTERNAL_ERROR: Final = -32603
REQUEST_CANCELLED: Final = -32800
REQUEST_SECONDS: Final = 60.0
LAST_WORDS: Final = 8
"""Lines of the server's stderr that are told when it is gone."""
_GRACE_SECONDS: Final = 2.0
"""For a server that closed its output to end, and for what it wrote before its end to be read."""

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
    """One server process. `handlers` answer its requests, `listeners` hear its notifications.

    Notifications are heard, and requests begin to be answered, in the order in which they came. `on_gone` is
    called once, when the server has ended.
    """

    def __init__(self, process: ServerProcess) -> None:
        self._process = process
        self._ids = 0
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._answering: dict[int | str, asyncio.Task[None]] = {}
        self._last_words: list[str] = []
        self.handlers: dict[str, Handler] = {}
        self.listeners: dict[str, Listener] = {}
        self.on_gone: Callable[[], None] = lambda: None
        self.is_gone = False
        self._watch = asyncio.create_task(self._until_gone(), name="headless-connection")

    @classmethod
    async def start(cls, command: Sequence[str], env: Mapping[str, str] | None = None) -> Connection:
        """Start a server. Raises OSError where its program cannot be started."""
        return cls(await ServerProcess.start(command, env))

    @property
    def pid(self) -> int:
        return self._process.pid

    async def request(self, method: str, params: Any = None, seconds: float = REQUEST_SECONDS) -> Any:
        """Ask, and wait for the result. Raises RequestFailed, ServerGone, TimeoutError."""
        if self.is_gone:
            raise self.gone_error()
        self._ids += 1
        number = self._ids
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        try:
            self._send({"id": number, "method": method, "params": params})
            async with asyncio.timeout(seconds):
                return await future
        except (TimeoutError, asyncio.CancelledError):
            self.notify("$/cancelRequest", {"id": number})
            raise
        finally:
            del self._waiting[number]

    def notify(self, method: str, params: Any = None) -> None:
        """Tell the server something. After its end it is told nothing."""
        self._send({"method": method, "params": params})

    def gone_error(self) -> ServerGone:
        """What to raise when the server has ended."""
        words = "\n".join(self._last_words)
        return ServerGone(f"Its exit code is {self._process.exit_code}.\n{words}".rstrip())

    async def ended(self, seconds: float) -> int | None:
        """The exit code, if the server ends in time; else None."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._process.exited.wait()
        return self._process.exit_code

    async def close(self) -> None:
        """End the process, if it has not ended, and everything that reads from it."""
        self._process.kill()
        await self._process.exited.wait()
        tasks = [self._watch, *self._answering.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._process.close()

    async def _until_gone(self) -> None:
        """Read until the server ends or says no more; then let nobody wait for it."""
        reading = asyncio.create_task(self._read())
        words = asyncio.create_task(self._read_words())
        ending = asyncio.create_task(self._process.exited.wait())
        try:
            await asyncio.wait({reading, ending}, return_when=asyncio.FIRST_COMPLETED)
            # A process that outlives the server may hold its pipes open.
            await asyncio.wait({reading, words, ending}, timeout=_GRACE_SECONDS)
            self._process.kill()
            await ending
        finally:
            for task in (reading, words, ending):
                task.cancel()
            await asyncio.gather(reading, words, ending, return_exceptions=True)
            self.is_gone = True
            for future in self._waiting.values():
                if not future.done():
                    future.set_exception(self.gone_error())
            self.on_gone()

    async def _read(self) -> None:
        while (body := await next_body(self._process.stdout)) is not None:
            try:
                message = json.loads(body)
            except (ValueError, RecursionError):
                log.warning("The server sent a message that is not JSON.")
                continue
            if isinstance(message, dict):
                self._take(message)

    async def _read_words(self) -> None:
        while True:
            try:
                line = await self._process.stderr.readline()
            except ValueError:  # a line longer than the stream's limit
                continue
            if not line:
                return
            words = line.decode("utf-8", "replace").rstrip()
            self._last_words = [*self._last_words[1 - LAST_WORDS :], words]

    def _take(self, message: dict[str, Any]) -> None:
        method, number, params = message.get("method"), message.get("id"), message.get("params")
        if not isinstance(method, str):
            if isinstance(number, int):
                self._answered(number, message)
        elif isinstance(number, int | str):
            self._asked(number, method, params)
        elif method == "$/cancelRequest":
            self._withdrawn(params)
        elif (listener := self.listeners.get(method)) is not None:
            try:
                listener(params)
            except Exception:
                log.exception("Hearing %s failed", method)

    def _answered(self, number: int, message: dict[str, Any]) -> None:
        future = self._waiting.get(number)
        if future is None or future.done():
            return
        error = message.get("error")
        if error is None:
            future.set_result(message.get("result"))
        else:
            future.set_exception(RequestFailed(error if isinstance(error, dict) else {}))

    def _asked(self, number: int | str, method: str, params: Any) -> None:
        task = asyncio.create_task(self._answer(number, method, params))
        self._answering[number] = task
        task.add_done_callback(lambda done: self._answering.pop(number, None))

    async def _answer(self, number: int | str, method: str, params: Any) -> None:
        handler = self.handlers.get(method)
        if handler is None:
            self._refuse(number, METHOD_NOT_FOUND, f"this client has no {method}")
            return
        try:
            result = await handler(params)
        except asyncio.CancelledError:
            self._refuse(number, REQUEST_CANCELLED, "the request was withdrawn")
            raise
        except Exception as error:
            log.exception("Answering %s failed", method)
            self._refuse(number, INTERNAL_ERROR, str(error))
        else:
            self._send({"id": number, "result": result})

    def _refuse(self, number: int | str, code: int, message: str) -> None:
        self._send({"id": number, "error": {"code": code, "message": message}})

    def _withdrawn(self, params: Any) -> None:
        """The server no longer wants an answer: stop finding one."""
        number = params.get("id") if isinstance(params, dict) else None
        task = self._answering.get(number) if isinstance(number, int | str) else None
        if task is not None:
            task.cancel()

    def _send(self, message: dict[str, Any]) -> None:
        if not self.is_gone:
            self._process.write(frame(json.dumps({"jsonrpc": "2.0", **message}).encode("ascii")))
