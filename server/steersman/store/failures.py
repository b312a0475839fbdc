"""What a storage error means for a person: what happened, and what to do next. Decides nothing else."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path
from typing import Final

from steersman.errors import RequestRefused, SessionCorrupt, StorageFailed

_FULL: Final = "The disk is full. Free some space, then open the session again"
_READ_ONLY: Final = "The session's folder cannot be written. Make it writable, or open the session read-only"
_NOT_OPENED: Final = (
    "The session's files could not be opened. Check the folder's permissions and the limit of open files, "
    "then open the session again"
)
_DEVICE: Final = "The disk reported an error. Check the disk, then open the session again"
_BUSY: Final = "Another program keeps the session's database busy. Close it, then open the session again"
_DAMAGED: Final = (
    "The session's database is damaged. Nothing was changed; restore the file from a backup, "
    "or start a new session"
)
_OTHER: Final = "The log could not be read or written. Open the session again"

ERRORS: Final = (sqlite3.Error, OSError, UnicodeDecodeError)
"""What reading or writing may raise; UnicodeDecodeError where SQLite quotes damaged bytes in its message."""

_BY_SQLITE_CODE: Final = {
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_READONLY: _READ_ONLY,
    sqlite3.SQLITE_PERM: _READ_ONLY,
    sqlite3.SQLITE_CANTOPEN: _NOT_OPENED,
    sqlite3.SQLITE_IOERR: _DEVICE,
    sqlite3.SQLITE_BUSY: _BUSY,
    sqlite3.SQLITE_LOCKED: _BUSY,
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: _DAMAGED,
}
_DAMAGE_CODES: Final = frozenset(code for code, advice in _BY_SQLITE_CODE.items() if advice is _DAMAGED)
_BY_ERRNO: Final = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EROFS: _READ_ONLY,
    errno.EACCES: _READ_ONLY,
    errno.EPERM: _READ_ONLY,
    errno.EMFILE: _NOT_OPENED,
    errno.ENFILE: _NOT_OPENED,
    errno.EIO: _DEVICE,
}


def storage_failed(error: Exception, path: Path) -> StorageFailed:
    """The refusal for an error (one of `ERRORS`, or a value that SQLite cannot hold) at `path`."""
    if isinstance(error, OSError):
        advice = _BY_ERRNO.get(error.errno or 0, _OTHER)
    elif isinstance(error, UnicodeDecodeError):
        advice = _DAMAGED
    else:
        advice = _BY_SQLITE_CODE.get(primary_code(error), _OTHER)
    return StorageFailed(f"{advice}. ({path}: {error})")


def read_failed(error: Exception, path: Path, seq: int = 1) -> RequestRefused:
    """As `storage_failed`, where a file that no longer holds what was written is told as damage at `seq`."""
    if isinstance(error, UnicodeDecodeError) or primary_code(error) in _DAMAGE_CODES:
        return SessionCorrupt.at(seq, f"{path.name} is damaged ({error})")
    return storage_failed(error, path)


def primary_code(error: Exception) -> int:
    """SQLite's primary result code of an error, 0 where it has none."""
    code = getattr(error, "sqlite_errorcode", None)
    return code & 0xFF if isinstance(code, int) else 0
