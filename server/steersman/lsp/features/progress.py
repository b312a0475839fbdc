"""A work-done progress a turn, for clients that show nothing else of a session. Never blocks the feed."""

from __future__ import annotations

import asyncio
import uuid
from asyncio import Future
from collections.abc import Callable, Sequence
from typing import Final

from steersman.domain.events import StoredEvent, UserMessage, decode_data
from steersman.domain.messages import Human
from steersman.domain.value import clean_text
from steersman.domain.views import SessionInfo, WaitingOn
from steersman.lsp.channel import ClientChannel
from steersman.sessions.requests import Cancelled, CancelTurn

_TITLE_LIMIT: Final = 60
_WAITING: Final[dict[WaitingOn, str]] = {
    "model": "waiting for the model",
    "tool": "running tools",
    "approval": "waiting for your approval",
    "question": "waiting for your answer",
    "retry": "waiting to try again",
    "pause": "paused",
}


class ProgressFeed:
    """A Feed listener. Give it to clients that advertise `window.workDoneProgress`, and to no others."""

    def __init__(
        self,
        channel: ClientChannel,
        cancel: Callable[[CancelTurn], Future[Cancelled]],
        *,
        request_timeout_seconds: float = 30.0,
    ) -> None:
        self._channel = channel
        self._cancel = cancel
        self._timeout = request_timeout_seconds
        self._prompts: dict[str, str] = {}
        self._running: dict[str, _TurnProgress] = {}
        self._creating: set[asyncio.Task[None]] = set()

    def appended(self, session_id: str, events: Sequence[StoredEvent]) -> None:
        """Remember what the turn was asked: the first words of a person are its title."""
        for event in events:
            if event.type == "turn/start":
                self._prompts.pop(session_id, None)
            elif event.type == "user/message" and session_id not in self._prompts:
                message = decode_data(event.type, event.data, ignorable=event.ignorable)
                if isinstance(message, UserMessage) and isinstance(message.source, Human):
                    self._prompts[session_id] = message.text

    def changed(self, info: SessionInfo) -> None:
        """Begin, report or end, as the session's state says."""
        shown = self._running.get(info.session_id)
        turn = info.turn if info.state == "running" else None
        if shown is not None and shown.turn != turn:
            del self._running[info.session_id]
            shown.end()
            shown = None
        if turn is None:
            self._prompts.pop(info.session_id, None)
            return
        if shown is None:
            shown = _TurnProgress(self._channel, info.session_id, turn, self._title(info))
            self._running[info.session_id] = shown
            task = asyncio.ensure_future(shown.create(self._timeout))
            self._creating.add(task)
            task.add_done_callback(self._creating.discard)
        shown.report(_step(info))

    def cancelled(self, token: object) -> None:
        """`window/workDoneProgress/cancel`: cancel exactly the turn that the token stands for."""
        for shown in self._running.values():
            if shown.token == token:
                params = CancelTurn(session_id=shown.session_id, expected_turn=shown.turn)
                # A turn that ended in this moment is no error to anyone.
                self._cancel(params).add_done_callback(_ignore_failure)

    def _title(self, info: SessionInfo) -> str:
        words = " ".join((self._prompts.get(info.session_id) or info.title or "Steersman").split())
        return clean_text(words if len(words) <= _TITLE_LIMIT else words[: _TITLE_LIMIT - 1] + "…")


class _TurnProgress:
    """One token's life: created, begun, reported, ended, in this order whatever the client's speed."""

    def __init__(self, channel: ClientChannel, session_id: str, turn: int, title: str) -> None:
        self.token = str(uuid.uuid4())
        self.session_id = session_id
        self.turn = turn
        self._channel = channel
        self._title = title
        self._message = ""
        self._begun = False
        self._ended = False

    async def create(self, timeout_seconds: float) -> None:
        """Ask for the token, then begin; a client that refuses it is shown nothing."""
        params = {"token": self.token}
        try:
            await self._channel.call("window/workDoneProgress/create", params, timeout=timeout_seconds)
        except Exception:
            return
        if self._ended:
            return
        self._begun = True
        self._send({"kind": "begin", "title": self._title, "cancellable": True, "message": self._message})

    def report(self, message: str) -> None:
        """Show a message if it is news."""
        if message == self._message:
            return
        self._message = message
        if self._begun:
            self._send({"kind": "report", "cancellable": True, "message": message})

    def end(self) -> None:
        """The turn is over; the token must not be used again."""
        self._ended = True
        if self._begun:
            self._send({"kind": "end"})

    def _send(self, value: dict[str, object]) -> None:
        self._channel.notify_raw("$/progress", {"token": self.token, "value": value})


def _step(info: SessionInfo) -> str:
    step = f"step {info.step}" if info.step else "starting"
    return f"{step}: {_WAITING[info.waiting_on]}" if info.waiting_on else step


def _ignore_failure(answer: Future[Cancelled]) -> None:
    if not answer.cancelled():
        answer.exception()
