"""The approval port over the client: its own approval request, else a standard message with buttons.

Silence, errors and answers that make no sense are never a yes.
"""

from __future__ import annotations

import asyncio
import shlex
from typing import Final, Literal

import msgspec
from lsprotocol import types

from steersman.domain.events import ApprovalAsked
from steersman.domain.value import clean_text
from steersman.lsp.abilities import ClientAbilities
from steersman.lsp.channel import ClientChannel
from steersman.lsp.client_messages import APPROVAL, WITHDRAWN, ApprovalRequest
from steersman.ports.approval import ApprovalAnswer, Decision

_BUTTONS: Final[dict[str, Decision]] = {
    "Allow once": "allowOnce",
    "Allow for this session": "allowSession",
    "Deny": "deny",
}
_MESSAGE_LIMIT: Final = 4000
"""Characters of a message: more does not fit a dialog."""


class LspApprovals:
    """Implements `ports.approval.ApprovalPort` for the connected client."""

    def __init__(self, channel: ClientChannel, abilities: ClientAbilities) -> None:
        self._channel = channel
        self._abilities = abilities

    async def ask(self, session_id: str, asked: ApprovalAsked, timeout_seconds: float) -> ApprovalAnswer:
        """As the port says. An editor that cannot ask answers with an error, which denies at once."""
        try:
            if "approvals" in self._abilities.extension:
                answer = await self._request(session_id, asked, timeout_seconds)
            else:
                answer = await self._message(asked, timeout_seconds)
        except asyncio.CancelledError:
            self._withdraw(asked)
            raise
        except TimeoutError:
            self._withdraw(asked)
            return _nobody(f"nobody answered within {timeout_seconds:g} s")
        except Exception as error:
            return _nobody(f"the editor could not ask: {error}")
        if answer.decision == "allowSession" and asked.risk == "destructive":
            return ApprovalAnswer(decision="allowOnce", by=answer.by, feedback=answer.feedback)
        return answer

    async def _request(self, session_id: str, asked: ApprovalAsked, timeout_seconds: float) -> ApprovalAnswer:
        request = ApprovalRequest(
            approval_id=asked.approval_id,
            session_id=session_id,
            turn=asked.turn,
            call_id=asked.call_id,
            tool=asked.tool,
            title=clean_text(asked.title),
            detail=clean_text(asked.detail),
            risk=asked.risk,
            uris=asked.uris,
            argv=None if asked.argv is None else [clean_text(argument) for argument in asked.argv],
        )
        params = msgspec.to_builtins(request)
        result = await self._channel.call(APPROVAL, params, timeout=timeout_seconds)
        if result is None:
            return _dismissed()
        return _answer(_member(result, "decision"), _member(result, "feedback"))

    async def _message(self, asked: ApprovalAsked, timeout_seconds: float) -> ApprovalAnswer:
        titles = [t for t, d in _BUTTONS.items() if d != "allowSession" or asked.risk != "destructive"]
        quiet = asked.risk in ("edit", "network")
        params = {
            "type": int(types.MessageType.Info if quiet else types.MessageType.Warning),
            "message": message_text(asked),
            "actions": [{"title": title} for title in titles],
        }
        result = await self._channel.call("window/showMessageRequest", params, timeout=timeout_seconds)
        if result is None:
            return _dismissed()
        title = _member(result, "title")
        return _answer(_BUTTONS.get(title) if isinstance(title, str) else None, None)

    def _withdraw(self, asked: ApprovalAsked) -> None:
        """Tell a client of ours to close its prompt; for others the cancelled request is all there is."""
        if self._abilities.speaks_extension:
            self._channel.notify_raw(WITHDRAWN, {"id": asked.approval_id})


def message_text(asked: ApprovalAsked) -> str:
    """The whole question as plain text. What does not fit is counted, never dropped in silence."""
    parts = [f"Steersman asks: {asked.title}"]
    command = shlex.join(asked.argv or ())
    if command and command not in f"{asked.title}\n{asked.detail}":
        parts.append(command)
    parts += (part for part in (*(asked.uris or ()), asked.detail) if part)
    text = clean_text("\n".join(parts))
    if len(text) <= _MESSAGE_LIMIT:
        return text
    return f"{text[:_MESSAGE_LIMIT]}\n… ({len(text) - _MESSAGE_LIMIT} more characters are not shown)"


def _answer(decision: object, feedback: object) -> ApprovalAnswer:
    known: Decision | Literal[False] = next((d for d in _BUTTONS.values() if d == decision), False)
    if not known:
        return _nobody("the editor gave an answer that makes no sense")
    words = clean_text(feedback) if isinstance(feedback, str) and feedback else None
    return ApprovalAnswer(decision=known, by="human", feedback=words)


def _dismissed() -> ApprovalAnswer:
    return ApprovalAnswer(decision="deny", by="human", feedback="dismissed")


def _nobody(reason: str) -> ApprovalAnswer:
    return ApprovalAnswer(decision="deny", by="timeout", feedback=reason)


def _member(result: object, name: str) -> object:
    return result.get(name) if isinstance(result, dict) else None
