"""One abort signal a turn. The first cause wins; what waits is raced against it, never left behind."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, Literal, TypeVar

from steersman.errors import Aborted
from steersman.ports.clock import Clock

T = TypeVar("T")
Cause = Literal["human", "trust", "shutdown"]


class AbortSignal:
    """Set once by `set`, with its cause. Fits the `Cancel` port."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self.no_more = asyncio.Event()
        """No further attempt or step: what runs may end by itself."""
        self.cause: Cause | None = None
        self.words_after = False
        """A person prompted after the signal: the queue that the stop held is theirs to release."""

    def is_set(self) -> bool:
        return self._event.is_set()

    def set(self, cause: Cause) -> bool:
        """Set the signal. Returns whether this call was the first."""
        if self._event.is_set():
            return False
        self.cause = cause
        self._event.set()
        return True

    async def wait(self) -> Literal[True]:
        await self._event.wait()
        return True

    async def sleep(self, clock: Clock, seconds: float) -> bool:
        """Wait so many seconds; False if no further attempt is wanted meanwhile. Raises Aborted."""

        async def either() -> None:
            tasks = {asyncio.ensure_future(clock.sleep(seconds)), asyncio.ensure_future(self.no_more.wait())}
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()

        await self.race(either())
        return not self.no_more.is_set()

    async def race(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work`, unless the signal comes first.

        Then `work` is cancelled and awaited (its clean-up runs), and Aborted is raised. A result that is
        ready in the same tick as the signal is thrown away: a stop that was pressed is a stop.

        Raises:
            Aborted: the signal was set first.
        """
        if self._event.is_set():
            work.close()
            raise Aborted(self.cause)
        task = asyncio.create_task(work)
        waiter = asyncio.create_task(self._event.wait())
        try:
            await asyncio.wait({task, waiter}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiter.cancel()
            if not task.done():
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await asyncio.wait({task})
        if self._event.is_set():
            if not task.cancelled():
                task.exception()  # retrieved: the abort goes before whatever it was
            raise Aborted(self.cause)
        return task.result()
