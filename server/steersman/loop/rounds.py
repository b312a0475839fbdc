"""Decisions on goal rounds: queued, claimed, admitted – or stale, before any turn opens (goal.md, "Rounds").

A person's message goes before every round that is not admitted yet. Validity is judged anew in each decision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from steersman.domain import events as ev
from steersman.domain.ids import new_id
from steersman.domain.messages import GoalSource
from steersman.domain.state import PendingRound, SessionState
from steersman.loop.inbox import HeaderSource, open_step
from steersman.loop.journal import Decision
from steersman.loop.stale import stale_round

Judge = Callable[[SessionState], str | None]
"""Why no round may move now, for what the log does not hold (activation); None if one may."""
RoundText = Callable[[SessionState], str]


def decide_queue_round(state: SessionState, text: RoundText, judge: Judge) -> Decision[bool]:
    """Queue the next round, if one may start. The answer is whether it was queued."""
    goal = state.goal
    if goal is None or state.goals.pending is not None or _hindrance(state, judge) is not None:
        return Decision((), False)
    source = GoalSource(goal_id=goal.id, revision=goal.revision, round=goal.rounds_started + 1)
    queued = ev.InboxQueued(
        message_id=new_id("r"),
        queue="next-turn",
        source=source,
        text=text(state),
        method="goal/round",
        outcome="queued",
    )
    return Decision([queued, _round(source, "queued")], True)


def decide_claim_round(state: SessionState, judge: Judge) -> Decision[bool]:
    pending = state.goals.pending
    if pending is None:
        return Decision((), False)
    reason = _why_stale(state, pending, judge)
    if reason is not None:
        return Decision(stale_round(state, reason), False)
    return Decision([_round(pending.source, "claimed")], True)


def decide_admit_round(state: SessionState, judge: Judge, header: HeaderSource) -> Decision[bool]:
    """Open the round's turn: from here on its number is used up."""
    pending = state.goals.pending
    if pending is None or not pending.claimed:
        return Decision((), False)
    reason = _why_stale(state, pending, judge)
    message = state.inbox.find(pending.message_id)
    if reason is not None or message is None:
        return Decision(stale_round(state, reason or "its message is gone"), False)
    turn = state.turns + 1
    claim, *rest = open_step(state, turn, 1, (message, *state.inbox.next_step), (), header)
    start = ev.TurnStart(turn=turn, trigger="goal")
    return Decision([start, claim, _round(pending.source, "admitted"), *rest], True)


def _hindrance(state: SessionState, judge: Judge) -> str | None:
    if state.turn is not None:
        return "a turn is running"
    if state.inbox.people_wait:
        return "a person's message goes first"
    if state.goal is None or state.goal.phase != "active":
        return "the goal is not active"
    return judge(state)


def _why_stale(state: SessionState, pending: PendingRound, judge: Judge) -> str | None:
    goal = state.goal
    reason = _hindrance(state, judge)
    if reason is not None or goal is None:
        return reason
    if (goal.id, goal.revision) != (pending.source.goal_id, pending.source.revision):
        return "the goal was changed"
    return None


def _round(source: GoalSource, status: Literal["queued", "claimed", "admitted"]) -> ev.GoalRound:
    return ev.GoalRound(
        goal_id=source.goal_id,
        revision=source.revision,
        round=source.round,
        status=status,
    )
