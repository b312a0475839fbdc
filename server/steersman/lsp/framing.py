"""The bytes of the base protocol: one message after another out of a stream that may hold anything.

A malformed frame never ends the server and never makes it reserve memory: the reader says what was wrong,
skips to the next header, and goes on.
"""

from __future__ import annotations

import asyncio
import re
from typing import Final

MAX_FRAME: Final = 64 * 1024 * 1024
"""Bytes of one message. A longer one is read past, not kept."""
MAX_HEADER_LINE: Final = 8 * 1024
_LENGTH: Final = re.compile(rb"content-length[ \t]*:[ \t]*([0-9]{1,18})[ \t]*\r?\n\Z", re.IGNORECASE)
_NAMED: Final = re.compile(rb"content-length[ \t]*:", re.IGNORECASE)
_PIECE: Final = 1 << 16


class BadFrame(Exception):
    """What came was no message; the stream stands at the next possible header."""


class FrameReader:
    """Reads messages. The stream's own limit must be at least MAX_HEADER_LINE."""

    def __init__(self, stream: asyncio.StreamReader, max_frame: int = MAX_FRAME) -> None:
        self._stream = stream
        self._max_frame = max_frame

    async def next(self) -> bytes | None:
        """The body of the next message; None at the end of the stream.

        Raises:
            BadFrame: a header or a length that cannot be; the next call goes on behind it.
        """
        length: int | None = None
        problem: str | None = None
        headers = 0
        while True:
            line = await self._line()
            if not line:
                return None
            if line in (b"\r\n", b"\n"):
                if headers == 0:
                    continue
                break
            headers += 1
            if not _NAMED.match(line):
                if b":" not in line:
                    raise BadFrame("a line that is no header")
                continue
            found = _LENGTH.match(line)
            if found is None:
                problem = "a Content-Length that is no length"
            elif length is not None and length != int(found[1]):
                problem = "two Content-Lengths that differ"
            else:
                length = int(found[1])
        if problem is not None or length is None:
            raise BadFrame(problem or "a header without Content-Length")
        return await self._body(length)

    async def _line(self) -> bytes:
        """A line with its end; empty at the end of the stream."""
        try:
            return await self._stream.readuntil(b"\n")
        except asyncio.IncompleteReadError:
            return b""
        except asyncio.LimitOverrunError as overrun:
            await self._stream.read(max(overrun.consumed, 1))
            raise BadFrame("a header line without end") from None

    async def _body(self, length: int) -> bytes | None:
        too_long = length > self._max_frame
        pieces: list[bytes] = []
        left = length
        while left:
            piece = await self._stream.read(min(left, _PIECE))
            if not piece:
                return None
            left -= len(piece)
            if not too_long:
                pieces.append(piece)
        if too_long:
            raise BadFrame(f"a message of {length} bytes; at most {self._max_frame} are taken")
        return b"".join(pieces)


def frame(body: bytes) -> bytes:
    """A message with its header; the length counts bytes."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
