"""Who may change a goal in a turn: decided by who asked, never by a text (goal.md)."""

from __future__ import annotations

from steersman.domain.fold_goal import is_own_round
from steersman.domain.goal import Goal
from steersman.domain.state import SessionState
from steersman.errors import ToolFailed


def require_starter(state: SessionState) -> None:
    """The model may create a goal only in a turn that a person's message started. Raises ToolFailed."""
    if state.turn is None or state.turn.trigger != "human":
        raise ToolFailed("AUTHORITY", "A goal can be created only in a turn that the user's message started.")


def has_direct_human(state: SessionState) -> bool:
    """Whether the model has been shown a person's message in this turn."""
    return state.turn is not None and state.turn.human_step is not None


def require_direct_human(state: SessionState, action: str) -> None:
    """`edit`, `pause` and `resume` need a person's word in this turn. Raises ToolFailed."""
    if not has_direct_human(state):
        raise ToolFailed(
            "AUTHORITY", f"Only the user decides to {action} the goal, and nobody asked for it in this turn."
        )


def require_may_end(state: SessionState, goal: Goal, action: str) -> None:
    """`complete` and `blocked` belong to the goal's own round, or to a turn with a person's word.

    Raises:
        ToolFailed: `AUTHORITY`; `STALE_GOAL` where the goal asks something else since the round began.
    """
    if has_direct_human(state):
        return
    own = state.turn.round if state.turn else None
    if own is None or own.goal_id != goal.id:
        raise ToolFailed("AUTHORITY", f"This turn is not a round of the goal: it cannot be {action} here.")
    if not is_own_round(state):
        raise ToolFailed(
            "STALE_GOAL",
            "The user changed the goal since this round began, so this round cannot end it. "
            "Finish what you are doing; the next round has the new objective.",
        )
