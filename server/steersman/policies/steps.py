"""The fuse on the number of steps a turn. Never the design of an exit, always the last one."""

from __future__ import annotations

from steersman.domain.settings import Settings
from steersman.domain.state import SessionState
from steersman.policies.seam import Verdict


def steps(state: SessionState, settings: Settings) -> Verdict | None:
    """Ends a turn whose steps are used up (`loop.maxStepsPerTurn`)."""
    limit = settings.loop.max_steps_per_turn
    if state.turn is None or state.turn.step < limit:
        return None
    return Verdict(
        policy="steps",
        class_="safety",
        severity="fatal",
        action="fail",
        message=f"The turn used all of its {limit} steps. Say how to go on, or raise loop.maxStepsPerTurn.",
        evidence=f"step {state.turn.step} of {limit}",
    )
