"""Where a session's durable events and its changed state are told. Calls come on the event loop, in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from steersman.domain.events import StoredEvent
from steersman.domain.views import SessionInfo


class Feed(Protocol):
    """The listener of all open sessions of this process. It must never block and never raise."""

    def appended(self, session_id: str, events: Sequence[StoredEvent]) -> None:
        """These events are durable. Chunks are coalesced already (protocol.md section 3)."""
        ...

    def changed(self, info: SessionInfo) -> None:
        """The whole value, after the events that changed it were told."""
        ...


class RecordingFeed:
    """The test double: keeps everything."""

    def __init__(self) -> None:
        self.events: list[tuple[str, StoredEvent]] = []
        self.infos: list[SessionInfo] = []
        self.order: list[str] = []

    def appended(self, session_id: str, events: Sequence[StoredEvent]) -> None:
        self.events.extend((session_id, event) for event in events)
        self.order.append("appended")

    def changed(self, info: SessionInfo) -> None:
        self.infos.append(info)
        self.order.append("changed")
