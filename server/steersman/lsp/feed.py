"""The feed of sessions as notifications, for clients that asked for them (protocol.md section 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec

from steersman.domain.events import StoredEvent
from steersman.domain.views import SessionInfo
from steersman.ports.feed import Feed
from steersman.sessions.requests import EventView

DID_APPEND: Final = "steersman/session/didAppend"
DID_CHANGE: Final = "steersman/session/didChange"
FRAME_BYTES: Final = 200 * 1024
"""Bytes of event data after which a notification is split: editors stutter on huge frames."""

Notify = Callable[[str, object], None]


class LspFeed:
    """Tells everything, in order; long batches in several notifications."""

    def __init__(self, notify: Notify) -> None:
        self._notify = notify

    def appended(self, session_id: str, events: Sequence[StoredEvent]) -> None:
        for part in _parts(events):
            views = [_view(session_id, event) for event in part]
            self._notify(DID_APPEND, {"sessionId": session_id, "events": views})

    def changed(self, info: SessionInfo) -> None:
        self._notify(DID_CHANGE, {"session": info})


class Feeds:
    """Several listeners as one. One that fails is a defect of ours and must not silence the others."""

    def __init__(self, failed: Callable[[BaseException], None]) -> None:
        self._feeds: list[Feed] = []
        self._failed = failed

    def add(self, feed: Feed) -> None:
        self._feeds.append(feed)

    def appended(self, session_id: str, events: Sequence[StoredEvent]) -> None:
        for feed in self._feeds:
            try:
                feed.appended(session_id, events)
            except Exception as error:
                self._failed(error)

    def changed(self, info: SessionInfo) -> None:
        for feed in self._feeds:
            try:
                feed.changed(info)
            except Exception as error:
                self._failed(error)


def _parts(events: Sequence[StoredEvent]) -> Iterator[list[StoredEvent]]:
    part: list[StoredEvent] = []
    size = 0
    for event in events:
        if part and size + len(event.data) > FRAME_BYTES:
            yield part
            part, size = [], 0
        part.append(event)
        size += len(event.data)
    if part:
        yield part


def _view(session_id: str, event: StoredEvent) -> EventView:
    return EventView(
        session_id=session_id,
        seq=event.seq,
        time=event.time,
        type=event.type,
        data=msgspec.Raw(event.data),
        ignorable=event.ignorable,
    )
