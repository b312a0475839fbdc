"""The goal: a long task as a durable value. Its phase is in the log; its activation never is (goal.md)."""

from __future__ import annotations

from typing import Final, Literal

from steersman.domain.checks import Check
from steersman.domain.value import Strict

Phase = Literal["active", "paused", "blocked", "complete"]
Kind = Literal["executing", "exploratory"]
Workflow = Literal["coding", "research"]
Operation = Literal["create", "edit", "pause", "resume", "complete", "block", "clear"]
By = Literal["human", "model", "driver"]
BlockCode = Literal[
    "model-reported",
    "round-limit",
    "budget",
    "no-progress",
    "failing",
    "repetition",
    "needs-review",
    "subtask-failed",
    "queue-failed",
]
OBJECTIVE_LIMIT: Final = 4000
"""Code points of an objective."""


class Budgets(Strict, frozen=True):
    """Limits of what may be spent: tokens (input and output), money, seconds, requests, steps."""

    tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None
    requests: int | None = None
    steps: int | None = None


class BlockedReason(Strict, frozen=True):
    code: BlockCode
    message: str


class GoalRef(Strict, frozen=True):
    """Which goal, and which state of it: a mutation names the one that it was decided on."""

    id: str
    revision: int


class Goal(Strict, frozen=True):
    """The full snapshot that every `goal/change` carries. Times are milliseconds since the epoch."""

    id: str
    revision: int
    objective: str
    kind: Kind
    workflow: Workflow
    phase: Phase
    max_rounds: int
    budgets: Budgets
    checks: list[Check]
    rounds_started: int
    created_at: int
    updated_at: int
    blocked_reason: BlockedReason | None = None

    @property
    def ref(self) -> GoalRef:
        return GoalRef(id=self.id, revision=self.revision)

    @property
    def unfinished(self) -> bool:
        return self.phase != "complete"


FROM: Final[dict[Operation, frozenset[Phase]]] = {
    "edit": frozenset({"active", "paused", "blocked"}),
    "pause": frozenset({"active"}),
    "resume": frozenset({"active", "paused", "blocked"}),
    "complete": frozenset({"active", "paused", "blocked"}),
    "block": frozenset({"active"}),
    "clear": frozenset({"active", "paused", "blocked", "complete"}),
}
"""From which phases an operation is possible; `create` needs no goal, or a complete one."""

WHO: Final[dict[Operation, frozenset[By]]] = {
    "create": frozenset({"human", "model"}),
    "edit": frozenset({"human", "model"}),
    "pause": frozenset({"human", "model", "driver"}),
    "resume": frozenset({"human", "model"}),
    "complete": frozenset({"human", "model"}),
    "block": frozenset({"model", "driver"}),
    "clear": frozenset({"human"}),
}
"""Who may do what at all. What the model may in a turn depends on who started it (goals/authority.py)."""

TO: Final[dict[Operation, Phase]] = {
    "create": "active",
    "pause": "paused",
    "resume": "active",
    "complete": "complete",
    "block": "blocked",
}
"""The phase after an operation; `edit` keeps it, `clear` leaves none."""

MAY_CHANGE: Final[dict[Operation, frozenset[str]]] = {
    "edit": frozenset({"objective", "kind", "max_rounds", "budgets", "checks"}),
    "pause": frozenset({"phase"}),
    "resume": frozenset({"phase", "blocked_reason"}),
    "complete": frozenset({"phase", "blocked_reason"}),
    "block": frozenset({"phase", "blocked_reason"}),
}
"""What an operation may change besides `revision` and `updated_at`."""
