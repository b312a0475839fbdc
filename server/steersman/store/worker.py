"""One open SQLite connection on aiosqlite's thread, used by whole functions instead of single statements.

A function handed to `run` is one hop to the thread and back and always runs to its end: a caller that is
cancelled while it waits leaves neither half a transaction nor a broken connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

import aiosqlite

from steersman.store.lock import ProcessLock

T = TypeVar("T")


class LockedConnection(sqlite3.Connection):
    """A connection that owns the writer's lock: closing it, by whomever, gives the lock back afterwards.

    aiosqlite's public methods are single statements. Connections here are in autocommit mode and have no
    use for `commit`, so `commit` runs the oldest waiting call instead.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.calls: deque[Callable[[], None]] = deque()
        self.lock: ProcessLock | None = None

    def commit(self) -> None:
        self.calls.popleft()()

    def close(self) -> None:
        try:
            super().close()
        finally:
            if self.lock is not None:
                self.lock.release()


class Database:
    """An open connection and its thread. Calls run one after the other, in the order they were made."""

    def __init__(self, connection: LockedConnection, driver: aiosqlite.Connection) -> None:
        self._connection = connection
        self._driver = driver
        self._closing: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, connect: Callable[[], LockedConnection]) -> Database:
        """Call `connect` on a new thread and keep its connection there.

        A cancelled caller still waits for it to end, and it is closed again.
        Raises what `connect` raises.
        """
        opening = asyncio.create_task(cls._open(connect))
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            while not opening.done():
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.wait({opening})
            if not opening.cancelled() and opening.exception() is None:
                await opening.result().close()
            raise

    @classmethod
    async def _open(cls, connect: Callable[[], LockedConnection]) -> Database:
        opened: list[LockedConnection] = []
        failed: list[Exception] = []

        def connector() -> sqlite3.Connection:
            try:
                opened.append(connect())
            except Exception as error:  # told below, after the thread has ended in order
                failed.append(error)
                return sqlite3.connect(":memory:")
            return opened[0]

        driver = await aiosqlite.Connection(connector, iter_chunk_size=1)
        if failed:
            await driver.close()
            raise failed[0]
        return cls(opened[0], driver)

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called."""
        return self._closing is not None

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Call `work` with the connection on its thread. Raises what it raises; not after `close`."""
        results: list[T] = []
        self._connection.calls.append(lambda: results.append(work(self._connection)))
        await self._driver.commit()
        return results[0]

    async def close(self) -> None:
        """Run what was handed in before, close, and end the thread. Idempotent; waits also when repeated."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        with contextlib.suppress(sqlite3.Error):  # nothing committed depends on an orderly close
            await self._driver.close()
