"""Compressed answers, unpacked in bounded pieces: a few bytes must not become gigabytes at once."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Final

PIECE_BYTES: Final = 64 * 1024


class Inflater:
    """Unpacks gzip and zlib streams. Raises zlib.error for damaged data."""

    def __init__(self) -> None:
        self._unpack = zlib.decompressobj(zlib.MAX_WBITS | 32)

    def feed(self, packed: bytes) -> Iterator[bytes]:
        """The unpacked bytes, at most `PIECE_BYTES` at a time; take one before the next is made."""
        while packed:
            piece = self._unpack.decompress(packed, PIECE_BYTES)
            packed = self._unpack.unconsumed_tail
            if piece:
                yield piece
            elif packed:
                return
