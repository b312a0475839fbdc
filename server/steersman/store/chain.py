"""The hash chain over the exact stored bytes of every row, and its verification. Pure: no file, no SQL.

It finds damage and accidents that SQLite's own checks miss. It is no signature: who can write the file
can also write a new chain.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from hashlib import sha256
from typing import Any, Final

import msgspec

from steersman.domain.events import CHUNK, StoredEvent
from steersman.errors import LogViolation

_ENVELOPE: Final = struct.Struct(">QqBIII")
"""Seq, time, ignorable, and the lengths of session, type and data: no two rows give the same bytes."""

Row = tuple[int, int, str, int, bytes, bytes]
"""A row as it is inserted: seq, time, type, ignorable, data, hash."""


class Head(msgspec.Struct, frozen=True):
    """The last link: the seq and the hash of the last row. Before the first row, `start`."""

    seq: int
    hash: bytes


def start(session_id: str) -> Head:
    """The head of a log without rows."""
    return Head(seq=0, hash=sha256(b"steersman log\x00" + session_id.encode()).digest())


def link(
    previous: bytes, session: bytes, seq: int, time: int, type_: bytes, ignorable: int, data: bytes
) -> bytes:
    """The hash of a row that follows `previous`.

    Raises:
        TypeError, struct.error: a member is not of its type.
    """
    envelope = _ENVELOPE.pack(seq, time, ignorable, len(session), len(type_), len(data))
    return sha256(b"".join((previous, envelope, session, type_, data))).digest()


def extend(session_id: str, head: Head, events: Iterable[StoredEvent]) -> tuple[list[Row], Head]:
    """The rows of `events` after `head`, and the new head.

    Raises:
        LogViolation: an event does not follow the one before it.
        struct.error, UnicodeError: a member cannot be stored.
    """
    session, rows = session_id.encode(), []
    for event in events:
        if event.seq != head.seq + 1:
            raise LogViolation(event.seq, f"does not follow event {head.seq}")
        ignorable = int(event.ignorable)
        digest = link(head.hash, session, event.seq, event.time, event.type.encode(), ignorable, event.data)
        rows.append((event.seq, event.time, event.type, ignorable, event.data, digest))
        head = Head(seq=event.seq, hash=digest)
    return rows, head


class Verifier:
    """Follows the chain row by row, from the first to `head`. `strangers`: the file holds other rows too."""

    def __init__(self, session_id: str, head: Head, strangers: bool = False) -> None:
        self._session = session_id.encode()
        self._hash = start(session_id).hash
        self.head = head
        self._strangers = strangers
        self.seq = 0
        """The last row that was verified."""

    def take(self, seq: Any, time: Any, type_: Any, ignorable: Any, data: Any, stored: Any) -> StoredEvent:
        """The event of the next row (`type_` as bytes), the data of a chunk left empty.

        Raises:
            LogViolation: it is not the next row, or not the row that was appended.
        """
        if seq != self.seq + 1:
            raise LogViolation(self.seq + 1, f"is missing: the next stored event is {seq!r}")
        try:
            computed = link(self._hash, self._session, seq, time, type_, ignorable, data)
            name = type_.decode()
        except (TypeError, ValueError, AttributeError, struct.error) as error:
            raise LogViolation(seq, "is damaged: a column does not hold its type") from error
        if computed != stored:
            raise LogViolation(seq, "is damaged: its bytes are not those that were appended")
        self.seq, self._hash = seq, computed
        return StoredEvent(
            seq=seq, time=time, type=name, data=b"" if name == CHUNK else data, ignorable=bool(ignorable)
        )

    def finish(self) -> None:
        """Check the end. Raises LogViolation: rows are missing or too many, or the head is another one."""
        if self.seq != self.head.seq:
            raise LogViolation(self.seq + 1, f"is missing: the log ends at event {self.head.seq}")
        if self._strangers:
            reason = "was never appended: the file holds rows that are not of this log"
            raise LogViolation(self.seq + 1, reason)
        if self._hash != self.head.hash:
            raise LogViolation(max(self.seq, 1), "is damaged: the log's head has another hash")
