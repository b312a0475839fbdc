"""Event streams, read from bytes: text is decoded by nobody here, so no character can split a line.

Follows https://html.spec.whatwg.org/multipage/server-sent-events.html, except that an event at the end of
the stream counts even without its blank line.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

MAX_EVENT_BYTES: Final = 16 * 1024 * 1024
_BOM: Final = b"\xef\xbb\xbf"


class EventTooLarge(ValueError):
    """An event, or a line of one, holds more bytes than the limit."""


class ServerEvent(NamedTuple):
    """An event with data. `name` is empty where the stream gave none."""

    name: bytes
    data: bytes


class EventReader:
    """Splits a stream, in pieces cut anywhere, into events. Comments and unknown fields are passed over.

    A field `error`, which no specification knows but some servers send, is an event of that name.
    """

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._limit = max_event_bytes
        self._line: list[bytes] = []
        self._line_size = 0
        self._after_cr = False
        self._first = True
        self._name = b""
        self._data: list[bytes] = []
        self._data_size = 0

    def feed(self, piece: bytes) -> Iterator[ServerEvent]:
        """The events that end in this piece. Raises EventTooLarge."""
        if self._after_cr and piece:
            self._after_cr = False
            piece = piece.removeprefix(b"\n")
        if not piece:
            return
        self._after_cr = piece.endswith(b"\r")
        lines = piece.splitlines()
        rest = lines.pop() if not piece.endswith((b"\n", b"\r")) else b""
        if lines and self._line:
            lines[0] = b"".join((*self._line, lines[0]))
            self._line, self._line_size = [], 0
        for line in lines:
            event = self._take(line)
            if event is not None:
                yield event
        if rest:
            self._line.append(rest)
            self._line_size += len(rest)
            self._check(self._line_size)

    def end(self) -> Iterator[ServerEvent]:
        """The event that the end of the stream completes, if there is one."""
        for line in (b"".join(self._line), b""):
            event = self._take(line) if line or self._data else None
            if event is not None:
                yield event
        self._line = []

    def _take(self, line: bytes) -> ServerEvent | None:
        if self._first:
            self._first = False
            line = line.removeprefix(_BOM)
        if not line:
            return self._dispatch()
        if line.startswith(b"data:"):
            self._add(line[6:] if line[5:6] == b" " else line[5:])
            return None
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._add(value)
        elif field == b"event":
            self._name = value
        elif field == b"error":
            self._name = b"error"
            self._add(value)
        return None

    def _add(self, value: bytes) -> None:
        self._data.append(value)
        self._data_size += len(value)
        self._check(self._data_size)

    def _dispatch(self) -> ServerEvent | None:
        name, data = self._name, self._data
        self._name, self._data, self._data_size = b"", [], 0
        return ServerEvent(name, b"\n".join(data)) if data else None

    def _check(self, size: int) -> None:
        if size > self._limit:
            raise EventTooLarge(f"an event of more than {self._limit} bytes")
