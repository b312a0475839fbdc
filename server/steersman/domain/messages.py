"""What people, the host and the model say to each other. Sources are set by the host alone."""

from __future__ import annotations

from typing import Literal

from steersman.domain.value import Strict, Value

QueueName = Literal["next-turn", "next-step"]
HeldReason = Literal["cancelled", "error", "exit", "restart"]
PromptMethod = Literal["turn/prompt", "turn/steer"]
Outcome = Literal["started", "queued", "injected", "startedTurn"]


class Human(Strict, frozen=True, tag_field="kind", tag="human"):
    """A person asked."""


class GoalSource(Strict, frozen=True, tag_field="kind", tag="goal"):
    """The goal driver asked, for exactly this revision and round."""

    goal_id: str
    revision: int
    round: int


class Notice(Strict, frozen=True, tag_field="kind", tag="notice"):
    """The host tells the model something."""

    name: str


Source = Human | GoalSource | Notice


class Position(Value, frozen=True):
    """A position in the encoding that was negotiated with the client, both members from 0."""

    line: int
    character: int


class Range(Value, frozen=True):
    start: Position
    end: Position


class ContextItem(Value, frozen=True):
    """Something a person attached to a message."""

    uri: str
    range: Range | None = None
    text: str | None = None
    kind: Literal["selection", "diagnostic", "file"] | None = None


class QueuedMessage(Value, frozen=True):
    """A waiting message as clients see it. `queued_at` is in milliseconds since the epoch."""

    message_id: str
    text: str
    source: Source
    queued_at: int


class ToolCall(Strict, frozen=True):
    """A call as the model wrote it. `arguments` is the raw string, valid JSON or not."""

    call_id: str
    name: str
    arguments: str


class ToolCallDelta(Strict, frozen=True):
    """A piece of a call. Pieces with the same `index` belong together."""

    index: int
    id: str | None = None
    name: str | None = None
    arguments: str | None = None


class Delta(Strict, frozen=True):
    """A piece of a reply as it streams in."""

    text: str | None = None
    reasoning: str | None = None
    tool_call: ToolCallDelta | None = None


class ToolError(Strict, frozen=True):
    """Why a call failed; `code` is one of protocol.md section 5."""

    code: str
    message: str


class Verified(Strict, frozen=True):
    """How a tool verified its own action."""

    ok: bool
    check: str
    note: str
