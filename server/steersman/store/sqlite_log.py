"""Writing a session's log: the lock first, then the database, then one durable transaction an append.

Never writes after a failure, and never after another owner has taken the log.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from steersman.domain.events import StoredEvent
from steersman.errors import SessionLocked, SteersmanError, StorageFailed
from steersman.store import chain, rows, schema
from steersman.store.failures import ERRORS, read_failed, storage_failed
from steersman.store.lock import ProcessLock, read_holder
from steersman.store.mounts import refuse_network
from steersman.store.sqlite_reader import SqliteReader
from steersman.store.worker import Database, LockedConnection

_BUSY_SECONDS: Final = 2.0
_WAL_PAGES: Final = 1000
_WAL_BYTES: Final = 4 * 1024 * 1024

_PRAGMAS: Final = (
    "PRAGMA trusted_schema = OFF",
    "PRAGMA synchronous = FULL",
    "PRAGMA fullfsync = ON",  # macOS: a sync that reaches the medium
    f"PRAGMA wal_autocheckpoint = {_WAL_PAGES}",
    f"PRAGMA journal_size_limit = {_WAL_BYTES}",
)
_TAKE: Final = "UPDATE meta SET epoch = epoch + 1 WHERE session = ? RETURNING epoch"
_ADVANCE: Final = """
    UPDATE meta SET last_seq = ?, last_hash = ?
    WHERE session = ? AND epoch = ? AND last_seq = ? AND last_hash = ?
"""
_INSERT_EVENT: Final = "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)"
_INSERT_BLOB: Final = "INSERT OR IGNORE INTO blobs VALUES (?, ?)"


class Taken(msgspec.Struct, frozen=True):
    """What a writer knows once the log is its own."""

    epoch: int
    head: chain.Head


async def open_log(path: Path, session_id: str) -> SqliteLog:
    """Take the lock beside the database at `path`, then open it for writing.

    Raises:
        SessionLocked: another server has it (`holder` says which, as far as known).
        SessionCorrupt: a missing, foreign or damaged file.
        StorageFailed: a network folder, a newer file, a disk that fails.
        FileNotFoundError: the session's folder is gone.
    """
    taken: list[Taken] = []

    def connect() -> LockedConnection:
        connection = _connect_locked(path, session_id)
        try:
            taken.append(_take(connection, path, session_id))
        except BaseException:
            connection.close()
            raise
        return connection

    try:
        database = await Database.open(connect)
    except FileNotFoundError:
        raise
    except ERRORS as error:
        raise read_failed(error, path) from error
    return SqliteLog(session_id, path, database, taken[0])


def take_lock(folder: Path, session_id: str) -> ProcessLock:
    """The writer's lock of the session in `folder`.

    Raises:
        SessionLocked: another owner has it.
        StorageFailed: it cannot be taken at all, here or now.
        FileNotFoundError: the folder is gone.
    """
    refuse_network(folder)
    path = folder / "lock"
    try:
        lock = ProcessLock.take(path)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise storage_failed(error, path) from error
    if lock is None:
        holder = read_holder(path)
        who = f"process {holder.pid} on {holder.host}" if holder else "another process"
        raise SessionLocked(
            f"The session {session_id} is open in {who}. Close it there, or open it read-only here.",
            holder=msgspec.to_builtins(holder),
        )
    return lock


def _connect_locked(path: Path, session_id: str) -> LockedConnection:
    lock = take_lock(path.parent, session_id)
    try:
        schema.check_file(path)
        connection = sqlite3.connect(
            f"{path.as_uri()}?mode=rw",
            uri=True,
            isolation_level=None,
            timeout=_BUSY_SECONDS,
            factory=LockedConnection,
        )
    except BaseException:
        lock.release()
        raise
    connection.lock = lock
    return connection


def _take(connection: sqlite3.Connection, path: Path, session_id: str) -> Taken:
    """Make the log this writer's: an owner that was only paused finds another epoch and stops."""
    schema.check(connection, path, session_id)
    for pragma in _PRAGMAS:
        connection.execute(pragma)
    if connection.execute("PRAGMA journal_mode = WAL").fetchone() != ("wal",):
        raise StorageFailed(f"The file system of {path} cannot keep a log. Set stateDir to a local disk.")
    schema.migrate(connection)
    with schema.transaction(connection):
        epoch = connection.execute(_TAKE, (session_id,)).fetchone()[0]
        head = rows.read_head(connection, session_id)
    return Taken(epoch=epoch, head=head)


class SqliteLog(SqliteReader):
    """An `EventLog` over one open database. Made by `open_log`."""

    def __init__(self, session_id: str, path: Path, database: Database, taken: Taken) -> None:
        super().__init__(session_id, path, database)
        self._epoch = taken.epoch
        self._head = taken.head
        self._failure: str | None = None

    async def append(self, events: Sequence[StoredEvent], blobs: Mapping[str, bytes] | None = None) -> None:
        """See the port. Cancelling the wait does not stop the commit: it is whole, or it failed.

        Raises:
            StorageFailed: as the port says.
            ValueError: a blob's key is not its digest; nothing was written and nothing is suspended.
        """
        contents = dict(blobs or {})
        for digest, content in contents.items():
            if sha256(content).hexdigest() != digest:
                raise ValueError(f"the blob {digest} has another digest")
        await self._run(partial(self._commit, events=tuple(events), blobs=contents))

    def _commit(
        self, connection: sqlite3.Connection, events: tuple[StoredEvent, ...], blobs: dict[str, bytes]
    ) -> None:
        """The whole append, on the database's thread."""
        if self._failure is not None:
            raise StorageFailed(f"Suspended after a failure, nothing is written any more. {self._failure}")
        try:
            self._head = self._write(connection, events, blobs)
        except Exception as error:
            failure = error if isinstance(error, SteersmanError) else storage_failed(error, self._path)
            self._failure = str(failure)
            raise StorageFailed(self._failure) from error

    def _write(
        self, connection: sqlite3.Connection, events: tuple[StoredEvent, ...], blobs: dict[str, bytes]
    ) -> chain.Head:
        linked, head = chain.extend(self.session_id, self._head, events)
        with schema.transaction(connection):
            advanced = connection.execute(
                _ADVANCE,
                (head.seq, head.hash, self.session_id, self._epoch, self._head.seq, self._head.hash),
            )
            if advanced.rowcount != 1:
                raise StorageFailed(
                    f"Another server has taken the session {self.session_id}. "
                    "Open it again here to take it back."
                )
            connection.executemany(_INSERT_EVENT, ((self.session_id, *row) for row in linked))
            connection.executemany(_INSERT_BLOB, blobs.items())
        return head
