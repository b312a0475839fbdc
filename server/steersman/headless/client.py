"""The headless client: a server, an editor, a person who may be asked, and all events as they come."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from steersman.headless.connection import Connection, ServerGone
from steersman.headless.editor import CAPABILITIES, HeadlessEditor

START_SECONDS: Final = 30.0
STOP_SECONDS: Final = 5.0
EXTENSION: Final[dict[str, Any]] = {"protocolVersion": 1, "events": {}, "approvals": {}}

Approve = Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]
"""Answers `steersman/approval/request`."""


class HeadlessClient:
    """Made by `start`; ended by `stop`. `on_event` hears each durable event once, in order."""

    def __init__(self, connection: Connection, approve: Approve) -> None:
        self.connection = connection
        self.editor = HeadlessEditor(connection.notify)
        self.on_event: Callable[[Mapping[str, Any]], None] = lambda event: None
        self.on_message: Callable[[str], None] = lambda text: None
        self.session: Mapping[str, Any] = {}
        self._changed = asyncio.Event()
        connection.handlers = {
            "workspace/applyEdit": self.editor.apply,
            "steersman/approval/request": approve,
            "window/showMessageRequest": _no_choice,
            "window/workDoneProgress/create": _no_choice,
        }
        connection.listeners = {
            "steersman/session/didAppend": self._appended,
            "steersman/session/didChange": self._did_change,
            "window/showMessage": lambda params: self.on_message(str(params.get("message", ""))),
        }

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        workspace: Path,
        options: Mapping[str, Any],
        approve: Approve,
        env: Mapping[str, str] | None = None,
    ) -> HeadlessClient:
        """Start a server on a folder, an absolute path.

        Raises:
            OSError, ServerGone, RequestFailed, TimeoutError.
        """
        client = cls(await Connection.start(command, env), approve)
        uri = workspace.as_uri()
        params = {
            "processId": os.getpid(),
            "clientInfo": {"name": "steersman headless"},
            "rootUri": uri,
            "workspaceFolders": [{"uri": uri, "name": workspace.name}],
            "capabilities": CAPABILITIES | {"experimental": {"steersman": EXTENSION}},
            "initializationOptions": dict(options),
        }
        try:
            await client.connection.request("initialize", params, START_SECONDS)
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
        gone = asyncio.create_task(self.connection.gone.wait())
        try:
            while not condition():
                self._changed.clear()
                changed = asyncio.create_task(self._changed.wait())
                await asyncio.wait({gone, changed}, return_when=asyncio.FIRST_COMPLETED)
                changed.cancel()
                if gone.done() and not condition():
                    raise ServerGone("The server ended in the middle of the work. The session's log is kept.")
        finally:
            gone.cancel()

    def wake(self) -> None:
        """Let `until` look at its condition again."""
        self._changed.set()

    async def stop(self) -> None:
        """Shut the server down in order; end it the hard way if it does not."""
        with contextlib.suppress(Exception):
            await self.connection.request("shutdown", seconds=STOP_SECONDS)
            self.connection.notify("exit")
            await self.connection.ended(STOP_SECONDS)
        await self.connection.close()

    def _appended(self, params: Mapping[str, Any]) -> None:
        for event in params["events"]:
            self.on_event(event)
        self._changed.set()

    def _did_change(self, params: Mapping[str, Any]) -> None:
        self.session = params["session"]
        self._changed.set()


async def _no_choice(params: Any) -> None:
    """A dialog that nobody sees is closed without a choice."""
