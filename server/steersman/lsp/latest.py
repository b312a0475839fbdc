"""The session that a command means when it names none. Commands in a row are served in their order, and
never make a session each."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable
from typing import Any

Use = Callable[[Future[str]], None]


class LatestSession:
    """`find` asks the sessions for the id of the latest one, or of a new one."""

    def __init__(self, find: Callable[[], Future[str]]) -> None:
        self._find = find
        self._finding = False
        self._making: Future[Any] | None = None
        self._waiting: list[Use] = []

    def wait_for(self, making: Future[Any]) -> None:
        """A session is being made: commands that come behind it mean that one."""
        self._making = making
        making.add_done_callback(self._made)

    def then(self, use: Use) -> None:
        """Call `use` with the finished search, in the order of the calls and never before this returns."""
        self._waiting.append(use)
        self._search()

    def _made(self, making: Future[Any]) -> None:
        if self._making is making:
            self._making = None
            self._search()

    def _search(self) -> None:
        if self._finding or self._making is not None or not self._waiting:
            return
        # Commands that come during the search wait for the next one: a session may be made between.
        uses, self._waiting = self._waiting, []
        self._finding = True
        self._find().add_done_callback(lambda found: self._found(found, uses))

    def _found(self, found: Future[str], uses: list[Use]) -> None:
        self._finding = False
        for use in uses:
            use(found)
        self._search()
