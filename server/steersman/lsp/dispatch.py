"""Our own requests: decoded, handed to the session verbs in the order in which they came, and answered once.

The answer is written in a done-callback of the verb's future, never in a task: so it leaves before the
events that it acknowledges (sessions/api.py).
"""

from __future__ import annotations

import logging
from asyncio import Future
from collections.abc import Callable, Mapping
from typing import Any

from steersman.domain.value import encode
from steersman.errors import InvalidParams
from steersman.lsp.client_messages import TRUST
from steersman.lsp.decoding import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    REQUEST_CANCELLED,
    SERVER_CANCELLED,
    decode_params,
    error_object,
)
from steersman.lsp.latest import LatestSession
from steersman.lsp.messages import COMMANDS, ROUTES, Route, takes_latest
from steersman.sessions import requests as rq
from steersman.sessions.api import SessionApi

log = logging.getLogger(__name__)
MsgId = int | str


class _Client:
    """Someone who waits for an answer. Its identity tells it from a later request with the same id."""

    def __init__(self, msg_id: MsgId) -> None:
        self.msg_id = msg_id
        self.abort: Callable[[], object] = lambda: None


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
        self._listeners = listeners
        self._latest = LatestSession(lambda: api.latest(folder()))
        self._waiting: dict[MsgId, _Client] = {}

    def request(self, msg_id: MsgId, method: str, params: Any) -> None:
        """Start answering a `steersman/…` request."""
        if (client := self._admit(msg_id)) is None:
            return
        route = ROUTES.get(method)
        if route is None:
            self._refuse(client, METHOD_NOT_FOUND, f"There is no method {method!r}.")
        else:
            self._start(client, route, params)

    def command(self, msg_id: MsgId, command: str, arguments: Any) -> None:
        """Start answering a `workspace/executeCommand` with one of our commands: `[params]`."""
        if (client := self._admit(msg_id)) is None:
            return
        route = COMMANDS.get(command)
        given = arguments if arguments is not None else []
        if route is None:
            self._fail(client, InvalidParams(f"There is no command {command!r}.", ["$.command: unknown"]))
        elif not isinstance(given, list) or len(given) > 1:
            text = "A command takes one argument, the params."
            self._fail(client, InvalidParams(text, ["$.arguments: not [params]"]))
        else:
            params = given[0] if given and given[0] is not None else {}
            if takes_latest(route) and isinstance(params, dict) and params.get("sessionId") is None:
                self._start_on_latest(client, route, params)
            else:
                self._start(client, route, params)

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
        """`$/cancelRequest`: stop waiting for the answer. The work goes on, unless its route is abortable.

        False if no such request of ours is open.
        """
        client = self._waiting.get(msg_id)
        if client is None:
            return False
        self._refuse(client, REQUEST_CANCELLED, "The request was cancelled.")
        client.abort()
        return True

    def close(self) -> None:
        """Answer what is still open: the sessions have stopped."""
        for client in [*self._waiting.values()]:
            self._refuse(client, SERVER_CANCELLED, "The server has stopped.")

    def _admit(self, msg_id: MsgId) -> _Client | None:
        if msg_id in self._waiting:
            error = {"code": INVALID_REQUEST, "message": f"The id {msg_id!r} is that of an open request."}
            self._send(encode({"jsonrpc": "2.0", "id": msg_id, "error": error}))
            return None
        client = self._waiting[msg_id] = _Client(msg_id)
        return client

    def _start(self, client: _Client, route: Route, raw: Any) -> None:
        try:
            params = decode_params(raw, route.params)
            future: Future[Any] = route.verb(self._api, params)
        except Exception as error:
            self._fail(client, error)
            return
        future.add_done_callback(lambda done: self._done(client, done))
        if route.abortable:
            client.abort = future.cancel
        if route.params is rq.NewSession:
            self._latest.wait_for(future)

    def _start_on_latest(self, client: _Client, route: Route, params: dict[str, Any]) -> None:
        """A command that names no session: the latest of the workspace, or a new one."""
        try:
            # What is wrong with the rest is told before a session is made for it.
            decode_params({**params, "sessionId": ""}, route.params)
        except InvalidParams as error:
            self._fail(client, error)
            return

        def found(latest: Future[str]) -> None:
            if latest.cancelled() or latest.exception() is not None:
                self._done(client, latest)
            elif self._waits(client) or not route.abortable:
                self._start(client, route, {**params, "sessionId": latest.result()})

        self._latest.then(found)

    def _done(self, client: _Client, future: Future[Any]) -> None:
        error = None if future.cancelled() else future.exception()
        if future.cancelled():
            self._refuse(client, SERVER_CANCELLED, "The server gave it up: it is stopping.")
        elif error is not None:
            self._fail(client, error)
        else:
            self._answer(client, {"result": future.result()})

    def _fail(self, client: _Client, error: BaseException) -> None:
        if not self._waits(client):
            return
        described = error_object(error)
        if described["code"] == INTERNAL_ERROR:
            log.error("a request failed", exc_info=error)
        self._answer(client, {"error": described})

    def _refuse(self, client: _Client, code: int, message: str) -> None:
        self._answer(client, {"error": {"code": code, "message": message}})

    def _answer(self, client: _Client, outcome: dict[str, Any]) -> None:
        """Answer, if the client still waits: if not, the events tell what became of it."""
        if not self._waits(client):
            return
        del self._waiting[client.msg_id]
        try:
            body = encode({"jsonrpc": "2.0", "id": client.msg_id, **outcome})
        except (TypeError, ValueError) as error:
            log.error("an answer has no JSON form", exc_info=error)
            body = encode({"jsonrpc": "2.0", "id": client.msg_id, "error": error_object(error)})
        self._send(body)

    def _waits(self, client: _Client) -> bool:
        return self._waiting.get(client.msg_id) is client
