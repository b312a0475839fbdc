"""The test double of the log: a state folder in memory, with the same promises and no durability.

It keeps rows across close and reopen, holds one writer a session, and fails on demand.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

import msgspec

from steersman.domain.events import CHUNK, StoredEvent
from steersman.domain.ids import is_session_id
from steersman.errors import SessionCorrupt, SessionLocked, SessionNotFound, StorageFailed
from steersman.ports.event_log import EventLog, EventReader, SessionRef, SessionStore

_BATCH = 1000


class MemorySession:
    """What a session's folder would hold. Tests may look at it and damage it."""

    def __init__(self) -> None:
        self.rows: list[StoredEvent] = []
        self.blobs: dict[str, bytes] = {}
        self.header: bytes | None = None
        self.transcript: str | None = None
        self.kept: list[list[StoredEvent]] = []
        self.writer: MemoryLog | None = None


class MemoryReader:
    """Read access to a session in memory."""

    def __init__(self, session_id: str, session: MemorySession) -> None:
        self._session_id = session_id
        self._session = session
        self._closed = False

    @property
    def session_id(self) -> str:
        return self._session_id

    async def read(self, after_seq: int, limit: int) -> list[StoredEvent]:
        await self._pause()
        return [row for row in self._session.rows if row.seq > after_seq][: max(limit, 0)]

    async def scan(self) -> AsyncIterator[Sequence[StoredEvent]]:
        rows = tuple(self._session.rows)
        for start in range(0, len(rows), _BATCH):
            await self._pause()
            yield [
                msgspec.structs.replace(row, data=b"") if row.type == CHUNK else row
                for row in rows[start : start + _BATCH]
            ]

    async def last_seq(self) -> int:
        await self._pause()
        return len(self._session.rows)

    async def blob(self, digest: str) -> bytes | None:
        await self._pause()
        return self._session.blobs.get(digest)

    async def absent_blobs(self, digests: Collection[str]) -> set[str]:
        await self._pause()
        return set(digests) - self._session.blobs.keys()

    async def close(self) -> None:
        self._closed = True

    async def _pause(self) -> None:
        """Give other tasks a turn, as a real log does: what races there must race here."""
        if self._closed:
            raise StorageFailed("The log is closed. Open the session again.")
        await asyncio.sleep(0)


class MemoryLog(MemoryReader):
    """Write access. `fail_next` is raised by the next append of its store, which suspends the log."""

    def __init__(self, session_id: str, session: MemorySession, store: MemoryStore) -> None:
        super().__init__(session_id, session)
        self._store = store
        self._suspended = False

    @property
    def fail_next(self) -> Exception | None:
        return self._store.fail_next

    @fail_next.setter
    def fail_next(self, error: Exception | None) -> None:
        self._store.fail_next = error

    async def append(self, events: Sequence[StoredEvent], blobs: Mapping[str, bytes] | None = None) -> None:
        rows, contents = tuple(events), dict(blobs or {})
        if any(sha256(content).hexdigest() != digest for digest, content in contents.items()):
            raise ValueError("a blob does not have its digest")
        await self._pause()
        if self._suspended:
            raise StorageFailed("The log is suspended after a failure. Open the session again.")
        self._suspended = True
        if (failure := self._store.fail_next) is not None:
            self._store.fail_next = None
            raise failure
        expected = range(len(self._session.rows) + 1, len(self._session.rows) + 1 + len(rows))
        if [row.seq for row in rows] != list(expected):
            raise StorageFailed("These events do not follow the last stored one. Open the session again.")
        self._session.rows.extend(rows)
        self._session.blobs.update(contents)
        self._suspended = False

    async def close(self) -> None:
        await super().close()
        if self._session.writer is self:
            self._session.writer = None


class MemoryStore:
    """A state folder in memory. `sessions` may be inspected; `fail_next` fails the next append of any log."""

    def __init__(self) -> None:
        self.sessions: dict[str, MemorySession] = {}
        self.fail_next: Exception | None = None

    async def create(self, session_id: str, workspace_folder: str | None) -> EventLog:
        if not is_session_id(session_id) or session_id in self.sessions:
            raise StorageFailed(f"Session {session_id!r} cannot be created: a bad or a used id.")
        self.sessions[session_id] = MemorySession()
        return await self.open(session_id)

    async def fork(
        self, session_id: str, workspace_folder: str | None, first: Sequence[StoredEvent], blobs_of: str
    ) -> EventLog:
        blobs = dict(self._session(blobs_of).blobs)
        log = await self.create(session_id, workspace_folder)
        await log.append(first, blobs)
        return log

    async def cut(self, session_id: str, through_seq: int) -> None:
        session = self._session(session_id)
        if session.writer is not None:
            raise _locked(session_id)
        whole = [row.seq for row in session.rows[:through_seq]] == list(range(1, through_seq + 1))
        if not whole:
            raise SessionCorrupt.at(through_seq, "is missing")
        session.kept.append(session.rows)
        session.rows = session.rows[:through_seq]

    async def open(self, session_id: str) -> EventLog:
        session = self._session(session_id)
        if session.writer is not None:
            raise _locked(session_id)
        session.writer = MemoryLog(session_id, session, self)
        return session.writer

    async def open_reader(self, session_id: str) -> EventReader:
        return MemoryReader(session_id, self._session(session_id))

    async def list(self) -> list[SessionRef]:
        return [SessionRef(session_id=key, header=session.header) for key, session in self.sessions.items()]

    async def count(self) -> int:
        return len(self.sessions)

    async def write_header(self, session_id: str, header: bytes) -> None:
        if (session := self.sessions.get(session_id)) is not None:
            session.header = header

    async def keep_transcript(self, session_id: str, text: str) -> Path:
        self._session(session_id).transcript = text
        return Path("/memory") / session_id / "transcript.md"

    async def delete(self, session_id: str) -> None:
        if self._session(session_id).writer is not None:
            raise _locked(session_id)
        del self.sessions[session_id]

    def _session(self, session_id: str) -> MemorySession:
        session = self.sessions.get(session_id)
        if session is None:
            raise SessionNotFound(f"There is no session {session_id!r}.")
        return session


def _locked(session_id: str) -> SessionLocked:
    return SessionLocked(f"Session {session_id} is open elsewhere.", holder={"pid": 0, "host": "memory"})


_port: type[SessionStore] = MemoryStore  # the type checker holds the double to the port
