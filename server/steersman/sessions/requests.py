"""The verbs of the wire contract as values: params and results of requests (protocol.md section 2)."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from steersman.domain.checks import Check
from steersman.domain.events import Mode, StoredEvent
from steersman.domain.goal import Budgets, GoalRef, Kind, Workflow
from steersman.domain.messages import ContextItem, Outcome
from steersman.domain.value import Value
from steersman.domain.views import GoalView, SessionInfo

Text = Annotated[str, msgspec.Meta(min_length=1)]
Count = Annotated[int, msgspec.Meta(ge=0)]
Seq = Annotated[int, msgspec.Meta(ge=1)]
Limit = Annotated[int, msgspec.Meta(ge=1, le=10_000)]


class NewSession(Value, frozen=True):
    workspace_folder: str | None = None
    title: str | None = None
    model: str | None = None
    mode: Mode | None = None


class ListSessions(Value, frozen=True):
    workspace_folder: str | None = None
    query: str | None = None
    cursor: str | None = None
    limit: Limit | None = None


class SessionList(Value, frozen=True):
    sessions: list[SessionInfo]
    next_cursor: str | None = None


class OpenSession(Value, frozen=True):
    session_id: str
    read_only: bool = False


class SessionOnly(Value, frozen=True):
    session_id: str


class ForkSession(Value, frozen=True):
    """`at_seq`: the last event that the child has too; None: the last `turn/end`."""

    session_id: str
    at_seq: Seq | None = None


class RepairSession(Value, frozen=True):
    """`through_seq`: the last event that is kept."""

    session_id: str
    through_seq: Seq


class ExportSession(Value, frozen=True):
    session_id: str
    format: Literal["jsonl", "markdown"]


class Exported(Value, frozen=True):
    text: str


class Shown(Value, frozen=True):
    """A transcript that was written to a file, and whether the editor shows it."""

    uri: str
    shown: bool


class RenameSession(Value, frozen=True):
    session_id: str
    title: str


class ReadEvents(Value, frozen=True):
    session_id: str
    after_seq: Count = 0
    limit: Limit = 500


class EventView(Value, frozen=True):
    """An event on the wire. `data` is the stored JSON, byte for byte."""

    session_id: str
    seq: int
    time: int
    type: str
    data: msgspec.Raw
    ignorable: bool = False


def event_view(session_id: str, row: StoredEvent) -> EventView:
    """A stored row as it is sent."""
    return EventView(
        session_id=session_id,
        seq=row.seq,
        time=row.time,
        type=row.type,
        data=msgspec.Raw(row.data),
        ignorable=row.ignorable,
    )


class Compacted(Value, frozen=True):
    """The answer to a compaction. Tokens are those of the next request."""

    compacted: bool
    tokens_before: int
    tokens_after: int


class EventPage(Value, frozen=True):
    events: list[EventView]
    last_seq: int
    has_more: bool


class ConfigureSession(Value, frozen=True):
    session_id: str
    model: Text | None = None
    mode: Mode | None = None


class Prompt(Value, frozen=True):
    session_id: str
    text: Text
    context: list[ContextItem] | None = None
    message_id: Text | None = None
    checks: list[Check] | None = None


class Steer(Value, frozen=True):
    session_id: str
    text: Text
    context: list[ContextItem] | None = None
    message_id: Text | None = None
    expected_turn: int | None = None


class Accepted(Value, frozen=True):
    """The answer to a prompt or a steer."""

    message_id: str
    outcome: Outcome
    turn: int | None = None


class CancelTurn(Value, frozen=True):
    session_id: str
    queue: Literal["keep", "drop"] = "keep"
    expected_turn: int | None = None


class Cancelled(Value, frozen=True):
    cancelled: bool
    turn: int | None = None


class RemoveMessage(Value, frozen=True):
    session_id: str
    message_id: str


class Removed(Value, frozen=True):
    removed: bool


class UpdateMessage(Value, frozen=True):
    session_id: str
    message_id: str
    text: Text


class Updated(Value, frozen=True):
    updated: bool


class Released(Value, frozen=True):
    released: int


class Nothing(Value, frozen=True):
    """The empty result `{}`, and params without members."""


class SetCredentials(Value, frozen=True):
    api_key: Text


class ModelStatus(Value, frozen=True):
    name: str | None
    base_url: str | None
    configured: bool


class Status(Value, frozen=True):
    version: str
    protocol_version: int
    model: ModelStatus
    state_dir: str
    sessions: int


class Trust(Value, frozen=True):
    trusted: bool


class GetGoal(Value, frozen=True):
    session_id: str


class CreateGoal(Value, frozen=True):
    session_id: str
    objective: str
    kind: Kind | None = None
    workflow: Workflow | None = None
    max_rounds: int | None = None
    budgets: Budgets | None = None
    checks: list[Check] | None = None


class EditGoal(Value, frozen=True):
    session_id: str
    ref: GoalRef
    objective: str | None = None
    kind: Kind | None = None
    max_rounds: int | None = None
    budgets: Budgets | None = None
    checks: list[Check] | None = None


class GoalAt(Value, frozen=True):
    """A goal in the state that the caller knows."""

    session_id: str
    ref: GoalRef


class CompleteGoal(Value, frozen=True):
    session_id: str
    ref: GoalRef
    accept: bool = False


class CommandGoal(Value, frozen=True):
    session_id: str
    text: Text


class GoalAnswer(Value, frozen=True):
    """The answer to a `/goal …` text: Markdown, the goal after it, and whether it did what was asked."""

    message: str
    goal: GoalView | None
    ok: bool
