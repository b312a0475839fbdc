"""The data of the outer loop: goals and their rounds, verifications, verdicts, the task's state."""

from __future__ import annotations

from typing import Literal

import msgspec

from steersman.domain.checks import CheckResult, Verdict
from steersman.domain.event_turns import EventData
from steersman.domain.goal import By, Goal, GoalRef, Operation
from steersman.domain.task import TaskState


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
