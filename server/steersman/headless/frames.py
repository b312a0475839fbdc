"""The frames of the base protocol as a client reads them. What is no frame is passed over and not kept."""

from __future__ import annotations

import asyncio
from typing import Final

MAX_BODY_BYTES: Final = 128 * 1024 * 1024
"""A longer message is read past."""
_PIECE_BYTES: Final = 1 << 16
_MOST_DIGITS: Final = 18


def frame(body: bytes) -> bytes:
    """A message with its header; the length counts bytes."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


async def next_body(stream: asyncio.StreamReader, max_bytes: int = MAX_BODY_BYTES) -> bytes | None:
    """The body of the next message; None at the end of the stream, also in the middle of a message."""
    length: int | None = None
    while True:
        try:
            line = await stream.readline()
        except ValueError:  # a line longer than the stream's limit, which is gone now
            continue
        if not line:
            return None
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            digits = value.strip()
            length = int(digits) if digits.isdigit() and len(digits) <= _MOST_DIGITS else None
        elif line in (b"\r\n", b"\n") and length is not None:
            if length <= max_bytes:
                return await _body(stream, length)
            await _pass_over(stream, length)
            length = None


async def _body(stream: asyncio.StreamReader, length: int) -> bytes | None:
    try:
        return await stream.readexactly(length)
    except asyncio.IncompleteReadError:
        return None


async def _pass_over(stream: asyncio.StreamReader, length: int) -> None:
    while length and (piece := await stream.read(min(length, _PIECE_BYTES))):
        length -= len(piece)
