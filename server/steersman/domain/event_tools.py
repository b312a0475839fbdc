"""The data of what tools did: calls, approvals, questions, edits and test receipts."""

from __future__ import annotations

from typing import Literal

from steersman.domain.event_turns import EventData
from steersman.domain.messages import ToolError, Verified
from steersman.domain.receipts import TestReceipt

CallMode = Literal["exclusive", "parallel"]
CallOutcome = Literal[
    "ok", "error", "denied", "timeout", "aborted", "aborted-before-dispatch", "not-started", "unknown"
]
EditKind = Literal["edit", "create", "rename", "delete"]
Risk = Literal["edit", "execute", "network", "destructive"]
AnsweredBy = Literal["human", "steer", "timeout", "cancelled"]


class ToolCalled(EventData, frozen=True):
    turn: int
    step: int
    call_id: str
    name: str
    arguments: str
    mode: CallMode


class ToolStart(EventData, frozen=True):
    turn: int
    step: int
    call_id: str


class ToolResult(EventData, frozen=True):
    """`content` is the text that the model sees. `duration_ms` is in milliseconds.

    `seen` maps the URI of each file whose whole present text the model now knows to its content hash.
    """

    turn: int
    step: int
    call_id: str
    outcome: CallOutcome
    content: str
    error: ToolError | None = None
    verified: Verified | None = None
    duration_ms: int | None = None
    seen: dict[str, str] | None = None


class ApprovalAsked(EventData, frozen=True):
    approval_id: str
    call_id: str
    turn: int
    tool: str
    title: str
    detail: str
    risk: Risk
    uris: list[str] | None = None
    argv: list[str] | None = None
    remember: str | None = None


class ApprovalDecided(EventData, frozen=True):
    approval_id: str
    decision: Literal["allowOnce", "allowSession", "deny"]
    by: Literal["human", "rule", "timeout", "cancelled"]
    feedback: str | None = None


class QuestionAsked(EventData, frozen=True):
    """A question to the person: the model's, before its call starts, or a check's (`check_id`).

    `call_id` is None for a prompt's checks; `turn` only where none is open, and then it is not logged.
    """

    question_id: str
    text: str
    call_id: str | None = None
    turn: int | None = None
    choices: list[str] | None = None
    check_id: str | None = None


class QuestionAnswered(EventData, frozen=True):
    """`answer` is None where the person closed the question, or where `by` is not `human`."""

    question_id: str
    answer: str | None
    by: AnsweredBy


class EditPlanned(EventData, frozen=True):
    """Durable before an edit leaves the server, so that recovery can tell whether it was applied.

    `before` and `after` are content hashes (SHA-256 of the UTF-8 text), empty where nothing exists.
    """

    change_id: str
    call_id: str
    uri: str
    kind: EditKind
    before: str
    after: str
    new_uri: str | None = None


class EditApplied(EventData, frozen=True):
    change_id: str
    call_id: str
    uri: str
    kind: EditKind
    before: str
    after: str
    added: int = 0
    removed: int = 0
    new_uri: str | None = None


class TestsReceipt(TestReceipt, EventData, frozen=True):
    """A receipt as an event: the receipt's own members."""
