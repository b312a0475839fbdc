"""The single-writer lock: an OS lock on a file of its own, which dies with its process. Never a lease."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import time
from pathlib import Path
from typing import Final

import msgspec

from steersman.domain.value import Value, encode

_HOLDER_LIMIT: Final = 4096


class Holder(Value, frozen=True):
    """Who holds a lock. `since` is in milliseconds since the epoch."""

    pid: int
    host: str
    since: int


class ProcessLock:
    """A held lock. Made by `take`, given back by `release` or by the death of the process."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    @classmethod
    def take(cls, path: Path) -> ProcessLock | None:
        """Take the lock without waiting; None if another owner (also in this process) has it.

        Raises:
            OSError: the file cannot be made, or its file system has no locks.
        """
        while True:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                if not _try_lock(descriptor):
                    os.close(descriptor)
                    return None
                if _is_at(descriptor, path):
                    _write_holder(descriptor)
                    return cls(descriptor)
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)  # the file was deleted between opening and locking: that lock binds nobody

    def release(self) -> None:
        """Give the lock back. Idempotent."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def read_holder(path: Path) -> Holder | None:
    """Who took the lock last, as far as the file tells."""
    try:
        with path.open("rb") as file:
            return msgspec.json.decode(file.read(_HOLDER_LIMIT), type=Holder)
    except (OSError, ValueError):
        return None


def _write_holder(descriptor: int) -> None:
    holder = Holder(pid=os.getpid(), host=socket.gethostname(), since=time.time_ns() // 1_000_000)
    with contextlib.suppress(OSError):  # the name is a courtesy, the lock is what counts
        os.ftruncate(descriptor, 0)
        os.write(descriptor, encode(holder))


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


if sys.platform == "win32":
    import msvcrt

    _LOCKED_BYTE: Final = 1 << 30  # far behind the holder's text: Windows locks keep others from reading

    def _try_lock(descriptor: int) -> bool:
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        os.lseek(descriptor, 0, os.SEEK_SET)
        return True

else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
