"""The one writer of a session's log: decide, append, then change state, then answer, then tell.

Every change is a *decision*: a synchronous function from the present state to the events that follow from
it. Decisions run one after another, each on the state that the one before left, so nothing can slip in
between a check and its append. State in memory changes only after the commit.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from steersman.domain import events as ev
from steersman.domain.fold import fold
from steersman.domain.state import SessionState
from steersman.errors import StorageFailed
from steersman.loop.task import task_after
from steersman.ports.clock import Clock
from steersman.ports.event_log import EventLog

R = TypeVar("R")
Listener = Callable[[Sequence[ev.StoredEvent]], None]


class Decision(msgspec.Struct, Generic[R], frozen=True):
    """What follows from a state: events to append (perhaps none), and the answer to whoever asked."""

    events: Sequence[ev.EventData]
    result: R


Decide = Callable[[SessionState], Decision[R]]


class Into(msgspec.Struct, Generic[R], frozen=True):
    """Where an answer goes: a future that exists already, and how the result is put for it.

    `finish` runs right after the commit, on the changed state; no tick lies between it and the answer.
    """

    future: asyncio.Future[Any]
    finish: Callable[[R], Any]


class _Request(msgspec.Struct, frozen=True):
    decide: Decide[Any]
    blobs: Mapping[str, bytes] | None
    into: Into[Any]


class Journal:
    """Serialises decisions, folds what they append, commits it, and tells the listener.

    `committed` is called in the tick in which the state changes; `told` in a later one, after the
    done-callbacks of the future, so that an answer precedes the events that it caused.
    """

    def __init__(self, log: EventLog, state: SessionState, clock: Clock) -> None:
        self._log = log
        self._clock = clock
        self._requests: deque[_Request] = deque()
        self._writer: asyncio.Task[None] | None = None
        self._next_commit: asyncio.Future[None] | None = None
        self.state = state
        self.suspended: StorageFailed | None = None
        self.committed: Callable[[], None] = lambda: None
        self.told: Listener = lambda rows: None

    @property
    def log(self) -> EventLog:
        return self._log

    def submit(
        self,
        decide: Decide[R],
        blobs: Mapping[str, bytes] | None = None,
        into: Into[R] | None = None,
    ) -> asyncio.Future[R]:
        """Queue a decision. The future (that of `into`, if given) fails with what the decision raised."""
        if into is None:
            into = Into(asyncio.get_running_loop().create_future(), lambda result: result)
        self._requests.append(_Request(decide, blobs, into))
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write(), name="journal")
        return into.future

    async def commit(self, decide: Decide[R], blobs: Mapping[str, bytes] | None = None) -> R:
        """Queue a decision and wait for its commit. A cancelled caller does not undo it."""
        return await asyncio.shield(self.submit(decide, blobs))

    async def append(self, *events: ev.EventData, blobs: Mapping[str, bytes] | None = None) -> None:
        """Append events that need no check beyond the fold's own."""
        await self.commit(lambda state: Decision(events, None), blobs)

    async def until(self, condition: Callable[[SessionState], bool]) -> None:
        """Wait until a committed state fulfils a condition; at once if the present one does.

        Raises:
            StorageFailed: the session was suspended meanwhile.
        """
        while not condition(self.state):
            if self.suspended is not None:
                raise self.suspended
            if self._next_commit is None:
                self._next_commit = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._next_commit)

    async def drain(self) -> None:
        """Wait until nothing is queued."""
        if self._writer is not None:
            await asyncio.wait({self._writer})

    async def _write(self) -> None:
        while self._requests:
            request = self._requests.popleft()
            future = request.into.future
            try:
                rows, result = await self._carry_out(request)
            except Exception as error:
                if not future.done():
                    future.set_exception(error)
                    future.exception()  # an answer that nobody awaits is not an accident
                continue
            if not future.done():
                future.set_result(result)
            if rows:
                asyncio.get_running_loop().call_soon(self.told, rows)

    async def _carry_out(self, request: _Request) -> tuple[list[ev.StoredEvent], Any]:
        if self.suspended is not None:
            raise self.suspended
        decision = request.decide(self.state)
        if not decision.events and not request.blobs:
            return [], request.into.finish(decision.result)
        state, rows = extended(self.state, decision.events, self._clock.now_ms())
        try:
            await self._log.append(rows, request.blobs)
        except StorageFailed as error:
            self.suspended = error
            self._changed()
            raise
        self.state = state
        self._changed()
        return rows, request.into.finish(decision.result)

    def _changed(self) -> None:
        waited, self._next_commit = self._next_commit, None
        if waited is not None:
            waited.set_result(None)
        self.committed()


def extended(
    state: SessionState, events: Sequence[ev.EventData], now: int
) -> tuple[SessionState, list[ev.StoredEvent]]:
    """The state after more events, and their rows, with the change of the task that each causes behind it.

    `now` is in milliseconds since the epoch. Raises LogViolation: an event is not valid there.
    """
    rows = []
    now = max(state.last_time, now)
    for data in events:
        before = state
        state, row = _step(state, now, data)
        rows.append(row)
        changed = task_after(before, data)
        if changed is not None:
            state, row = _step(state, now, changed)
            rows.append(row)
    return state, rows


def _step(state: SessionState, now: int, data: ev.EventData) -> tuple[SessionState, ev.StoredEvent]:
    event = ev.make_event(state.session_id, state.last_seq + 1, now, data)
    try:
        row = ev.to_stored(event)
    except UnicodeEncodeError:
        event = ev.make_event(state.session_id, event.seq, now, ev.clean_data(data))
        row = ev.to_stored(event)
    return fold(state, event), row
