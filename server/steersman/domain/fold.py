"""The one pure function from events to state. Strict: what it refuses was never a valid log.

`fold` is used twice with the same rules: before an append (so nothing invalid is written) and on opening.
Each event type has its reducer in one of the `fold_*` modules; this one holds the envelope's rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import msgspec

from steersman.domain import events as ev
from steersman.domain.fold_context import CONTEXT_REDUCERS
from steersman.domain.fold_goal import GOAL_REDUCERS
from steersman.domain.fold_inbox import INBOX_REDUCERS
from steersman.domain.fold_questions import QUESTION_REDUCERS
from steersman.domain.fold_rules import require
from steersman.domain.fold_session import SESSION_REDUCERS
from steersman.domain.fold_tools import TOOL_REDUCERS
from steersman.domain.fold_turn import TURN_REDUCERS
from steersman.domain.state import SessionState

Reducer = Callable[[SessionState, ev.Event, Any], SessionState]

REDUCERS: Final[dict[type[ev.EventData], Reducer]] = {
    **SESSION_REDUCERS,
    **INBOX_REDUCERS,
    **TURN_REDUCERS,
    **TOOL_REDUCERS,
    **QUESTION_REDUCERS,
    **CONTEXT_REDUCERS,
    **GOAL_REDUCERS,
}


def empty(session_id: str) -> SessionState:
    """The state before the first event."""
    return SessionState(session_id=session_id)


def fold(state: SessionState, event: ev.Event) -> SessionState:
    """The state after one more event.

    Raises:
        LogViolation: the event breaks a rule of the log; the state is unchanged.
    """
    require(event.session_id == state.session_id, event, "belongs to another session")
    require(event.seq == state.last_seq + 1, event, f"follows {state.last_seq}: a gap or a repetition")
    require(event.time >= state.last_time, event, "time goes back")
    if not isinstance(event.data, ev.Opaque):
        require(ev.TYPE_OF.get(type(event.data)) == event.type, event, "type and data do not belong together")
        if event.seq == 1:
            require(event.type == "session/created", event, "a log starts with session/created")
        elif not state.opened:
            require(event.type == "session/opened", event, "session/opened must come second")
        state = REDUCERS[type(event.data)](state, event, event.data)
    else:
        require(event.ignorable, event, f"unknown type {event.type!r}")
        require(state.opened, event, "nothing may precede session/opened")
    return msgspec.structs.replace(state, last_seq=event.seq, last_time=event.time)


def pass_chunk(state: SessionState, event_seq: int, event_time: int) -> SessionState:
    """The state after an `assistant/chunk` row whose data was not decoded (its text is not state)."""
    if event_seq == state.last_seq + 1 and event_time >= state.last_time and _may_stream(state):
        return msgspec.structs.replace(state, last_seq=event_seq, last_time=event_time)
    raise_chunk = ev.Event(
        session_id=state.session_id,
        seq=event_seq,
        time=event_time,
        type=ev.CHUNK,
        data=ev.AssistantChunk(turn=0, step=0, attempt=1, deltas=[]),
    )
    return fold(state, raise_chunk)


def pass_chunks(state: SessionState, rows: Sequence[ev.StoredEvent]) -> SessionState:
    """The state after a run of chunk rows, as `pass_chunk` on each would give it, at a fraction of the cost.

    Raises LogViolation as `pass_chunk` does; the rows before the one that is refused are not passed either.
    """
    seq, time, streaming = state.last_seq, state.last_time, _may_stream(state)
    for row in rows:
        if row.seq != seq + 1 or row.time < time or not streaming:
            return pass_chunk(msgspec.structs.replace(state, last_seq=seq, last_time=time), row.seq, row.time)
        seq, time = row.seq, row.time
    return msgspec.structs.replace(state, last_seq=seq, last_time=time)


def _may_stream(state: SessionState) -> bool:
    step = state.step
    return step is not None and not step.replied


def fold_all(state: SessionState, events: Iterable[ev.Event]) -> SessionState:
    """The state after all of `events`. Raises LogViolation as `fold` does."""
    for event in events:
        state = fold(state, event)
    return state
