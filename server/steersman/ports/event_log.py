"""The log of a session and the folder of all sessions, as the core sees them. Rows are bytes; no SQL here."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from steersman.domain.events import StoredEvent
from steersman.domain.value import Value


class EventReader(Protocol):
    """Read access; never takes the writer's lock."""

    @property
    def session_id(self) -> str: ...

    async def read(self, after_seq: int, limit: int) -> list[StoredEvent]:
        """Up to `limit` rows after `after_seq`, in order, not verified.

        Raises SessionCorrupt, StorageFailed.
        """
        ...

    def scan(self) -> AsyncIterator[Sequence[StoredEvent]]:
        """All rows in order, in batches, their hash chain verified; the data of chunk rows is left empty.

        Raises:
            LogViolation: a row is not what was written (its seq and the reason). What is whole came before.
            SessionCorrupt: nothing of the file can be read.
            StorageFailed: the disk fails.
        """
        ...

    async def last_seq(self) -> int: ...

    async def blob(self, digest: str) -> bytes | None:
        """A content blob by its SHA-256 in hex. Raises StorageFailed: its content is damaged."""
        ...

    async def absent_blobs(self, digests: Collection[str]) -> set[str]:
        """Those of `digests` that no blob has."""
        ...

    async def close(self) -> None: ...


class EventLog(EventReader, Protocol):
    """Write access, held under the single-writer lock until `close`."""

    async def append(self, events: Sequence[StoredEvent], blobs: Mapping[str, bytes] | None = None) -> None:
        """Commit rows and blobs in one durable transaction, or nothing of them.

        The first row must follow the last stored one. After the first failure the log is suspended:
        every later call raises too, until the session is opened again.

        Raises:
            StorageFailed: disk full, read-only, another writer's epoch, a wrong seq.
        """
        ...


class SessionRef(Value, frozen=True):
    """A session found in the state folder. `header` is what `write_header` stored last, if readable."""

    session_id: str
    header: bytes | None


class SessionStore(Protocol):
    """The state folder: one folder a session."""

    async def create(self, session_id: str, workspace_folder: str | None) -> EventLog:
        """Make the session's folder and its empty log, locked. Raises StorageFailed."""
        ...

    async def fork(
        self, session_id: str, workspace_folder: str | None, first: Sequence[StoredEvent], blobs_of: str
    ) -> EventLog:
        """As `create`, with the rows `first` and every blob of the session `blobs_of` in it from the start.

        Raises SessionNotFound, SessionCorrupt (of `blobs_of`), StorageFailed.
        """
        ...

    async def cut(self, session_id: str, through_seq: int) -> None:
        """Replace a log by its rows up to `through_seq`; what was there is kept beside it.

        Raises SessionNotFound, SessionLocked, StorageFailed, SessionCorrupt (not whole so far).
        """
        ...

    async def open(self, session_id: str) -> EventLog:
        """Take the writer's lock, then open.

        Raises SessionNotFound, SessionLocked, SessionCorrupt (not the session's file), StorageFailed.
        """
        ...

    async def open_reader(self, session_id: str) -> EventReader:
        """Open for reading beside a writer. Raises SessionNotFound, SessionCorrupt, StorageFailed."""
        ...

    async def list(self) -> list[SessionRef]:
        """Every session, in no order. A damaged one is listed too."""
        ...

    async def count(self) -> int:
        """How many sessions there are, without reading them."""
        ...

    async def write_header(self, session_id: str, header: bytes) -> None:
        """Store what lists show (small JSON), atomically. Never raises: it is rebuilt when missing."""
        ...

    async def keep_transcript(self, session_id: str, text: str) -> Path:
        """Store a session's transcript as a file that an editor can show; the one before is replaced.

        Raises SessionNotFound, StorageFailed.
        """
        ...

    async def delete(self, session_id: str) -> None:
        """Remove the session's folder. Raises SessionNotFound, SessionLocked."""
        ...
