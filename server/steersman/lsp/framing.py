"""The bytes of the base protocol: one body after another out of a stream that may hold anything.

Pure: it never waits, never raises for what a client sends, and never reserves memory for bytes that have not
come. After bytes that are no frame it finds the next one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

MAX_FRAME: Final = 64 * 1024 * 1024
"""Bytes of one body. A longer one is passed over, not kept."""

_MAX_HEADER: Final = 4096
_BLOCK_END: Final = re.compile(rb"\r?\n\r?\n")
_LINE: Final = re.compile(rb"[!-9;-~]+[ \t]*:[^\x00-\x08\x0a-\x1f\x7f]*")
_LENGTH_LINE: Final = re.compile(rb"content-length[ \t]*:[ \t]*(.*?)[ \t]*", re.IGNORECASE)
_NUMBER: Final = re.compile(rb"[0-9]{1,18}")
# JSON escapes the line ends in its texts, so no body holds this: lost bytes can be searched for it.
_START: Final = re.compile(rb"content-length[ \t]{0,8}:[ \t]{0,8}[0-9]{1,18}[ \t]{0,8}\r?\n", re.IGNORECASE)
_START_BYTES: Final = 64
"""More than `_START` can match: what is kept while looking for it."""


class BadFrame(msgspec.Struct, frozen=True):
    """Bytes that are no frame. `reason` is said to the client."""

    reason: str


class FrameDecoder:
    """Cuts a stream into bodies, in whatever pieces it comes."""

    def __init__(self, max_frame: int = MAX_FRAME) -> None:
        self._max_frame = max_frame
        self._buffer = bytearray()
        self._length: int | None = None
        self._lost = False

    def feed(self, data: bytes) -> Iterator[bytes | BadFrame]:
        """The bodies that are whole now, in order; one BadFrame for each run of bytes that are none."""
        self._buffer += data
        while (found := self._next()) is not None:
            yield found

    def _next(self) -> bytes | BadFrame | None:
        if self._lost and not self._find_start():
            return None
        if self._length is None and (bad := self._read_header()) is not None:
            return bad
        if self._length is None or len(self._buffer) < self._length:
            return None
        body = bytes(self._buffer[: self._length])
        del self._buffer[: self._length]
        self._length = None
        return body

    def _read_header(self) -> BadFrame | None:
        """Learn the body's length if the header is whole; what is wrong with it, if something is."""
        while self._buffer.startswith((b"\r", b"\n")):
            del self._buffer[:1]
        end = _BLOCK_END.search(self._buffer, 0, _MAX_HEADER)
        if end is None:
            return self._lose("a header without end", 1) if len(self._buffer) >= _MAX_HEADER else None
        lines = bytes(self._buffer[: end.start()]).splitlines()
        lengths = {found[1] for line in lines if (found := _LENGTH_LINE.fullmatch(line))}
        if not lengths or not all(_LINE.fullmatch(line) for line in lines):
            # The header of a good frame may be the end of what is none.
            start = _START.search(self._buffer, 1, end.end())
            return self._lose("no header of a message", start.start() if start else end.end())
        number = lengths.pop()
        if lengths or not _NUMBER.fullmatch(number):
            return self._lose("a Content-Length that is not one number", end.end())
        if int(number) > self._max_frame:
            return self._lose(f"a message may have {self._max_frame} bytes", end.end())
        del self._buffer[: end.end()]
        self._length = int(number)
        return None

    def _lose(self, reason: str, drop: int) -> BadFrame:
        del self._buffer[:drop]
        self._lost = True
        return BadFrame(reason)

    def _find_start(self) -> bool:
        start = _START.search(self._buffer)
        if start is None:
            del self._buffer[:-_START_BYTES]
            return False
        del self._buffer[: start.start()]
        self._lost = False
        return True


def frame(body: bytes) -> bytes:
    """A body with its header; the length counts bytes."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
