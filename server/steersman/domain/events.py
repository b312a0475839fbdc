"""The events of a session's log: the envelope, the registry of types, and their way through bytes.

Each type's data is a strict struct in one of the `event_*` modules, under its name there and here. Adding an
event type is one struct and one line of the table below. Shapes are those of protocol.md section 5.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from steersman.domain.event_context import CompactionFailed, ContextCompacted, Trigger
from steersman.domain.event_goals import (
    ExitVerdict,
    GoalBlocker,
    GoalChanged,
    GoalRound,
    GoalVerification,
    TaskChanged,
)
from steersman.domain.event_tools import (
    AnsweredBy,
    ApprovalAsked,
    ApprovalDecided,
    CallMode,
    CallOutcome,
    EditApplied,
    EditKind,
    EditPlanned,
    QuestionAnswered,
    QuestionAsked,
    Risk,
    TestsReceipt,
    ToolCalled,
    ToolResult,
    ToolStart,
)
from steersman.domain.event_turns import (
    FORMAT_VERSION,
    AbortedReason,
    AssistantChunk,
    AssistantMessage,
    Completed,
    EndReason,
    ErrorReason,
    EventData,
    Exit,
    InboxClaimed,
    InboxEdited,
    InboxHeld,
    InboxMoved,
    InboxQueued,
    InboxReleased,
    InboxRemoved,
    Interrupted,
    MaxTokens,
    Mode,
    ModelRetry,
    Opaque,
    Parent,
    RequestHeader,
    SessionConfigured,
    SessionCreated,
    SessionOpened,
    StepEnd,
    StepStart,
    ToolSpec,
    TurnEnd,
    TurnStart,
    UserMessage,
)
from steersman.domain.receipts import TestReceipt
from steersman.domain.value import clean_value

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
    "context/compacted": ContextCompacted,
    "compaction/failed": CompactionFailed,
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


__all__ = [
    "CHUNK",
    "EVENT_DATA",
    "FORMAT_VERSION",
    "TYPE_OF",
    "AbortedReason",
    "AnsweredBy",
    "ApprovalAsked",
    "ApprovalDecided",
    "AssistantChunk",
    "AssistantMessage",
    "CallMode",
    "CallOutcome",
    "CompactionFailed",
    "Completed",
    "ContextCompacted",
    "EditApplied",
    "EditKind",
    "EditPlanned",
    "EndReason",
    "ErrorReason",
    "Event",
    "EventData",
    "Exit",
    "ExitVerdict",
    "GoalBlocker",
    "GoalChanged",
    "GoalRound",
    "GoalVerification",
    "InboxClaimed",
    "InboxEdited",
    "InboxHeld",
    "InboxMoved",
    "InboxQueued",
    "InboxReleased",
    "InboxRemoved",
    "Interrupted",
    "MaxTokens",
    "Mode",
    "ModelRetry",
    "Opaque",
    "Parent",
    "QuestionAnswered",
    "QuestionAsked",
    "RequestHeader",
    "Risk",
    "SessionConfigured",
    "SessionCreated",
    "SessionOpened",
    "StepEnd",
    "StepStart",
    "StoredEvent",
    "TaskChanged",
    "TestsReceipt",
    "ToolCalled",
    "ToolResult",
    "ToolSpec",
    "ToolStart",
    "Trigger",
    "TurnEnd",
    "TurnStart",
    "UserMessage",
    "clean_data",
    "decode_data",
    "encode_data",
    "from_stored",
    "make_event",
    "receipt_event",
    "to_stored",
]
