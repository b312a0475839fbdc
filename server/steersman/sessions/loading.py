"""From stored rows to state: the strict fold of a log, or of its beginning. The event loop stays live."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from itertools import groupby

import msgspec

from steersman.domain import events as ev
from steersman.domain.fold import empty, fold, pass_chunk, pass_chunks
from steersman.domain.state import SessionState
from steersman.domain.views import Damage
from steersman.errors import LogViolation, SessionCorrupt
from steersman.ports.event_log import EventReader, SessionStore


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """A folded log. `damaged` says where the fold had to stop; `state` is the one before that event.

    `before` and `last` are the last event that is no chunk, and the state that it met. `rest` is the last
    `turn/end`, or before any turn the last event. `asked` is the state from which the last request to the
    model was built: events that come while it answers do not change what was sent.
    """

    state: SessionState
    damaged: Damage | None = None
    before: SessionState | None = None
    last: ev.Event | None = None
    rest: int = 0
    asked: SessionState | None = None


async def examine(store: SessionStore, session_id: str, through: int | None = None) -> Loaded:
    """Load a session beside whoever has it, damaged or not. Raises SessionNotFound, StorageFailed."""
    try:
        reader = await store.open_reader(session_id)
    except SessionCorrupt as corrupt:
        return Loaded(state=empty(session_id), damaged=_damage(corrupt))
    try:
        return await load(reader, through)
    finally:
        await reader.close()


async def load(reader: EventReader, through: int | None = None) -> Loaded:
    """Fold all that the reader gives, or its events up to `through`.

    A violation is told, never tolerated; so is a content that an edit names and that is not there.
    Raises StorageFailed.
    """
    folding = _Folding(reader.session_id, through)
    loaded = await _fold_all(reader, folding)
    absent = await reader.absent_blobs(folding.contents.keys())
    if absent:
        seq = min(folding.contents[digest] for digest in absent)
        whole = await _fold_all(reader, _Folding(reader.session_id, seq - 1))
        return msgspec.structs.replace(
            whole, damaged=Damage(seq=seq, reason="a content that it names is missing")
        )
    return loaded


async def _fold_all(reader: EventReader, folding: _Folding) -> Loaded:
    try:
        async with aclosing(reader.scan()) as batches:  # type: ignore[type-var]
            async for rows in batches:
                if not folding.take(rows):
                    break
                await asyncio.sleep(0)
    except (LogViolation, SessionCorrupt) as problem:
        return folding.result(_damage(problem))
    if not folding.state.last_seq:
        return folding.result(Damage(seq=1, reason="the log has no beginning"))
    return folding.result(None)


class _Folding:
    """A fold in work. `contents` are the digests that edits name, each with the first event that does."""

    def __init__(self, session_id: str, through: int | None) -> None:
        self.through = through
        self.state = empty(session_id)
        self.contents: dict[str, int] = {}
        self._before: SessionState | None = None
        self._last: ev.Event | None = None
        self._rest = 0
        self._asked: SessionState | None = None

    def take(self, rows: Sequence[ev.StoredEvent]) -> bool:
        """Fold rows. False when `through` is reached. Raises LogViolation; the state is the one before."""
        wanted = rows if self.through is None else [row for row in rows if row.seq <= self.through]
        for is_chunk, run in groupby(wanted, key=_is_chunk):
            if is_chunk:
                self._pass([*run])
            else:
                for row in run:
                    self._fold(_event(self.state.session_id, row))
        return len(wanted) == len(rows)

    def _pass(self, chunks: Sequence[ev.StoredEvent]) -> None:
        try:
            self.state = pass_chunks(self.state, chunks)
        except LogViolation:
            for row in chunks:  # up to the one that is refused
                self.state = pass_chunk(self.state, row.seq, row.time)

    def result(self, damaged: Damage | None) -> Loaded:
        return Loaded(
            state=self.state,
            damaged=damaged,
            before=self._before,
            last=self._last,
            rest=self._rest,
            asked=self._asked,
        )

    def _fold(self, event: ev.Event) -> None:
        after = fold(self.state, event)
        self._before, self._last, self.state = self.state, event, after
        if isinstance(event.data, ev.TurnEnd) or not after.turns:
            self._rest = event.seq
        if isinstance(event.data, _LEADS_TO_A_REQUEST) and after.step is not None and not after.step.replied:
            self._asked = after
        if isinstance(event.data, ev.EditPlanned | ev.EditApplied):
            for digest in filter(None, (event.data.before, event.data.after)):
                self.contents.setdefault(digest, event.seq)


_LEADS_TO_A_REQUEST = (
    ev.StepStart,
    ev.UserMessage,
    ev.RequestHeader,
    ev.ContextCompacted,
    ev.CompactionFailed,
)


def _is_chunk(row: ev.StoredEvent) -> bool:
    return row.type == ev.CHUNK


def _event(session_id: str, row: ev.StoredEvent) -> ev.Event:
    try:
        return ev.from_stored(session_id, row)
    except ValueError as error:
        raise LogViolation(row.seq, str(error)) from error


def _damage(problem: LogViolation | SessionCorrupt) -> Damage:
    if isinstance(problem, LogViolation):
        return Damage(seq=problem.seq, reason=problem.reason)
    return Damage(seq=problem.data["seq"], reason=problem.data["reason"])
