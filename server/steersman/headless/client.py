"""The headless client: a server, an editor, a person who may be asked, and all events as they come."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from steersman.headless.connection import Connection, RequestFailed, ServerGone
from steersman.headless.editor import CAPABILITIES, HeadlessEditor
from steersman.headless.text_edits import Encoding

START_SECONDS: Final = 30.0
STOP_SECONDS: Final = 5.0
EXTENSION: Final[dict[str, Any]] = {"protocolVersion": 1, "events": {}, "approvals": {}}

Approve = Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]
"""Answers `steersman/approval/request`."""
Answer = Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]
"""Answers `steersman/question/ask`."""


class HeadlessClient:
    """Made by `start`; ended by `stop`. `on_event` hears each durable event once, in order."""

    def __init__(self, connection: Connection, approve: Approve, answer: Answer | None = None) -> None:
        self.connection = connection
        self.editor = HeadlessEditor(connection.notify)
        self.on_event: Callable[[Mapping[str, Any]], None] = lambda event: None
        self.on_message: Callable[[str], None] = lambda text: None
        self._changed = asyncio.Event()
        connection.handlers = {
            "workspace/applyEdit": self.editor.apply,
            "steersman/approval/request": approve,
            "window/showMessageRequest": _no_choice,
            "window/workDoneProgress/create": _no_choice,
        }
        if answer is not None:
            connection.handlers["steersman/question/ask"] = answer
        connection.listeners = {
            "steersman/session/didAppend": self._appended,
            "window/showMessage": lambda params: self.on_message(str(params.get("message", ""))),
        }
        connection.on_gone = self.wake

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        workspace: Path,
        options: Mapping[str, Any],
        approve: Approve,
        env: Mapping[str, str] | None = None,
        encodings: Sequence[Encoding] = ("utf-16",),
        answer: Answer | None = None,
    ) -> HeadlessClient:
        """Start a server on a folder, an absolute path. `encodings` of positions are offered, the best first.

        Questions are offered only with an `answer`.

        Raises:
            OSError, ServerGone, RequestFailed, TimeoutError.
        """
        client = cls(await Connection.start(command, env), approve, answer)
        extension = EXTENSION if answer is None else {**EXTENSION, "questions": {}}
        uri = workspace.as_uri()
        params = {
            "processId": os.getpid(),
            "clientInfo": {"name": "steersman headless"},
            "rootUri": uri,
            "workspaceFolders": [{"uri": uri, "name": workspace.name}],
            "capabilities": {
                **CAPABILITIES,
                "general": {"positionEncodings": [*encodings]},
                "experimental": {"steersman": extension},
            },
            "initializationOptions": dict(options),
        }
        try:
            result = await client.connection.request("initialize", params, START_SECONDS)
            client.editor.encoding = result["capabilities"].get("positionEncoding", "utf-16")
        except BaseException:
            await client.connection.close()
            raise
        client.connection.notify("initialized", {})
        return client

    async def request(self, method: str, params: Any = None) -> Any:
        """A request of the wire contract. Raises RequestFailed, ServerGone, TimeoutError."""
        return await self.connection.request(method, params)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition on what was told holds. Raises ServerGone."""
        while not condition():
            if self.connection.is_gone:
                raise self.connection.gone_error()
            self._changed.clear()
            await self._changed.wait()

    def wake(self) -> None:
        """Let `until` look at its condition again."""
        self._changed.set()

    async def stop(self) -> None:
        """Shut the server down in order; end it the hard way if it does not."""
        try:
            with contextlib.suppress(RequestFailed, ServerGone, TimeoutError):
                await self.connection.request("shutdown", seconds=STOP_SECONDS)
                self.connection.notify("exit")
                await self.connection.ended(STOP_SECONDS)
        finally:
            await self.connection.close()

    def _appended(self, params: Mapping[str, Any]) -> None:
        for event in params["events"]:
            self.on_event(event)
        self._changed.set()


async def _no_choice(params: Any) -> None:
    """A dialog that nobody sees is closed without a choice."""
