"""The events of a session's log: the envelope, and one strict struct for the data of each type.

The tables at the end are the whole registry: adding an event type is one struct and one line there.
Shapes and meanings are those of the wire contract (protocol.md section 5).
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from steersman.domain.checks import Check, CheckResult, Verdict
from steersman.domain.goal import By, Goal, GoalRef, Operation
from steersman.domain.messages import (
    ContextItem,
    Delta,
    HeldReason,
    Outcome,
    PromptMethod,
    QueueName,
    Source,
    ToolCall,
    ToolError,
    Verified,
)
from steersman.domain.receipts import TestReceipt
from steersman.domain.task import TaskState
from steersman.domain.usage import Usage
from steersman.domain.value import Strict, clean_value

Mode = Literal["agent", "plan", "ask"]
CallMode = Literal["exclusive", "parallel"]
CallOutcome = Literal[
    "ok", "error", "denied", "timeout", "aborted", "aborted-before-dispatch", "not-started", "unknown"
]
EditKind = Literal["edit", "create", "rename", "delete"]
Risk = Literal["edit", "execute", "network", "destructive"]
AnsweredBy = Literal["human", "steer", "timeout", "cancelled"]
FORMAT_VERSION: Final = 1
"""The version of the log's format. A log with a higher one is refused."""


class EventData(Strict, frozen=True):
    """Base of every event's data."""


class Parent(Strict, frozen=True):
    session_id: str
    seq: int


class SessionCreated(EventData, frozen=True):
    format_version: int
    workspace_folder: str | None
    title: str
    parent: Parent | None = None


class SessionOpened(EventData, frozen=True):
    reason: Literal["new", "resume", "fork", "repair"]
    server: str


class SessionConfigured(EventData, frozen=True):
    title: str | None = None
    model: str | None = None
    mode: Mode | None = None


class InboxQueued(EventData, frozen=True):
    """`turn` is the turn that the outcome names, so that a repeated message id gets the first answer."""

    message_id: str
    queue: QueueName
    source: Source
    text: str
    method: PromptMethod | Literal["inject", "goal/round"]
    outcome: Outcome
    context: list[ContextItem] | None = None
    checks: list[Check] | None = None
    turn: int | None = None


class InboxClaimed(EventData, frozen=True):
    message_ids: list[str]
    turn: int
    step: int


class InboxEdited(EventData, frozen=True):
    message_id: str
    text: str


class InboxRemoved(EventData, frozen=True):
    message_id: str
    reason: Literal["cancelled", "withdrawn", "stale"]


class InboxMoved(EventData, frozen=True):
    message_ids: list[str]
    queue: QueueName


class InboxHeld(EventData, frozen=True):
    reason: HeldReason


class InboxReleased(EventData, frozen=True):
    pass


class TurnStart(EventData, frozen=True):
    turn: int
    trigger: Literal["human", "goal"]


class Completed(Strict, frozen=True, tag_field="kind", tag="completed"):
    pass


class AbortedReason(Strict, frozen=True, tag_field="kind", tag="aborted"):
    by: Literal["human", "trust", "shutdown"]


class ErrorReason(Strict, frozen=True, tag_field="kind", tag="error"):
    code: str
    message: str


class MaxTokens(Strict, frozen=True, tag_field="kind", tag="max-tokens"):
    pass


class Exit(Strict, frozen=True, tag_field="kind", tag="exit"):
    policy: str


class Interrupted(Strict, frozen=True, tag_field="kind", tag="interrupted"):
    """Only on recovery: the process died in this turn."""


EndReason = Completed | AbortedReason | ErrorReason | MaxTokens | Exit | Interrupted


class TurnEnd(EventData, frozen=True):
    turn: int
    reason: EndReason


class StepStart(EventData, frozen=True):
    turn: int
    step: int


class StepEnd(EventData, frozen=True):
    turn: int
    step: int
    usage: Usage


class UserMessage(EventData, frozen=True):
    turn: int
    step: int
    message_id: str
    source: Source
    text: str
    context: list[ContextItem] | None = None


