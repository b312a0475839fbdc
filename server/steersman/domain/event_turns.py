"""The data of a session's own events: its life, its inbox, its turns and steps, what was said."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from steersman.domain.checks import Check
from steersman.domain.messages import (
    ContextItem,
    Delta,
    HeldReason,
    Outcome,
    PromptMethod,
    QueueName,
    Source,
    ToolCall,
)
from steersman.domain.usage import Usage
from steersman.domain.value import Strict

Mode = Literal["agent", "plan", "ask"]
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


class ModelRetry(EventData, frozen=True):
    """`attempt` is the one that failed, from 1; `delay_ms` the wait before the next. `message` says why.

    A summary counts its own attempts; made by hand it belongs to no turn.
    """

    attempt: int
    code: Literal["rate-limit", "server", "timeout", "transport", "empty"]
    delay_ms: int
    turn: int | None = None
    step: int | None = None
    message: str | None = None
    usage: Usage | None = None
    purpose: Literal["turn", "summary"] = "turn"


class Opaque(EventData, frozen=True):
    """The data of an event that this version does not know and may ignore. `raw` is its JSON."""

    raw: msgspec.Raw
