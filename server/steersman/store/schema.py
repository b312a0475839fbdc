"""The tables of a session's database, its format version, and the small ordered migrations to it.

A file is made once, by `create`, in a place where nobody looks yet; nothing here ever makes a file anew
over one that exists.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from steersman.domain.events import FORMAT_VERSION
from steersman.errors import SessionCorrupt, SessionNotFound, StorageFailed
from steersman.store import chain

APPLICATION_ID: Final = 0x53544552  # "STER"

_VERSION_1: Final = (
    """
    CREATE TABLE meta (
        session TEXT PRIMARY KEY,
        workspace_folder TEXT,
        epoch INTEGER NOT NULL,
        last_seq INTEGER NOT NULL,
        last_hash BLOB NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE events (
        session TEXT NOT NULL,
        seq INTEGER NOT NULL,
        time INTEGER NOT NULL,
        type TEXT NOT NULL,
        ignorable INTEGER NOT NULL,
        data BLOB NOT NULL,
        hash BLOB NOT NULL,
        PRIMARY KEY (session, seq)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE TABLE blobs (digest TEXT PRIMARY KEY, content BLOB NOT NULL) STRICT, WITHOUT ROWID",
)

MIGRATIONS: Final[tuple[tuple[str, ...], ...]] = (_VERSION_1,)
"""The statements that lead from format n to n + 1, at place n."""


def create(path: Path, session_id: str, workspace_folder: str | None) -> None:
    """Make the database of an empty log at `path`, where no file may be.

    Raises:
        OSError, sqlite3.Error: it cannot be made.
    """
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    head = chain.start(session_id)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        migrate(connection)
        connection.execute(
            "INSERT INTO meta VALUES (?, ?, 0, ?, ?)", (session_id, workspace_folder, head.seq, head.hash)
        )
        connection.execute("PRAGMA journal_mode = WAL")


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the database to this version's format, one transaction a step."""
    for version in range(_number(connection, "user_version"), FORMAT_VERSION):
        with transaction(connection):
            for statement in MIGRATIONS[version]:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {version + 1}")


def check_file(path: Path) -> os.stat_result:
    """The status of the database's file, which must be there and hold something: SQLite takes an empty
    file for a new database. Raises SessionCorrupt, SessionNotFound, OSError.
    """
    try:
        status = path.stat()
    except FileNotFoundError as error:
        if not path.parent.exists():
            raise SessionNotFound(f"The session {path.parent.name} was deleted.") from error
        raise SessionCorrupt.at(1, f"{path.name} is missing") from error
    if not stat.S_ISREG(status.st_mode) or status.st_size == 0:
        raise SessionCorrupt.at(1, f"{path.name} is empty or no file")
    return status


def check(connection: sqlite3.Connection, path: Path, session_id: str) -> None:
    """Make sure that this is the session's log in a format that this version can read.

    Raises:
        SessionCorrupt: another file, or another session's.
        StorageFailed: a newer format.
        sqlite3.Error: it cannot be read.
    """
    if _number(connection, "application_id") != APPLICATION_ID:
        raise SessionCorrupt.at(1, f"{path.name} is not a Steersman session")
    version = _number(connection, "user_version")
    if version > FORMAT_VERSION:
        raise StorageFailed(
            f"The session {session_id} was written by a newer version (format {version}, this one knows "
            f"{FORMAT_VERSION}); update Steersman to open it."
        )
    if version < 1 or [session_id] != [row[0] for row in connection.execute("SELECT session FROM meta")]:
        raise SessionCorrupt.at(1, f"{path.name} does not hold the session {session_id}")


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """One write transaction: committed as a whole, or rolled back on any error."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite has rolled back by itself after some errors
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
        raise


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    value: int = connection.execute(f"PRAGMA {pragma}").fetchone()[0]
    return value
