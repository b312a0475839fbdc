"""From stored rows to state: the strict fold of a whole log, in batches: the event loop stays live."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from steersman.domain.events import CHUNK, Event, StoredEvent, from_stored
from steersman.domain.fold import empty, fold, pass_chunk
from steersman.domain.state import SessionState
from steersman.domain.views import Damage
from steersman.errors import LogViolation
from steersman.ports.event_log import EventReader


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """A folded log. `damaged` says where the fold had to stop; `state` is the one before that event."""

    state: SessionState
    damaged: Damage | None = None


async def load(reader: EventReader) -> Loaded:
    """Fold everything that the reader gives. A violation is told, never tolerated. Raises StorageFailed."""
    state = empty(reader.session_id)
    try:
        async for rows in reader.scan():
            state = _fold_rows(state, rows)
            await asyncio.sleep(0)
    except _Stopped as stop:
        return Loaded(state=stop.state, damaged=Damage(seq=stop.violation.seq, reason=stop.violation.reason))
    except LogViolation as violation:
        return Loaded(state=state, damaged=Damage(seq=violation.seq, reason=violation.reason))
    if not state.opened:
        return Loaded(state=state, damaged=Damage(seq=state.last_seq + 1, reason="the log has no beginning"))
    return Loaded(state=state)


class _Stopped(Exception):
    def __init__(self, state: SessionState, violation: LogViolation) -> None:
        super().__init__(str(violation))
        self.state = state
        self.violation = violation


def _fold_rows(state: SessionState, rows: Sequence[StoredEvent]) -> SessionState:
    for row in rows:
        try:
            if row.type == CHUNK:
                state = pass_chunk(state, row.seq, row.time)
            else:
                state = fold(state, _event(state.session_id, row))
        except LogViolation as violation:
            raise _Stopped(state, violation) from violation
    return state


def _event(session_id: str, row: StoredEvent) -> Event:
    try:
        return from_stored(session_id, row)
    except ValueError as error:
        raise LogViolation(row.seq, str(error)) from error
