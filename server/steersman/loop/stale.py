"""Withdrawing a goal round that was not admitted: it opens no turn, uses no number, and leaves no history."""

from __future__ import annotations

from steersman.domain import events as ev
from steersman.domain.state import SessionState, Waiting


def stale_round(state: SessionState, reason: str) -> list[ev.EventData]:
    """The events that withdraw the pending round; none if there is none."""
    pending = state.goals.pending
    if pending is None:
        return []
    events: list[ev.EventData] = []
    if state.inbox.find(pending.message_id) is not None:
        events.append(ev.InboxRemoved(message_id=pending.message_id, reason="stale"))
    source = pending.source
    events.append(
        ev.GoalRound(
            goal_id=source.goal_id,
            revision=source.revision,
            round=source.round,
            status="stale",
            reason=reason,
        )
    )
    return events


def people_in_turn_queue(state: SessionState) -> tuple[Waiting, ...]:
    """People's messages in next-turn: a round's message is never one of them."""
    return tuple(m for m in state.inbox.next_turn if m.is_human)
