"""A round in which a person was asked and nobody answered: the goal waits for them, it does not guess on."""

from __future__ import annotations

from steersman.domain.settings import Settings
from steersman.domain.state import SessionState
from steersman.policies.seam import Verdict


def unanswered(state: SessionState, settings: Settings) -> Verdict | None:
    """Ends a goal's round whose approval or question came to its deadline (goal.md, "Rounds")."""
    turn = state.turn
    if turn is None or turn.round is None or not turn.unanswered:
        return None
    seconds = settings.permissions.approval_timeout_seconds
    return Verdict(
        policy="unanswered",
        class_="failure",
        severity="human",
        action="pause",
        message=f"Nobody answered within {seconds:g} s. Resume the goal when you are there: /goal resume",
        evidence=f"turn {turn.number}, step {turn.step}",
    )