class ToolSpec(Strict, frozen=True):
    """A tool as the model is offered it. `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: dict[str, Any]


class RequestHeader(EventData, frozen=True):
    """The stable part of a request. `params` are provider members, sent as they stand."""

    turn: int
    step: int
    model: str
    params: dict[str, Any]
    system: str
    tools: list[ToolSpec]


class AssistantChunk(EventData, frozen=True):
    turn: int
    step: int
    attempt: int
    deltas: list[Delta]


class AssistantMessage(EventData, frozen=True):
    """`reasoning_field` names the member by which the provider wants its reasoning back, if it does."""

    turn: int
    step: int
    text: str
    tool_calls: list[ToolCall]
    finish_reason: str | None
    usage: Usage
    reasoning: str | None = None
    reasoning_field: str | None = None
    interrupted: bool = False


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


class ModelRetry(EventData, frozen=True):
    """`attempt` is the one that failed, from 1; `delay_ms` the wait before the next. `message` says why."""

    turn: int
    step: int
    attempt: int
    code: Literal["rate-limit", "server", "timeout", "transport", "empty"]
    delay_ms: int
    message: str | None = None
    usage: Usage | None = None


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
    """A question of the model to the person, before its call starts."""

    question_id: str
    call_id: str
    turn: int
    text: str
    choices: list[str] | None = None


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


class GoalChanged(EventData, frozen=True):
    """`goal` is the full snapshot after the change, None after `clear`; `ref` the state it made."""

    operation: Operation
    by: By
    ref: GoalRef
    goal: Goal | None
    reason: str | None = None


class GoalRound(EventData, frozen=True):
    """A round on its way into the loop. Only `admitted` uses its number up."""

    goal_id: str
    revision: int
    round: int
    status: Literal["queued", "claimed", "admitted", "stale"]
    reason: str | None = None


class GoalBlocker(EventData, frozen=True):
    """The model says that it is blocked; `consecutive` rounds in a row it gave the same `key`."""

    goal_id: str
    revision: int
    round: int
    key: str
    message: str
    consecutive: int


class GoalVerification(EventData, frozen=True):
    """What the harness found when it ran checks. Outside a goal `goal_id` and `revision` are unset."""

    phase: Literal["baseline", "claim", "subtask", "prompt"]
    verdict: Verdict
    results: list[CheckResult]
    goal_id: str | None = None
    revision: int | None = None
    tampered: list[str] | None = None


class ExitVerdict(EventData, frozen=True):
    policy: str
    class_: Literal["success", "failure", "safety"] = msgspec.field(name="class")
    severity: Literal["info", "transient", "recoverable", "fatal", "human"]
    action: Literal["continue", "remind", "ask", "retry", "replan", "pause", "block", "fail", "succeed"]
    message: str
    evidence: str


class TaskChanged(EventData, frozen=True):
    from_: TaskState = msgspec.field(name="from")
    to: TaskState
    cause: str


class Opaque(EventData, frozen=True):
    """The data of an event that this version does not know and may ignore. `raw` is its JSON."""

    raw: msgspec.Raw


EVENT_DATA: Final[dict[str, type[EventData]]] = {
    "session/created": SessionCreated,
    "session/opened": SessionOpened,
    "session/configured": SessionConfigured,
    "inbox/queued": InboxQueued,
    "inbox/claimed": InboxClaimed,
    "inbox/edited": InboxEdited,
    "inbox/removed": InboxRemoved,
    "inbox/moved": InboxMoved,
    "inbox/held": InboxHeld,
    "inbox/released": InboxReleased,
    "turn/start": TurnStart,
    "turn/end": TurnEnd,
    "step/start": StepStart,
    "step/end": StepEnd,
    "user/message": UserMessage,
    "request/header": RequestHeader,
    "assistant/chunk": AssistantChunk,
    "assistant/message": AssistantMessage,
    "tool/call": ToolCalled,
    "tool/start": ToolStart,
    "tool/result": ToolResult,
    "model/retry": ModelRetry,
    "approval/asked": ApprovalAsked,
    "approval/decided": ApprovalDecided,
    "question/asked": QuestionAsked,
    "question/answered": QuestionAnswered,
    "edit/planned": EditPlanned,
    "edit/applied": EditApplied,
    "tests/receipt": TestsReceipt,
    "goal/change": GoalChanged,
    "goal/round": GoalRound,
    "goal/blocker": GoalBlocker,
    "goal/verification": GoalVerification,
    "exit/verdict": ExitVerdict,
    "task/state": TaskChanged,
}
"""Every event type that this version writes and folds, with the struct of its data."""

TYPE_OF: Final[dict[type[EventData], str]] = {data: name for name, data in EVENT_DATA.items()}

CHUNK: Final = "assistant/chunk"
"""The one type whose rows are off the fold's path: its text comes again in `assistant/message`."""


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One numbered action of a session. `time` is in milliseconds since the epoch."""

    session_id: str
    seq: int
    time: int
    data: EventData
    ignorable: bool = False
    type: str

    @property
    def is_chunk(self) -> bool:
        return self.type == CHUNK


_decoders: dict[str, msgspec.json.Decoder[Any]] = {
    name: msgspec.json.Decoder(data) for name, data in EVENT_DATA.items()
}


def decode_data(type_: str, raw: bytes, *, ignorable: bool) -> EventData:
    """Decode the data of an event strictly.

    Raises:
        ValueError: the type is unknown and not ignorable, or the data does not fit its struct.
    """
    decoder = _decoders.get(type_)
    if decoder is None:
        if not ignorable:
            raise ValueError(f"unknown event type {type_!r}")
        return Opaque(raw=msgspec.Raw(raw))
    try:
        data: EventData = decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{type_}: {error}") from error
    return data


def encode_data(data: EventData) -> bytes:
    """The stored and sent JSON of an event's data."""
    if isinstance(data, Opaque):
        return bytes(data.raw)
    return msgspec.json.encode(data)


def clean_data(data: EventData) -> EventData:
    """The same data with lone surrogates replaced in every text: no UTF-8 log can hold them."""
    return msgspec.convert(clean_value(msgspec.to_builtins(data)), type(data))


def make_event(session_id: str, seq: int, time: int, data: EventData) -> Event:
    """An event of this version, with the type that belongs to its data."""
    return Event(session_id=session_id, seq=seq, time=time, type=TYPE_OF[type(data)], data=data)


class StoredEvent(msgspec.Struct, frozen=True, array_like=False):
    """An event as it is stored and sent: `data` is its JSON, byte for byte."""

    seq: int
    time: int
    type: str
    data: bytes
    ignorable: bool = False


def to_stored(event: Event) -> StoredEvent:
    """The row of an event."""
    return StoredEvent(
        seq=event.seq,
        time=event.time,
        type=event.type,
        data=encode_data(event.data),
        ignorable=event.ignorable,
    )


def from_stored(session_id: str, row: StoredEvent) -> Event:
    """The event of a row. Raises ValueError as `decode_data` does."""
    data = decode_data(row.type, row.data, ignorable=row.ignorable)
    return Event(
        session_id=session_id,
        seq=row.seq,
        time=row.time,
        type=row.type,
        data=data,
        ignorable=row.ignorable,
    )


def receipt_event(receipt: TestReceipt) -> TestsReceipt:
    """A receipt as an event of the log."""
    return TestsReceipt(**{name: getattr(receipt, name) for name in TestReceipt.__struct_fields__})
