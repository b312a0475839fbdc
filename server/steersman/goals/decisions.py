"""Changes of a goal as pure decisions: checked and made in one tick, on the state as it is then (goal.md).

Every mutation names the state of the goal that it was decided on. There is no await between check and append.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from steersman.domain import events as ev
from steersman.domain.checks import Check
from steersman.domain.goal import (
    FROM,
    OBJECTIVE_LIMIT,
    TO,
    BlockedReason,
    Budgets,
    By,
    Goal,
    GoalRef,
    Kind,
    Operation,
    Workflow,
)
from steersman.domain.ids import new_id
from steersman.domain.state import SessionState
from steersman.domain.value import clean_text
from steersman.errors import GoalExists, GoalInvalid, GoalNotFound, GoalStale, GoalTransition
from steersman.policies.budget import used_up


class Wishes(msgspec.Struct, frozen=True, kw_only=True):
    """What a person or the model wants of a goal; None leaves it as it is (or at its default)."""

    objective: str | None = None
    kind: Kind | None = None
    workflow: Workflow | None = None
    max_rounds: int | None = None
    budgets: Budgets | None = None
    checks: list[Check] | None = None


def current(state: SessionState, ref: GoalRef | None) -> Goal:
    """The goal that a ref means; None means whichever is current.

    Raises:
        GoalNotFound: there is none. GoalStale: the ref is not that of the current state.
    """
    goal = state.goal
    if goal is None:
        raise GoalNotFound("There is no goal in this session. Create one: /goal <objective>")
    if ref is not None and ref != goal.ref:
        raise GoalStale(
            f"The goal has changed meanwhile (revision {goal.revision} now). Look at it, then decide again.",
            current={"id": goal.id, "revision": goal.revision},
        )
    return goal


def permitted(state: SessionState, ref: GoalRef | None, operation: Operation) -> Goal:
    """The goal that a ref means, in a phase that has this operation.

    Raises:
        GoalNotFound, GoalStale, GoalTransition.
    """
    goal = current(state, ref)
    if goal.phase not in FROM[operation]:
        raise GoalTransition(
            f"A goal that is {goal.phase} cannot be changed by {operation!r}.",
            phase=goal.phase,
            operation=operation,
        )
    return goal


def create(state: SessionState, wishes: Wishes, by: By, now: int, default_rounds: int) -> ev.GoalChanged:
    """A new goal. Raises GoalExists over an unfinished one, GoalInvalid."""
    before = state.goal
    if before is not None and before.unfinished:
        raise GoalExists(
            f"A goal is {before.phase} already. Edit it, complete it or clear it first: "
            "/goal edit <objective>, /goal clear"
        )
    goal = Goal(
        id=new_id("g"),
        revision=1,
        objective=objective(wishes.objective),
        kind=wishes.kind or "executing",
        workflow=wishes.workflow or "coding",
        phase="active",
        max_rounds=default_rounds if wishes.max_rounds is None else wishes.max_rounds,
        budgets=wishes.budgets or Budgets(),
        checks=list(wishes.checks or ()),
        rounds_started=0,
        created_at=_time(state, now),
        updated_at=_time(state, now),
    )
    _require_limits(goal)
    return ev.GoalChanged(operation="create", by=by, ref=goal.ref, goal=goal)


def edit(state: SessionState, ref: GoalRef | None, wishes: Wishes, by: By, now: int) -> ev.GoalChanged:
    """Other words, limits or checks for an unfinished goal; its phase and activation stay."""
    goal = permitted(state, ref, "edit")
    changed = replace(
        goal,
        objective=goal.objective if wishes.objective is None else objective(wishes.objective),
        kind=wishes.kind or goal.kind,
        max_rounds=goal.max_rounds if wishes.max_rounds is None else wishes.max_rounds,
        budgets=goal.budgets if wishes.budgets is None else wishes.budgets,
        checks=goal.checks if wishes.checks is None else list(wishes.checks),
    )
    _require_limits(changed)
    return _change(state, changed, "edit", by, now)


def pause(state: SessionState, ref: GoalRef | None, by: By, now: int, reason: str | None) -> ev.GoalChanged:
    goal = permitted(state, ref, "pause")
    return _change(state, replace(goal, phase="paused"), "pause", by, now, reason)


def resume(state: SessionState, ref: GoalRef | None, by: By, now: int, *, armed: bool) -> ev.GoalChanged:
    """Active again. Raises GoalTransition where it moves already, or where no budget has room."""
    goal = permitted(state, ref, "resume")
    if goal.phase == "active" and armed:
        raise GoalTransition(
            "The goal is active and armed already.", phase=goal.phase, operation="resume", members=[]
        )
    spent = used_up(state, goal)
    if goal.rounds_started >= goal.max_rounds:
        spent = ["maxRounds", *spent]
    if spent:
        raise GoalTransition(
            f"Nothing is left of {', '.join(spent)}. Raise it first: /goal edit --rounds N, --tokens N …",
            phase=goal.phase,
            operation="resume",
            members=spent,
        )
    return _change(state, replace(goal, phase="active", blocked_reason=None), "resume", by, now)


def complete(
    state: SessionState, ref: GoalRef | None, by: By, now: int, reason: str | None
) -> ev.GoalChanged:
    goal = permitted(state, ref, "complete")
    return _change(state, replace(goal, phase="complete", blocked_reason=None), "complete", by, now, reason)


def block(state: SessionState, ref: GoalRef | None, by: By, now: int, why: BlockedReason) -> ev.GoalChanged:
    goal = permitted(state, ref, "block")
    return _change(state, replace(goal, phase="blocked", blocked_reason=why), "block", by, now, why.message)


def clear(state: SessionState, ref: GoalRef | None, by: By) -> ev.GoalChanged:
    """Away with it: a tombstone with the next revision."""
    goal = permitted(state, ref, "clear")
    tombstone = replace(goal.ref, revision=goal.revision + 1)
    return ev.GoalChanged(operation="clear", by=by, ref=tombstone, goal=None)


def objective(text: str | None) -> str:
    """The objective as it is kept. Raises GoalInvalid for an empty or a too long one."""
    trimmed = clean_text(text or "").strip()
    if not trimmed:
        raise GoalInvalid(
            "A goal needs an objective: say in words what shall be reached.", member="objective"
        )
    if len(trimmed) > OBJECTIVE_LIMIT:
        raise GoalInvalid(
            f"The objective has {len(trimmed)} characters; at most {OBJECTIVE_LIMIT} are kept. "
            "Put the details into a file and name it.",
            member="objective",
        )
    return trimmed


def _require_limits(goal: Goal) -> None:
    if goal.max_rounds < 1:
        raise GoalInvalid("maxRounds must be at least 1.", member="maxRounds")
    for name in Budgets.__struct_fields__:
        limit = getattr(goal.budgets, name)
        if limit is not None and not limit > 0:
            raise GoalInvalid(f"The budget {name!r} must be more than 0.", member=f"budgets.{name}")


def _change(
    state: SessionState, goal: Goal, operation: Operation, by: By, now: int, reason: str | None = None
) -> ev.GoalChanged:
    phase = TO.get(operation, goal.phase)
    changed = replace(
        goal, phase=phase, revision=goal.revision + 1, updated_at=max(goal.updated_at, _time(state, now))
    )
    return ev.GoalChanged(operation=operation, by=by, ref=changed.ref, goal=changed, reason=reason)


def _time(state: SessionState, now: int) -> int:
    """The clock, never before the log's last event."""
    return max(state.last_time, now)
