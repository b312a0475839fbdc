"""What clients are shown of a session: the values of protocol.md section 5."""

from __future__ import annotations

from typing import Any, Literal

from steersman.domain.checks import Check
from steersman.domain.events import GoalVerification, Mode, Parent
from steersman.domain.goal import BlockedReason, Budgets, Kind, Phase, Workflow
from steersman.domain.messages import HeldReason, QueuedMessage
from steersman.domain.task import TaskState
from steersman.domain.usage import Usage
from steersman.domain.value import Value

RunState = Literal["idle", "running", "maintenance"]
WaitingOn = Literal["model", "tool", "approval", "question", "retry", "pause"]


class QueueView(Value, frozen=True):
    next_turn: list[QueuedMessage]
    next_step: list[QueuedMessage]
    held: HeldReason | None


class ContextView(Value, frozen=True):
    """How full the model's window is, in tokens."""

    used_tokens: int
    window_tokens: int | None
    estimated: bool


class Damage(Value, frozen=True):
    seq: int
    reason: str


class GoalView(Value, frozen=True):
    """The current goal. `activation`: whether it may move by itself now; `disarmed_by`: what stopped it."""

    id: str
    revision: int
    objective: str
    kind: Kind
    workflow: Workflow
    phase: Phase
    activation: Literal["armed", "disarmed"]
    max_rounds: int
    rounds_started: int
    budgets: Budgets
    checks: list[Check]
    usage: Usage
    created_at: int
    updated_at: int
    disarmed_by: str | None = None
    blocked_reason: BlockedReason | None = None
    last_verification: GoalVerification | None = None


class SessionInfo(Value, frozen=True):
    """A session as clients see it. Times are milliseconds since the epoch."""

    session_id: str
    title: str
    workspace_folder: str | None
    created_at: int
    updated_at: int
    last_seq: int
    state: RunState
    waiting_on: WaitingOn | None
    turn: int | None
    step: int | None
    queue: QueueView
    goal: GoalView | None
    task: TaskState
    plan: Any
    model: str | None
    mode: Mode
    usage: Usage
    context: ContextView
    read_only: bool
    damaged: Damage | None = None
    parent: Parent | None = None
