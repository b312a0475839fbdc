"""Our own requests: decoded, handed to the session verbs in the order in which they came, and answered once.

The answer is written in a done-callback of the verb's future, never in a task: so it leaves before the
events that it acknowledges (sessions/api.py).
"""

from __future__ import annotations

import asyncio
import logging
from asyncio import Future
from collections.abc import Callable, Mapping
from typing import Any

from steersman.domain.value import encode
from steersman.errors import InvalidParams
from steersman.lsp.decoding import METHOD_NOT_FOUND, REQUEST_CANCELLED, decode_params, error_object
from steersman.lsp.messages import COMMANDS, ROUTES, TRUST, Route, takes_session
from steersman.sessions import requests as rq
from steersman.sessions.api import SessionApi

log = logging.getLogger(__name__)
MsgId = int | str


class Dispatcher:
    """Answers through `send` (a whole JSON body). `folder` gives the first workspace folder's URI.

    `listeners` take the notifications, by method, that answer requests of ours.
    """

    def __init__(
        self,
        api: SessionApi,
        send: Callable[[bytes], None],
        folder: Callable[[], str | None],
        listeners: Mapping[str, Callable[[Any], None]],
    ) -> None:
        self._api = api
        self._send = send
        self._folder = folder
        self._listeners = listeners
        self._waiting: dict[MsgId, Future[Any]] = {}

    def request(self, msg_id: MsgId, method: str, params: Any) -> None:
        """Start answering a `steersman/…` request."""
        route = ROUTES.get(method)
        if route is None:
            self._error(msg_id, {"code": METHOD_NOT_FOUND, "message": f"There is no method {method!r}."})
            return
        self._start(msg_id, route, params)

    def command(self, msg_id: MsgId, command: str, arguments: Any) -> None:
        """Start answering a `workspace/executeCommand` with one of our commands: `[params]`."""
        route = COMMANDS.get(command)
        if route is None:
            problem = InvalidParams(f"There is no command {command!r}.", ["$.command: unknown"])
            self._error(msg_id, error_object(problem))
            return
        given = arguments if arguments is not None else []
        if not isinstance(given, list) or len(given) > 1:
            problem = InvalidParams(
                "A command takes one argument, the params.", ["$.arguments: not [params]"]
            )
            self._error(msg_id, error_object(problem))
            return
        params = given[0] if given and given[0] is not None else {}
        if takes_session(route) and isinstance(params, dict) and "sessionId" not in params:
            self._start_on_latest(msg_id, route, params)
        else:
            self._start(msg_id, route, params)

    def notification(self, method: str, params: Any) -> None:
        """Handle a `steersman/…` notification; an unknown or a malformed one is only logged."""
        if (listener := self._listeners.get(method)) is not None:
            listener(params)
            return
        if method != TRUST:
            log.warning("unknown notification %s", method)
            return
        try:
            self._api.trust(decode_params(params, rq.Trust))
        except InvalidParams as error:
            log.warning("%s: %s", method, error)

    def cancel(self, msg_id: MsgId) -> bool:
        """`$/cancelRequest`: stop waiting for the acknowledgement; the work itself goes on."""
        if self._waiting.pop(msg_id, None) is None:
            return False
        self._error(msg_id, {"code": REQUEST_CANCELLED, "message": "The request was cancelled."})
        return True

    def _start(self, msg_id: MsgId, route: Route, raw: Any) -> None:
        try:
            params = decode_params(raw, route.params)
            future: Future[Any] = route.verb(self._api, params)
        except Exception as error:
            self._failed(msg_id, error)
            return
        self._wait(msg_id, future)

    def _start_on_latest(self, msg_id: MsgId, route: Route, params: dict[str, Any]) -> None:
        """A command that names no session: the latest of the workspace, or a new one."""
        try:
            decode_params({**params, "sessionId": ""}, route.params)
        except InvalidParams as error:
            self._failed(msg_id, error)
            return
        finding = self._api.latest(self._folder())
        self._waiting[msg_id] = finding

        def found(latest: Future[str]) -> None:
            if self._waiting.get(msg_id) is not finding:
                return
            if latest.cancelled() or latest.exception() is not None:
                self._done(msg_id, latest)
                return
            self._start(msg_id, route, {**params, "sessionId": latest.result()})

        finding.add_done_callback(found)

    def _wait(self, msg_id: MsgId, future: Future[Any]) -> None:
        self._waiting[msg_id] = future

        def done(done: Future[Any]) -> None:
            if self._waiting.get(msg_id) is future:
                self._done(msg_id, done)
            elif not done.cancelled():
                done.exception()  # retrieved: nobody waits for it any more

        future.add_done_callback(done)

    def _done(self, msg_id: MsgId, future: Future[Any]) -> None:
        self._waiting.pop(msg_id, None)
        if future.cancelled():
            self._failed(msg_id, asyncio.CancelledError())
        elif (error := future.exception()) is not None:
            self._failed(msg_id, error)
        else:
            self._send(encode({"jsonrpc": "2.0", "id": msg_id, "result": future.result()}))

    def _failed(self, msg_id: MsgId, error: BaseException) -> None:
        described = error_object(error)
        if described.get("data") == {"kind": "internal"}:
            log.error("a request failed", exc_info=error)
        self._error(msg_id, described)

    def _error(self, msg_id: MsgId, error: dict[str, Any]) -> None:
        self._send(encode({"jsonrpc": "2.0", "id": msg_id, "error": error}))
