"""The goal as it is shown: the phase from the log, and the activation that lives only in the process."""

from __future__ import annotations

from typing import Final

from steersman.domain.goal import Goal
from steersman.domain.state import SessionState
from steersman.domain.views import GoalView

OPENED: Final = "The session was just opened; a person's resume arms the goal."


class Activation:
    """Whether the goal may move by itself now. Never in the log: every start begins disarmed."""

    def __init__(self) -> None:
        self.armed = False
        self.disarmed_by: str | None = OPENED

    def arm(self) -> None:
        self.armed, self.disarmed_by = True, None

    def disarm(self, why: str) -> None:
        """Keeps the first reason while it stays disarmed: that is the one that stopped it."""
        if self.armed:
            self.armed, self.disarmed_by = False, why


def goal_view(state: SessionState, activation: Activation) -> GoalView | None:
    """The GoalView of the current goal; None if there is none."""
    goal = state.goal
    if goal is None:
        return None
    armed = activation.armed and goal.phase == "active"
    return GoalView(
        id=goal.id,
        revision=goal.revision,
        objective=goal.objective,
        kind=goal.kind,
        workflow=goal.workflow,
        phase=goal.phase,
        activation="armed" if armed else "disarmed",
        disarmed_by=None if armed else why_disarmed(goal, activation),
        max_rounds=goal.max_rounds,
        rounds_started=goal.rounds_started,
        budgets=goal.budgets,
        checks=goal.checks,
        blocked_reason=goal.blocked_reason,
        last_verification=state.goals.verification,
        usage=state.goals.usage,
        created_at=goal.created_at,
        updated_at=goal.updated_at,
    )


def why_disarmed(goal: Goal, activation: Activation) -> str | None:
    """What keeps a goal from moving: its phase goes before what once disarmed it."""
    match goal.phase:
        case "complete":
            return "It is complete."
        case "blocked" if goal.blocked_reason is not None:
            return f"It is blocked: {goal.blocked_reason.message}"
        case "paused" if activation.disarmed_by == OPENED:
            return "It is paused."
        case _:
            return activation.disarmed_by


def goal_markdown(state: SessionState, activation: Activation) -> str:
    """The answer to `/goal`: how the goal stands, and what can sensibly be said next."""
    goal = state.goal
    if goal is None:
        return 'There is no goal. Create one: `/goal <objective>`, with `--check "COMMAND"` to prove it.'
    view = goal_view(state, activation)
    armed = view is not None and view.activation == "armed"
    lines = [
        f"**Goal** ({goal.phase}, {'armed' if armed else 'disarmed'}), "
        f"round {goal.rounds_started}/{goal.max_rounds}",
        "",
        *(f"> {line}" for line in goal.objective.splitlines()),
        "",
    ]
    if view is not None and view.disarmed_by and goal.blocked_reason is None:
        lines.append(f"Disarmed: {view.disarmed_by}")
    if goal.blocked_reason is not None:
        lines.append(f"Blocked ({goal.blocked_reason.code}): {goal.blocked_reason.message}")
    if state.goals.verification is not None:
        lines.append(f"Last verification: {state.goals.verification.verdict}")
    lines.append("Next: " + ", ".join(f"`{command}`" for command in _next(goal, armed=armed)))
    return "\n".join(lines)


def _next(goal: Goal, *, armed: bool) -> list[str]:
    match goal.phase:
        case "complete":
            return ["/goal <objective>", "/goal clear"]
        case "active" if armed:
            return ["/goal pause", "/goal edit <objective>", "/goal clear"]
        case _:
            return ["/goal resume", "/goal edit <objective>", "/goal clear"]
