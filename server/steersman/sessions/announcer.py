"""Tells the feed what is durable, and the session's value when it changed. It never speaks before the log."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from steersman.domain.events import CHUNK, StoredEvent
from steersman.domain.views import SessionInfo
from steersman.ports.feed import Feed


class Announcer:
    """For one session. `info` gives its present value; equal values are not told twice."""

    def __init__(self, session_id: str, feed: Feed, info: Callable[[], SessionInfo]) -> None:
        self._session_id = session_id
        self._feed = feed
        self._info = info
        self._last: SessionInfo | None = None
        self._scheduled = False
        self._early: list[StoredEvent] | None = []

    def start(self) -> None:
        """Begin to tell, with what came before the session's opening was answered."""
        early, self._early = self._early, None
        if early:
            self.told(early)

    def told(self, rows: Sequence[StoredEvent]) -> None:
        """Durable rows, in order, each exactly once."""
        if self._early is not None:
            self._early += rows
            return
        self._feed.appended(self._session_id, rows)
        if any(row.type != CHUNK for row in rows):
            self._change()

    def touched(self) -> None:
        """Something that is not in the log changed; told a tick later, after what is being committed."""
        if not self._scheduled and self._early is None:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._later)

    def _later(self) -> None:
        self._scheduled = False
        self._change()

    def _change(self) -> None:
        info = self._info()
        # The position in the log alone is no change: the events themselves tell it.
        value = replace(info, last_seq=0, updated_at=0)
        if value != self._last:
            self._last = value
            self._feed.changed(info)
