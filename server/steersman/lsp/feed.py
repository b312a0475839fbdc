"""The feed of sessions as notifications, for clients that asked for them (protocol.md section 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from steersman.domain.events import CHUNK, StoredEvent
from steersman.domain.value import encode
from steersman.domain.views import SessionInfo
from steersman.lsp.client_messages import DID_APPEND, DID_CHANGE, Appended, Changed
from steersman.lsp.writer import FrameWriter
from steersman.ports.feed import Feed
from steersman.sessions.requests import event_view

FRAME_BYTES: Final = 200 * 1024
"""Bytes of events after which a notification is split: editors stutter on huge frames."""
_ENVELOPE: Final = 200
"""Bytes of an event around its data, at most."""


class LspFeed:
    """Tells everything, in order; long batches in several notifications, chunks together when it lags."""

    def __init__(self, writer: FrameWriter) -> None:
        self._writer = writer
        self._held: dict[str, list[StoredEvent]] = {}

    def appended(self, session_id: str, events: Sequence[StoredEvent]) -> None:
        """Chunks for a client that lags wait until it has caught up, or until something else follows."""
        if self._writer.busy and all(event.type == CHUNK for event in events):
            if not self._held:
                self._writer.when_free(self._release)
            self._held.setdefault(session_id, []).extend(events)
            return
        self._append(session_id, [*self._held.pop(session_id, ()), *events])

    def changed(self, info: SessionInfo) -> None:
        self._append(info.session_id, self._held.pop(info.session_id, []))
        self._notify(DID_CHANGE, Changed(session=info))

    def _release(self) -> None:
        held, self._held = self._held, {}
        for session_id, events in held.items():
            self._append(session_id, events)

    def _append(self, session_id: str, events: Sequence[StoredEvent]) -> None:
        for part in _parts(events):
            views = [event_view(session_id, event) for event in part]
            self._notify(DID_APPEND, Appended(session_id=session_id, events=views))

    def _notify(self, method: str, params: Appended | Changed) -> None:
        self._writer.send(encode({"jsonrpc": "2.0", "method": method, "params": params}))


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
        # Many small events are mostly envelope.
        event_bytes = len(event.data) + _ENVELOPE
        if part and size + event_bytes > FRAME_BYTES:
            yield part
            part, size = [], 0
        part.append(event)
        size += event_bytes
    if part:
        yield part
