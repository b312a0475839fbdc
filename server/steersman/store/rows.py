"""The reading queries, as plain functions over a connection: pages, batches of a verified scan, blobs."""

from __future__ import annotations

import contextlib
import copy
import operator
import sqlite3
from collections.abc import Collection, Iterator
from hashlib import sha256
from typing import Final, NamedTuple

import msgspec

from steersman.domain.events import StoredEvent
from steersman.errors import LogViolation, SessionCorrupt, StorageFailed
from steersman.store.chain import Head, Verifier
from steersman.store.failures import primary_code

_BATCH_ROWS: Final = 2000
_BATCH_BYTES: Final = 4 * 1024 * 1024
_HIGHEST: Final = 2**63 - 1
_DAMAGED: Final = "The stored session is damaged. Restore its folder from a backup, or start a new session."

# Types are read as bytes: a damaged text must not stop a read.
_PAGE: Final = """
    SELECT seq, time, CAST(type AS BLOB), ignorable, data FROM events
    WHERE session = ? AND seq > ? ORDER BY seq LIMIT ?
"""
_CHAIN: Final = """
    SELECT seq, time, CAST(type AS BLOB), ignorable, data, hash FROM events
    WHERE session = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?
"""
_SURVEY: Final = """
    SELECT last_seq, last_hash,
        EXISTS (SELECT 1 FROM events WHERE session < meta.session)
        OR EXISTS (SELECT 1 FROM events WHERE session > meta.session)
        OR EXISTS (SELECT 1 FROM events WHERE session = meta.session AND seq < 1)
        OR EXISTS (SELECT 1 FROM events WHERE session = meta.session AND seq > last_seq)
    FROM meta WHERE session = ?
"""


class Batch(NamedTuple):
    """Some verified rows of a scan. `violation` ended it behind them; `verifier` is where it goes on."""

    events: list[StoredEvent]
    violation: LogViolation | None
    verifier: Verifier | None
    done: bool


def read_page(
    connection: sqlite3.Connection, session_id: str, after_seq: int, limit: int
) -> list[StoredEvent]:
    """Up to `limit` rows after `after_seq`, as they stand. Raises SessionCorrupt: a column lost its type."""
    rows = connection.execute(_PAGE, (session_id, min(after_seq, _HIGHEST), max(min(limit, _HIGHEST), 0)))
    events: list[StoredEvent] = []
    try:
        for seq, time, type_, ignorable, data in rows:
            events.append(
                StoredEvent(
                    seq=seq,
                    time=operator.index(time),
                    type=type_.decode(errors="replace"),
                    data=bytes(memoryview(data)),
                    ignorable=bool(ignorable),
                )
            )
    except (TypeError, AttributeError) as error:
        seq = events[-1].seq + 1 if events else after_seq + 1
        raise SessionCorrupt.at(seq, "a column does not hold its type") from error
    return events


def read_head(connection: sqlite3.Connection, session_id: str) -> Head:
    """The log's head as the last commit left it. Raises SessionCorrupt: it is damaged."""
    row = connection.execute(
        "SELECT last_seq, last_hash FROM meta WHERE session = ?", (session_id,)
    ).fetchone()
    return _head(*row)


def read_blob(connection: sqlite3.Connection, digest: str) -> bytes | None:
    """The blob with this digest. Raises StorageFailed: its bytes are not those that were stored."""
    row = connection.execute("SELECT content FROM blobs WHERE digest = ?", (digest,)).fetchone()
    if row is None:
        return None
    content = row[0]
    if not isinstance(content, bytes) or sha256(content).hexdigest() != digest:
        raise StorageFailed(_DAMAGED)
    return content


def whole_rows(connection: sqlite3.Connection, session_id: str, through_seq: int) -> Iterator[StoredEvent]:
    """The rows from the first to `through_seq`, verified, chunks with their data.

    Raises:
        LogViolation: a row on the way is not what was written.
        sqlite3.Error: it cannot be read.
    """
    verifier = Verifier(session_id, Head(seq=through_seq, hash=b""))
    with contextlib.closing(connection.execute(_CHAIN, (session_id, 0, through_seq, -1))) as found:
        for row in found:
            yield msgspec.structs.replace(verifier.take(*row), data=row[4])
    if verifier.seq != through_seq:
        raise LogViolation(verifier.seq + 1, "is missing")


def readable_blobs(connection: sqlite3.Connection) -> Iterator[tuple[str, bytes]]:
    """Every blob with its digest. What is damaged is passed over. Raises sqlite3.Error: the disk fails."""
    digests: list[str] = []
    with _passing_over_damage():
        digests += [row[0] for row in connection.execute("SELECT digest FROM blobs")]
    for digest in digests:
        content = None
        with _passing_over_damage():
            content = read_blob(connection, digest)
        if content is not None:
            yield digest, content


@contextlib.contextmanager
def _passing_over_damage() -> Iterator[None]:
    try:
        yield
    except (StorageFailed, UnicodeDecodeError):
        pass
    except sqlite3.DatabaseError as error:
        if primary_code(error) != sqlite3.SQLITE_CORRUPT:
            raise


def absent_blobs(connection: sqlite3.Connection, digests: Collection[str]) -> set[str]:
    """Those of `digests` that no blob has. Contents are not looked at."""
    one = "SELECT EXISTS (SELECT 1 FROM blobs WHERE digest = ?)"
    return {digest for digest in digests if not connection.execute(one, (digest,)).fetchone()[0]}


def scan_batch(connection: sqlite3.Connection, session_id: str, verifier: Verifier | None) -> Batch:
    """The next verified rows of a scan (from the first one without `verifier`, which is not changed).

    Raises:
        SessionCorrupt, sqlite3.Error: the file cannot be read.
    """
    verifier = (
        Verifier(session_id, *_survey(connection, session_id)) if verifier is None else copy.copy(verifier)
    )
    events: list[StoredEvent] = []
    try:
        done = _verify_rows(connection, session_id, verifier, events)
        if done:
            verifier.finish()
    except LogViolation as violation:
        return Batch(events, violation, verifier, True)
    except sqlite3.DatabaseError as error:
        if primary_code(error) != sqlite3.SQLITE_CORRUPT:
            raise
        damage = LogViolation(verifier.seq + 1, "cannot be read: the file is damaged here")
        return Batch(events, damage, verifier, True)
    return Batch(events, None, verifier, done)


def _survey(connection: sqlite3.Connection, session_id: str) -> tuple[Head, bool]:
    """The head, and whether there are rows beside the log, in one snapshot: a writer may be at work."""
    last_seq, last_hash, strangers = connection.execute(_SURVEY, (session_id,)).fetchone()
    return _head(last_seq, last_hash), bool(strangers)


def _verify_rows(
    connection: sqlite3.Connection, session_id: str, verifier: Verifier, events: list[StoredEvent]
) -> bool:
    """Append the next rows to `events` as far as they hold. Returns whether they were the last."""
    size = 0
    bounds = (session_id, verifier.seq, verifier.head.seq, _BATCH_ROWS)
    with contextlib.closing(connection.execute(_CHAIN, bounds)) as rows:
        for row in rows:
            events.append(verifier.take(*row))
            size += len(row[4])
            if size > _BATCH_BYTES:
                return False
    return len(events) < _BATCH_ROWS


def _head(seq: object, digest: object) -> Head:
    if not isinstance(seq, int) or not isinstance(digest, bytes):
        raise SessionCorrupt.at(1, "the log's head does not hold its types")
    return Head(seq=seq, hash=digest)
