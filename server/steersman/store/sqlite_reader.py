"""Reading a session's log: over a writer's connection, or beside it without its lock. Never writes."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Final, Protocol, TypeVar

from steersman.domain.events import StoredEvent
from steersman.errors import RequestRefused, StorageFailed
from steersman.store import rows, schema
from steersman.store.failures import ERRORS, read_failed

T = TypeVar("T")
_ATTEMPTS: Final = 3
_BUSY_SECONDS: Final = 2.0


class Source(Protocol):
    """What runs a function with a connection to the log, off the event loop."""

    @property
    def is_closed(self) -> bool: ...

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T: ...

    async def close(self) -> None: ...


class SqliteReader:
    """An `EventReader` over a source. `path` is the database, for messages."""

    def __init__(self, session_id: str, path: Path, source: Source) -> None:
        self._session_id = session_id
        self._path = path
        self._source = source

    @property
    def session_id(self) -> str:
        return self._session_id

    async def read(self, after_seq: int, limit: int) -> list[StoredEvent]:
        work = partial(rows.read_page, session_id=self._session_id, after_seq=after_seq, limit=limit)
        return await self._run(work, at=after_seq + 1)

    async def scan(self) -> AsyncIterator[Sequence[StoredEvent]]:
        """See the port. All rows before a violation are yielded first."""
        verifier, done = None, False
        while not done:
            work = partial(rows.scan_batch, session_id=self._session_id, verifier=verifier)
            events, violation, verifier, done = await self._run(work)
            if events:
                yield events
            if violation is not None:
                raise violation

    async def last_seq(self) -> int:
        return (await self._run(partial(rows.read_head, session_id=self._session_id))).seq

    async def blob(self, digest: str) -> bytes | None:
        return await self._run(partial(rows.read_blob, digest=digest))

    async def absent_blobs(self, digests: Collection[str]) -> set[str]:
        return await self._run(partial(rows.absent_blobs, digests=digests))

    async def close(self) -> None:
        await self._source.close()

    async def _run(self, work: Callable[[sqlite3.Connection], T], at: int = 1) -> T:
        """`at` is the event that `work` begins with, where damage is told if nothing is known better."""
        if self._source.is_closed:
            raise StorageFailed(f"The session {self._session_id} was closed. Open it again.")
        try:
            return await self._source.run(work)
        except ERRORS as error:
            raise read_failed(error, self._path, at) from error


class Beside:
    """The source of a reader that works beside a writer: a short read-only connection a call.

    SQLite leaves its `-wal` and `-shm` files behind when a read-only connection opens a database that
    nobody else has open, and fails if it may not make them. A live writer always has a `-wal` file, so
    where there is none the database is read as immutable, and read again if it changed meanwhile.
    So `work` may be called more than once.
    """

    def __init__(self, path: Path, session_id: str) -> None:
        self._path = path
        self._wal = path.with_name(path.name + "-wal")
        self._session_id = session_id
        self.is_closed = False

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await asyncio.to_thread(self.read, work)

    async def close(self) -> None:
        self.is_closed = True

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Call `work` with a connection, on this thread."""
        for _ in range(_ATTEMPTS):
            before = self._fingerprint()
            if before is None:
                break
            try:
                result = self._read(work, "mode=ro&immutable=1")
            except (sqlite3.Error, UnicodeDecodeError, RequestRefused):
                if self._fingerprint() == before:
                    raise
            else:
                if self._fingerprint() == before:
                    return result
        return self._read(work, "mode=ro")

    def _read(self, work: Callable[[sqlite3.Connection], T], access: str) -> T:
        uri = f"{self._path.as_uri()}?{access}"
        with contextlib.closing(
            sqlite3.connect(uri, uri=True, isolation_level=None, timeout=_BUSY_SECONDS)
        ) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            schema.check(connection, self._path, self._session_id)
            return work(connection)

    def _fingerprint(self) -> tuple[int, int, int] | None:
        """What changes whenever a writer came and went; None while one may be there."""
        status = schema.check_file(self._path)
        if self._wal.exists():
            return None
        return status.st_ino, status.st_size, status.st_mtime_ns
