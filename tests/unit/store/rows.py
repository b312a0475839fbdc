"""Rows for the store's tests: small, numbered, and of the types that matter to a log."""

from __future__ import annotations

from pathlib import Path

from steersman.domain.events import CHUNK, StoredEvent
from steersman.ports.event_log import EventLog, EventReader
from steersman.store.folder import FolderStore


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


class ClosingStore(FolderStore):
    """A real store that can close every log it opened: an open one would outlive a failed test."""

    def __init__(self, state_dir: Path) -> None:
        super().__init__(state_dir)
        self._opened: list[EventLog] = []

    async def open(self, session_id: str) -> EventLog:
        log = await super().open(session_id)
        self._opened.append(log)
        return log

    async def close(self) -> None:
        for log in self._opened:
            await log.close()
