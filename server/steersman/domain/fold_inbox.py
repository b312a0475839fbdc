"""Reducers for the inbox: two queues, every change of which is an event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from msgspec.structs import replace

from steersman.domain import events as ev
from steersman.domain.fold_rules import open_turn, refuse, require
from steersman.domain.messages import Notice
from steersman.domain.state import Inbox, MessageReceipt, SessionState, Waiting


def _with_inbox(state: SessionState, inbox: Inbox) -> SessionState:
    if inbox.held is not None and not inbox.next_turn:
        inbox = replace(inbox, held=None)
    return replace(state, inbox=inbox)


def _without(messages: tuple[Waiting, ...], ids: Sequence[str]) -> tuple[Waiting, ...]:
    return tuple(m for m in messages if m.message_id not in ids)


def _find(state: SessionState, event: ev.Event, message_id: str) -> Waiting:
    message = state.inbox.find(message_id)
    if message is None:
        refuse(event, f"message {message_id} does not wait")
    return message


def _queued(state: SessionState, event: ev.Event, data: ev.InboxQueued) -> SessionState:
    inbox = state.inbox
    require(data.message_id not in inbox.receipts, event, f"message {data.message_id} was queued before")
    if isinstance(data.source, Notice):
        require(data.queue == "next-step", event, "a notice waits for the next step")
    message = Waiting(
        message_id=data.message_id,
        text=data.text,
        source=data.source,
        queued_at=event.time,
        context=data.context,
        checks=data.checks,
    )
    receipt = MessageReceipt(method=data.method, text=data.text, outcome=data.outcome, turn=data.turn)
    receipts = inbox.receipts.set(data.message_id, receipt)
    if data.queue == "next-turn":
        inbox = replace(inbox, next_turn=(*inbox.next_turn, message), receipts=receipts)
    else:
        inbox = replace(inbox, next_step=(*inbox.next_step, message), receipts=receipts)
    return _with_inbox(state, inbox)


def _claimed(state: SessionState, event: ev.Event, data: ev.InboxClaimed) -> SessionState:
    turn = open_turn(state, event, data.turn)
    require(turn.open_step is None, event, "a claim comes before its step")
    require(data.step == turn.step + 1, event, f"step {data.step} is not the next one")
    require(bool(data.message_ids), event, "an empty claim")
    claimed = tuple(_find(state, event, message_id) for message_id in data.message_ids)
    require(len(set(data.message_ids)) == len(claimed), event, "a message is claimed twice")
    checks = turn.checks
    for message in claimed:
        checks = (*checks, *(message.checks or ()))
    inbox = replace(
        state.inbox,
        next_turn=_without(state.inbox.next_turn, data.message_ids),
        next_step=_without(state.inbox.next_step, data.message_ids),
    )
    state = replace(state, turn=replace(turn, claimed=(*turn.claimed, *claimed), checks=checks))
    return _with_inbox(state, inbox)


def _edited(state: SessionState, event: ev.Event, data: ev.InboxEdited) -> SessionState:
    require(_find(state, event, data.message_id).is_human, event, "only a person's message can be edited")

    def edit(messages: tuple[Waiting, ...]) -> tuple[Waiting, ...]:
        return tuple(replace(m, text=data.text) if m.message_id == data.message_id else m for m in messages)

    inbox = state.inbox
    return replace(
        state, inbox=replace(inbox, next_turn=edit(inbox.next_turn), next_step=edit(inbox.next_step))
    )


def _removed(state: SessionState, event: ev.Event, data: ev.InboxRemoved) -> SessionState:
    _find(state, event, data.message_id)
    inbox = state.inbox
    return _with_inbox(
        state,
        replace(
            inbox,
            next_turn=_without(inbox.next_turn, [data.message_id]),
            next_step=_without(inbox.next_step, [data.message_id]),
        ),
    )


def _moved(state: SessionState, event: ev.Event, data: ev.InboxMoved) -> SessionState:
    """Moved messages stand in front of the queue they move to, in the order named."""
    require(bool(data.message_ids), event, "nothing is moved")
    moved = tuple(_find(state, event, message_id) for message_id in data.message_ids)
    next_turn = _without(state.inbox.next_turn, data.message_ids)
    next_step = _without(state.inbox.next_step, data.message_ids)
    if data.queue == "next-turn":
        next_turn = (*moved, *next_turn)
    else:
        next_step = (*moved, *next_step)
    return _with_inbox(state, replace(state.inbox, next_turn=next_turn, next_step=next_step))


def _held(state: SessionState, event: ev.Event, data: ev.InboxHeld) -> SessionState:
    require(state.inbox.held is None, event, "the queue is held already")
    require(bool(state.inbox.next_turn), event, "an empty queue is never held")
    return replace(state, inbox=replace(state.inbox, held=data.reason))


def _released(state: SessionState, event: ev.Event, data: ev.InboxReleased) -> SessionState:
    require(state.inbox.held is not None, event, "the queue is not held")
    return replace(state, inbox=replace(state.inbox, held=None))


INBOX_REDUCERS: Final[dict[type[ev.EventData], Any]] = {
    ev.InboxQueued: _queued,
    ev.InboxClaimed: _claimed,
    ev.InboxEdited: _edited,
    ev.InboxRemoved: _removed,
    ev.InboxMoved: _moved,
    ev.InboxHeld: _held,
    ev.InboxReleased: _released,
}
