"""The budgets of a goal: what is left of each, and the fuse that stops a round before its next request."""

from __future__ import annotations

import msgspec

from steersman.domain.goal import Goal
from steersman.domain.settings import Settings
from steersman.domain.state import SessionState
from steersman.policies.seam import Verdict


def spent_of(state: SessionState) -> dict[str, float]:
    """What the goal has used so far, by the names of the budgets."""
    usage = state.goals.usage
    step = state.step
    if step is not None:
        usage = usage + step.usage
    return {
        "tokens": usage.input_tokens + usage.output_tokens,
        "cost": 0.0 if usage.cost is msgspec.UNSET else usage.cost,
        "seconds": usage.seconds,
        "requests": usage.requests,
        "steps": state.goals.steps,
    }


def left(state: SessionState, goal: Goal) -> dict[str, float]:
    """What is left of each budget that is set, by the names of the contract; never more than was given."""
    spent = spent_of(state)
    limits = {name: getattr(goal.budgets, name) for name in spent}
    return {name: limit - spent[name] for name, limit in limits.items() if limit is not None}


def used_up(state: SessionState, goal: Goal) -> list[str]:
    """The budgets of the goal that have no room left."""
    return [name for name, rest in left(state, goal).items() if rest <= 0]


def budget(state: SessionState, settings: Settings) -> Verdict | None:
    """Ends a goal's round as soon as a budget has no room: the overrun is one request at the most."""
    goal, turn = state.goal, state.turn
    if goal is None or goal.phase != "active" or turn is None or turn.round is None:
        return None
    if not (spent := used_up(state, goal)):
        return None
    return Verdict(
        policy="budget",
        class_="safety",
        severity="fatal",
        action="block",
        message=f"Used up: {', '.join(spent)}. Raise it and resume: /goal edit --tokens N, then /goal resume",
        evidence=", ".join(f"{name}: {rest:g} left" for name, rest in left(state, goal).items()),
    )
