"""Which change of the task's state an event causes (exits.md). Pure; the fold validates the row."""

from __future__ import annotations

from steersman.domain import events as ev
from steersman.domain.goal import Goal
from steersman.domain.state import SessionState
from steersman.domain.task import TASK_ROWS, TaskState


def task_after(before: SessionState, data: ev.EventData) -> ev.TaskChanged | None:
    """The `task/state` event that belongs behind `data`, or None where no row leads there."""
    caused = _caused(before, data)
    if caused is None:
        return None
    to, cause = caused
    if (before.task, to) not in TASK_ROWS:
        return None
    return ev.TaskChanged(from_=before.task, to=to, cause=cause)


def _caused(before: SessionState, data: ev.EventData) -> tuple[TaskState, str] | None:
    match data:
        case ev.TurnStart(turn=turn):
            return "IN_PROGRESS", f"turn {turn} started"
        case ev.ApprovalAsked():
            return "WAITING_FOR_USER", "an approval was asked"
        case ev.ApprovalDecided(by=by):
            return "IN_PROGRESS", f"the approval was decided ({by})"
        case ev.QuestionAsked():
            return "WAITING_FOR_USER", "a question was asked"
        case ev.QuestionAnswered(by=by):
            return "IN_PROGRESS", f"the question was answered ({by})"
        case ev.TurnEnd(reason=reason):
            goal = before.goal
            return _ended(reason) if goal is None else _ended_beside(goal, reason)
        case ev.GoalChanged():
            return _goal_changed(before, data)
        case _:
            return None


def _goal_changed(before: SessionState, data: ev.GoalChanged) -> tuple[TaskState, str] | None:
    """What a change of the goal means at once. Inside a turn, its end says so (except for a pause)."""
    inside = before.turn is not None
    match data.operation:
        case "create" | "resume":
            return "IN_PROGRESS", f"goal {data.operation}d"
        case "pause":
            return "PAUSED", "the goal was paused"
        case "complete" if not inside:
            return "SUCCEEDED", "the goal is complete"
        case "block" if not inside:
            return "FAILED", "the goal is blocked"
        case "clear" if not inside:
            return "CANCELLED", "the goal was cleared"
        case _:
            return None


def _ended_beside(goal: Goal, reason: ev.EndReason) -> tuple[TaskState, str] | None:
    """The end of a turn beside a goal: the task is the goal's, not the turn's."""
    match goal.phase:
        case "complete":
            return "SUCCEEDED", "the goal is complete"
        case "blocked":
            return "FAILED", "the goal is blocked"
        case "paused":
            return "PAUSED", "the goal is paused"
    if isinstance(reason, ev.Completed):
        return None
    return "PAUSED", "the turn ended and the goal does not move by itself"


def _ended(reason: ev.EndReason) -> tuple[TaskState, str]:
    match reason:
        case ev.Completed():
            return "SUCCEEDED", "the turn completed"
        case ev.AbortedReason(by="shutdown"):
            return "PAUSED", "the server stopped"
        case ev.AbortedReason(by=by):
            return "CANCELLED", f"the turn was cancelled ({by})"
        case ev.ErrorReason(code=code):
            return "FAILED", f"the turn ended in an error ({code})"
        case ev.MaxTokens():
            return "FAILED", "the model's output limit was reached"
        case ev.Exit(policy="goal-paused"):
            return "CANCELLED", "the goal was cleared"
        case ev.Exit(policy=policy):
            return "FAILED", f"a policy ended the turn ({policy})"
        case ev.Interrupted():
            return "PAUSED", "the server was restarted"
