"""What the end of a turn means for the goal (goal.md, the table in "Rounds"). Pure: a state gives one act."""

from __future__ import annotations

from typing import Final, get_args

import msgspec

from steersman.domain import events as ev
from steersman.domain.goal import BlockCode, Goal
from steersman.domain.settings import GoalSettings
from steersman.domain.state import EndedTurn, SessionState
from steersman.policies.budget import spent_of, used_up

_WITHDRAWN: Final = frozenset({"goal-paused", "goal-complete"})
"""Ends of a round whose goal a person took away: what follows was said by them."""
_CODES: Final = frozenset(get_args(BlockCode))
_SHOWN: Final = 200


class Disarm(msgspec.Struct, frozen=True):
    """The goal stays active and moves no more by itself."""

    why: str


class Pause(msgspec.Struct, frozen=True):
    why: str


class Block(msgspec.Struct, frozen=True):
    """`disarmed_by` is what is shown as the reason of that, where it is another than the message."""

    code: BlockCode
    message: str
    disarmed_by: str | None = None


Outcome = Disarm | Pause | Block | None


def no_room(state: SessionState, goal: Goal) -> Block | None:
    """Why no further round may start: all rounds were used, or a budget is used up."""
    if goal.rounds_started >= goal.max_rounds:
        text = f"All {goal.max_rounds} rounds were used. Raise the limit and resume: /goal edit --rounds N. "
        return Block("round-limit", text + _left_to_do(state, goal))
    if not used_up(state, goal):
        return None
    return Block("budget", budget_text(state, goal))


def budget_text(state: SessionState, goal: Goal) -> str:
    """Which budget is used up, how much of it was used, and what is left to do."""
    spent = spent_of(state)
    members = [f"{name} {spent[name]:g} of {getattr(goal.budgets, name):g}" for name in used_up(state, goal)]
    advice = "Raise it and resume: /goal edit --tokens N …"
    return f"Used up: {', '.join(members)}. {advice} {_left_to_do(state, goal)}"


def outcome_of(state: SessionState, goal: Goal, last: EndedTurn, settings: GoalSettings) -> Outcome:
    """What follows for an active goal from the turn that has just ended."""
    match last.reason:
        case ev.AbortedReason(by="human"):
            if last.round is not None:
                return Pause("A person stopped its round.")
            return Disarm("A person stopped their turn; resume the goal when it shall go on.")
        case ev.AbortedReason(by=by):
            return Disarm(f"The turn was ended ({by}).")
        case ev.ErrorReason(message=message):
            return _failed(state, last, settings, message)
        case ev.MaxTokens():
            return _failed(state, last, settings, "The model's output limit cut its answer.")
        case ev.Exit(policy=policy):
            return _exited(state, goal, last, policy)
        case _:
            return _completed(state, last, settings)


def _failed(state: SessionState, last: EndedTurn, settings: GoalSettings, message: str) -> Outcome:
    """A failing turn disarms; the third failing round in a row blocks. A person's turn is no round."""
    why, limit = f"A turn failed: {message}", settings.failing_rounds
    if last.round is None or state.goals.failing_rounds < limit:
        return Disarm(why)
    return Block("failing", f"{limit} rounds in a row failed. The last: {message}", disarmed_by=why)


def _exited(state: SessionState, goal: Goal, last: EndedTurn, policy: str) -> Outcome:
    """A policy ended a round: its verdict says whether the goal waits for a person or is blocked."""
    if last.round is None or policy in _WITHDRAWN:
        return None
    if policy == "budget":
        return Block("budget", budget_text(state, goal))
    verdict = last.verdict if last.verdict is not None and last.verdict.policy == policy else None
    message = verdict.message if verdict is not None else f"The policy {policy!r} ended its round."
    if verdict is not None and verdict.action == "pause":
        return Pause(message)
    return Block(policy if policy in _CODES else "budget", message)  # type: ignore[arg-type]


def _completed(state: SessionState, last: EndedTurn, settings: GoalSettings) -> Outcome:
    limit = settings.no_progress_rounds
    if last.round is None or state.goals.idle_rounds < limit:
        return None
    text = f"{limit} rounds in a row changed nothing: no file, no test result, and no call that was new."
    return Block("no-progress", text)


def _left_to_do(state: SessionState, goal: Goal) -> str:
    """The host's own words, for no request may be made any more."""
    shown = goal.objective if len(goal.objective) <= _SHOWN else f"{goal.objective[: _SHOWN - 1]}…"
    found = state.goals.verification
    failed = [r for r in found.results if r.status != "pass"] if found is not None else []
    open_checks = ", ".join(f"{r.kind} {r.check_id} ({r.status})" for r in failed)
    return f"Left to do: {shown}" + (f" Not passed: {open_checks}." if open_checks else "")
