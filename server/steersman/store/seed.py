"""A new database with rows in it from the start: a fork's, or what a repair keeps of a damaged log.

It is made where nobody looks yet and is whole before it gets its name; what was there before is kept.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from steersman.domain.events import StoredEvent
from steersman.errors import LogViolation, SessionCorrupt
from steersman.store import chain, rows, schema
from steersman.store.sqlite_log import take_lock
from steersman.store.sqlite_reader import Beside

_INSERT_EVENT: Final = "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)"
_INSERT_BLOB: Final = "INSERT OR IGNORE INTO blobs VALUES (?, ?)"
_HEAD: Final = "UPDATE meta SET last_seq = ?, last_hash = ? WHERE session = ?"
_DRAFT: Final = ".repair.db"
_SIDE_FILES: Final = ("-wal", "-shm", "-journal")


def make(
    path: Path,
    session_id: str,
    workspace_folder: str | None,
    events: Iterable[StoredEvent],
    blobs: Iterable[tuple[str, bytes]],
) -> None:
    """Make the database of a log that begins with `events`, in one transaction.

    Raises:
        LogViolation: the events do not follow each other from 1.
        OSError, sqlite3.Error: it cannot be made.
    """
    schema.create(path, session_id, workspace_folder)
    head = chain.start(session_id)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = FULL")
        with schema.transaction(connection):
            for event in events:
                (row,), head = chain.extend(session_id, head, (event,))
                connection.execute(_INSERT_EVENT, (session_id, *row))
            connection.executemany(_INSERT_BLOB, blobs)
            connection.execute(_HEAD, (head.seq, head.hash, session_id))


def cut(path: Path, session_id: str, through_seq: int) -> None:
    """Replace the database at `path` by one with its rows up to `through_seq`. The old one stays beside it.

    A crash on the way leaves the old database, and perhaps a copy of it.

    Raises:
        SessionLocked: another owner has it.
        SessionCorrupt: its rows are not whole so far.
        OSError, sqlite3.Error, StorageFailed: it cannot be read or written.
    """
    lock = take_lock(path.parent, session_id)
    draft = path.with_name(_DRAFT)
    try:

        def copy(source: sqlite3.Connection) -> None:
            remove(draft)
            folder = source.execute("SELECT workspace_folder FROM meta").fetchone()[0]
            kept = rows.whole_rows(source, session_id, through_seq)
            make(draft, session_id, folder, kept, rows.readable_blobs(source))

        try:
            Beside(path, session_id).read(copy)
        except LogViolation as violation:
            raise SessionCorrupt.at(violation.seq, violation.reason) from violation
        _keep(path)
        # The old write-ahead log first: beside the new database it would be taken for that one's.
        for suffix in _SIDE_FILES:
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        draft.replace(path)
        sync_folder(path.parent)
    finally:
        remove(draft)
        lock.release()


def remove(draft: Path) -> None:
    """Remove a database that nobody has open, and what SQLite puts beside it. Raises OSError."""
    for suffix in ("", *_SIDE_FILES):
        draft.with_name(draft.name + suffix).unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make renames and new names in `folder` durable. Windows has no such thing and needs none."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _keep(path: Path) -> None:
    """Copy the database and its write-ahead log to names that nothing else uses."""
    number = 1
    while (copy := path.with_name(f"damaged-{number}.db")).exists():
        number += 1
    for suffix in ("-wal", ""):  # the database last: its copy says that all is there
        source = path.with_name(path.name + suffix)
        if source.exists():
            _copy(source, copy.with_name(copy.name + suffix))
    sync_folder(path.parent)


def _copy(source: Path, target: Path) -> None:
    descriptor = os.open(target, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    with source.open("rb") as given, os.fdopen(descriptor, "wb") as taken:
        shutil.copyfileobj(given, taken)
        taken.flush()
        os.fsync(taken.fileno())
