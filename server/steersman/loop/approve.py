"""Asking a person before a call: one question at a time, bound to exactly this call."""

from __future__ import annotations

import asyncio

import msgspec

from steersman.domain import events as ev
from steersman.domain.ids import new_id
from steersman.domain.messages import ToolError
from steersman.domain.state import SessionState
from steersman.errors import Aborted
from steersman.loop.abort import AbortSignal
from steersman.loop.call import Planned
from steersman.loop.journal import Journal
from steersman.loop.reply import Tell
from steersman.loop.services import Services
from steersman.ports.approval import ApprovalAnswer
from steersman.tools.base import Ask


class Denied(msgspec.Struct, frozen=True, kw_only=True):
    """The person said no, or nobody answered, or the turn was stopped (`withdrawn`)."""

    error: ToolError
    withdrawn: bool = False


class Approver:
    """Asks in the order in which it is called. `waited` sums the seconds that people took."""

    def __init__(self, journal: Journal, services: Services, abort: AbortSignal, tell: Tell) -> None:
        self._journal = journal
        self._services = services
        self._abort = abort
        self._tell = tell
        self._turn = asyncio.Lock()
        self.waited = 0.0

    async def ask(self, planned: Planned, ask: Ask, turn: int) -> Denied | None:
        """None if the call may run. Raises StorageFailed."""
        async with self._turn:
            if self._abort.is_set():
                return _withdrawn()
            if unattended(self._journal.state):
                return _unanswered()
            asked = ev.ApprovalAsked(
                approval_id=new_id("a"),
                call_id=planned.call.call_id,
                turn=turn,
                tool=planned.call.name,
                title=ask.title,
                detail=ask.detail,
                risk=ask.risk,
                uris=list(ask.uris) or None,
                argv=list(ask.argv) or None,
                remember=ask.remember,
            )
            await self._journal.append(asked)
            self._tell("approval")
            clock = self._services.clock
            started = clock.monotonic()
            try:
                answer = await self._answer(asked)
            finally:
                self.waited += clock.monotonic() - started
                self._tell("tool")
            return await self._decide(asked, answer)

    async def _answer(self, asked: ev.ApprovalAsked) -> ApprovalAnswer | None:
        """The person's answer, or None if the turn was stopped first."""
        seconds = self._services.settings.permissions.approval_timeout_seconds
        session_id = self._journal.state.session_id
        try:
            return await self._abort.race(self._services.approvals.ask(session_id, asked, seconds))
        except Aborted:
            return None

    async def _decide(self, asked: ev.ApprovalAsked, answer: ApprovalAnswer | None) -> Denied | None:
        if answer is None:
            await self._journal.append(
                ev.ApprovalDecided(approval_id=asked.approval_id, decision="deny", by="cancelled")
            )
            return _withdrawn()
        await self._journal.append(
            ev.ApprovalDecided(
                approval_id=asked.approval_id,
                decision=answer.decision,
                by=answer.by,
                feedback=answer.feedback,
            )
        )
        if answer.decision != "deny":
            return _withdrawn() if self._abort.is_set() else None
        if answer.by == "timeout":
            return _unanswered()
        said = f' They said: "{answer.feedback}".' if answer.feedback else ""
        words = f"The user denied this call.{said} Do not try it in another way; go on without it or ask."
        return Denied(error=ToolError(code="DENIED", message=words))


def unattended(state: SessionState) -> bool:
    """Nobody answered in this round of a goal: it will be paused, and no second person is waited for."""
    turn = state.turn
    return turn is not None and turn.round is not None and turn.unanswered


def _unanswered() -> Denied:
    words = "Nobody answered the approval in time. Go on without it, or end and say what is needed."
    return Denied(error=ToolError(code="UNAVAILABLE", message=words))


def _withdrawn() -> Denied:
    return Denied(error=ToolError(code="DENIED", message="The turn was stopped."), withdrawn=True)
