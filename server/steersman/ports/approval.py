"""Asking a person. An answer is bound to the exact call it was asked for."""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec

from steersman.domain.events import ApprovalAsked

Decision = Literal["allowOnce", "allowSession", "deny"]


class ApprovalAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A person's decision. `by` is `timeout` where nobody answered in time: that is never a yes."""

    decision: Decision
    by: Literal["human", "timeout"]
    feedback: str | None = None


class ApprovalPort(Protocol):
    async def ask(self, session_id: str, asked: ApprovalAsked, timeout_seconds: float) -> ApprovalAnswer:
        """Ask and wait. Cancelling the task withdraws the question; a late answer is ignored."""
        ...


class ScriptedApproval:
    """The test double: answers from a list, then denies. `asked` keeps what it was asked."""

    def __init__(self, answers: list[ApprovalAnswer] | None = None) -> None:
        self.answers = list(answers or [])
        self.asked: list[ApprovalAsked] = []

    async def ask(self, session_id: str, asked: ApprovalAsked, timeout_seconds: float) -> ApprovalAnswer:
        self.asked.append(asked)
        if self.answers:
            return self.answers.pop(0)
        return ApprovalAnswer(decision="deny", by="human")
