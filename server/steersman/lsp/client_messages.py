"""What the server asks of a client, and what it is told: the shapes of protocol.md sections 3 and 4.

Params are made from these. Answers are read tolerantly where they are used (a client may be wrong); here
they stand as a client should give them.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from steersman.domain.checks import Selection
from steersman.domain.events import Risk
from steersman.domain.messages import Position
from steersman.domain.receipts import TestOutcome, TestReceipt
from steersman.domain.value import Value
from steersman.domain.views import SessionInfo
from steersman.ports.approval import Decision
from steersman.sessions.requests import EventView, Trust

DID_APPEND: Final = "steersman/session/didAppend"
DID_CHANGE: Final = "steersman/session/didChange"
TRUST: Final = "steersman/workspace/trust"
WITHDRAWN: Final = "steersman/request/cancelled"
APPROVAL: Final = "steersman/approval/request"
QUESTION: Final = "steersman/question/ask"
TESTS_RUN: Final = "steersman/tests/run"
TESTS_RESULT: Final = "steersman/tests/result"
TESTS_PROGRESS: Final = "steersman/tests/progress"
COMMAND_RUN: Final = "steersman/command/run"
COMMAND_RESULT: Final = "steersman/command/result"
SAVE: Final = "steersman/document/save"
QUERY: Final = "steersman/query"

RunReason = Literal["tool", "check", "baseline"]
QueryKind = Literal["diagnostics", "definition", "references", "symbols", "hover"]


class ApprovalRequest(Value, frozen=True):
    """May this call be run? `detail` is Markdown."""

    approval_id: str
    session_id: str
    turn: int | None
    call_id: str
    tool: str
    title: str
    detail: str
    risk: Risk
    uris: list[str] | None = None
    argv: list[str] | None = None


class ApprovalDecision(Value, frozen=True):
    """A person's answer. `feedback` is told to the model."""

    decision: Decision
    feedback: str | None = None


class QuestionRequest(Value, frozen=True):
    """A question of the model to the person."""

    question_id: str
    session_id: str
    turn: int | None
    text: str
    choices: list[str] | None = None


class QuestionReply(Value, frozen=True):
    """None: the person closed the question without an answer."""

    answer: str | None


class TestsRequest(Value, frozen=True):
    """Run tests in a folder (URI). Without `argv` as the editor's own settings say."""

    run_id: str
    session_id: str | None
    turn: int | None
    folder: str
    timeout_seconds: float
    reason: RunReason
    call_id: str | None = None
    argv: list[str] | None = None
    selection: Selection | None = None


class TestsProgress(Value, frozen=True):
    """A test that has ended, or a piece of output, while a run goes on."""

    run_id: str
    test: str | None = None
    outcome: TestOutcome | None = None
    output: str | None = None


class CommandRequest(Value, frozen=True):
    """Run a command (no shell) in a folder (URI)."""

    run_id: str
    session_id: str | None
    turn: int | None
    folder: str
    argv: list[str]
    timeout_seconds: float
    title: str
    call_id: str | None = None


class CommandOutcome(Value, frozen=True):
    """How a command ended. `duration_ms` is in milliseconds. `timed_out`: it was ended at its limit."""

    exit_code: int | None
    output: str
    duration_ms: int
    cancelled: bool
    timed_out: bool = False


class CommandResult(CommandOutcome, frozen=True, kw_only=True):
    """The outcome of a run that was accepted first."""

    run_id: str


class Running(Value, frozen=True):
    """The run has begun; its result will be told by a notification."""

    accepted: Literal[True] = msgspec.field(default=True)


class SaveRequest(Value, frozen=True):
    uris: list[str]


class Saved(Value, frozen=True):
    saved: list[str]


class QueryRequest(Value, frozen=True):
    """A question to the editor's language servers; the answer is the matching LSP value."""

    kind: QueryKind
    uri: str | None = None
    position: Position | None = None
    query: str | None = None


class Withdrawn(Value, frozen=True):
    """An approval, a question or a run that no longer matters."""

    id: str


class Appended(Value, frozen=True):
    """Durable events of a session, in order."""

    session_id: str
    events: list[EventView]


class Changed(Value, frozen=True):
    session: SessionInfo


SERVER_REQUESTS: Final[dict[str, tuple[Any, Any]]] = {
    APPROVAL: (ApprovalRequest, ApprovalDecision),
    QUESTION: (QuestionRequest, QuestionReply),
    TESTS_RUN: (TestsRequest, TestReceipt | Running),
    COMMAND_RUN: (CommandRequest, CommandOutcome | Running),
    SAVE: (SaveRequest, Saved),
    QUERY: (QueryRequest, Any),
}
"""What the server asks of a client that offers it: the types of params and of the result."""

SERVER_NOTIFICATIONS: Final[dict[str, Any]] = {
    DID_APPEND: Appended,
    DID_CHANGE: Changed,
    WITHDRAWN: Withdrawn,
}

CLIENT_NOTIFICATIONS: Final[dict[str, Any]] = {
    TRUST: Trust,
    TESTS_RESULT: TestReceipt,
    TESTS_PROGRESS: TestsProgress,
    COMMAND_RESULT: CommandResult,
}
