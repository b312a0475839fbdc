"""Rows for the store's tests: small, numbered, and of the types that matter to a log."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from steersman.domain.events import CHUNK, StoredEvent
from steersman.ports.event_log import EventLog, EventReader, SessionStore


def row(seq: int, text: str = "x", *, type_: str = "step/start") -> StoredEvent:
    """One row. Its data need not fit its type: the store looks at bytes only."""
    return StoredEvent(seq=seq, time=1_000 + seq, type=type_, data=f'{{"text":"{text}"}}'.encode())


def rows(first: int, last: int) -> list[StoredEvent]:
    """Rows `first` to `last`, every third one a chunk, every fifth one ignorable."""
    return [
        StoredEvent(
            seq=seq,
            time=1_000 + seq,
            type=CHUNK if seq % 3 == 0 else "step/start",
            data=f'{{"n":{seq}}}'.encode(),
            ignorable=seq % 5 == 0,
        )
        for seq in range(first, last + 1)
    ]


async def scanned(reader: EventReader) -> list[StoredEvent]:
    """All that a scan gives."""
    return [event async for batch in reader.scan() for event in batch]


@asynccontextmanager
async def new_log(store: SessionStore, session_id: str) -> AsyncIterator[EventLog]:
    """A new log that is closed also when the test fails: an open one keeps the process alive."""
    log = await store.create(session_id, None)
    try:
        yield log
    finally:
        await log.close()


@asynccontextmanager
async def opened(store: SessionStore, session_id: str) -> AsyncIterator[EventLog]:
    """A log opened for writing, closed like `new_log`'s."""
    log = await store.open(session_id)
    try:
        yield log
    finally:
        await log.close()
