"""The real SQLite log on a simulated machine: the product's SQL and files, no thread, seeded delays.

A commit takes a random part of a virtual second before and after it happens, so a crash finds it undone, or
done and not yet told.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from steersman.ports.event_log import EventLog
from steersman.store import schema, sqlite_log
from steersman.store.failures import ERRORS, storage_failed
from steersman.store.folder import FolderStore
from steersman.store.sqlite_log import SqliteLog
from steersman.store.worker import LockedConnection

T = TypeVar("T")
_MEMORY = Path("/dev/shm")


def scratch(prefix: str = "steersman-proof-") -> Path:
    """A new folder, in memory where there is such a place: a simulated disk needs no real sync."""
    where = _MEMORY if _MEMORY.is_dir() else None
    return Path(tempfile.mkdtemp(prefix=prefix, dir=where))


class Disk:
    """What can happen to the files of one process: delays, and a write that fails."""

    def __init__(self, seed: int, fails_at: int | None = None) -> None:
        self._dice = random.Random(seed)
        self.slow = self._dice.choice((0.0, 0.003, 0.05))
        self.writes = 0
        self.fails_at = fails_at

    async def pause(self) -> None:
        await asyncio.sleep(self._dice.random() * self.slow if self.slow else 0)

    def count_write(self) -> None:
        self.writes += 1
        if self.writes == self.fails_at:
            raise sqlite3.OperationalError("database or disk is full")


class InlineDatabase:
    """Stands for `store.worker.Database`: the same connection, run where it is called."""

    def __init__(self, connection: LockedConnection, disk: Disk) -> None:
        self._connection = connection
        self._disk = disk
        self._turn = asyncio.Lock()
        self.is_closed = False

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        async with self._turn:
            await self._disk.pause()
            result = work(self._connection)
            await self._disk.pause()
        return result

    async def close(self) -> None:
        self.is_closed = True
        self.drop()

    def drop(self) -> None:
        """Give up the connection as the end of a process does."""
        self._connection.close()


class FailingLog(SqliteLog):
    """A log whose disk is full at one write."""

    disk: Disk

    def _write(self, connection, events, blobs):  # type: ignore[no-untyped-def]
        self.disk.count_write()
        return super()._write(connection, events, blobs)


class SimulatedStore(FolderStore):
    """The product's state folder without threads. `crash` leaves what a killed process leaves."""

    def __init__(self, folder: Path, disk: Disk) -> None:
        super().__init__(folder)
        self.folder = folder
        self._disk = disk
        self._databases: list[InlineDatabase] = []

    async def create(self, session_id: str, workspace_folder: str | None) -> EventLog:
        folder = self.folder / "sessions" / session_id
        folder.mkdir(parents=True)
        schema.create(folder / "session.db", session_id, workspace_folder)
        return await self.open(session_id)

    async def open(self, session_id: str) -> EventLog:
        path = self.folder / "sessions" / session_id / "session.db"
        await self._disk.pause()
        try:
            connection = sqlite_log._connect_locked(path, session_id)
            try:
                taken = sqlite_log._take(connection, path, session_id)
            except BaseException:
                connection.close()
                raise
        except ERRORS as error:
            raise storage_failed(error, path) from error
        database = InlineDatabase(connection, self._disk)
        self._databases.append(database)
        log = FailingLog(session_id, path, database, taken)  # type: ignore[arg-type]
        log.disk = self._disk
        return log

    async def write_header(self, session_id: str, header: bytes) -> None:
        await self._disk.pause()

    def image(self) -> Path:
        """A copy of the files as they are this moment, as a killed process leaves them."""
        copy = scratch()
        shutil.copytree(self.folder, copy, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*-shm", "lock"))
        return copy

    def drop(self) -> None:
        """Close what is open without any ceremony, and remove the files."""
        for database in self._databases:
            database.drop()
        shutil.rmtree(self.folder, ignore_errors=True)
