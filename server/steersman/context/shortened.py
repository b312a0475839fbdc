"""Texts made shorter: results with a handle, people's words with head and tail. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from steersman.domain.digest import digest

RESULT_BYTES: Final = 1_500
"""Results up to this size are never shortened: it would not pay."""
_HEAD, _TAIL = 700, 400
LEAST_WORDS: Final = 160
"""Bytes of each of the user's messages that are kept before the oldest are left out."""


def is_long(result: str) -> bool:
    """Whether a result is worth shortening."""
    return len(result.encode("utf-8", "surrogatepass")) > RESULT_BYTES


def short_result(result: str) -> str:
    """Head and tail of a long result, and the handle by which the whole can be read."""
    if not is_long(result):
        return result
    head, tail = first_bytes(result, _HEAD), last_bytes(result, _TAIL)
    left_out = len(result) - len(head) - len(tail)
    return (
        f"{head}\n[… {left_out} of {len(result)} characters were left out later to save room; read_result "
        f"with handle {digest(result)} and offset {len(head)} shows them]\n{tail}"
    )


def fitting_words(texts: Sequence[str], limit: int) -> tuple[list[str], int]:
    """People's messages in about `limit` bytes together, and how many of the oldest had to be left out.

    The longest are cut to head and tail, all to the same size, so that short ones stay whole.
    """
    kept = list(texts)
    most = max(limit // LEAST_WORDS, 1)
    sizes = [len(text.encode("utf-8", "surrogatepass")) for text in kept]
    while len(kept) > most and sum(min(size, LEAST_WORDS) for size in sizes) > limit:
        del kept[0], sizes[0]
    room = _level(sizes, limit)
    return [_cut(text, room) for text in kept], len(texts) - len(kept)


def _level(sizes: Sequence[int], limit: int) -> int:
    """The size to which the longest are cut so that all fit: short ones leave their room to long ones."""
    left, rest = limit, len(sizes)
    for size in sorted(sizes):
        if size * rest > left:
            return left // rest
        left, rest = left - size, rest - 1
    return max(sizes, default=0)


def _cut(text: str, size: int) -> str:
    data = len(text.encode("utf-8", "surrogatepass"))
    if data <= size:
        return text
    mark = " [… left out …] "
    room = max(size - len(mark.encode()), 0)
    return first_bytes(text, room * 2 // 3) + mark + last_bytes(text, room - room * 2 // 3)


def first_bytes(text: str, size: int) -> str:
    """The longest beginning of at most `size` bytes of UTF-8, cut between characters."""
    return text[:size].encode("utf-8", "replace")[:size].decode("utf-8", "ignore")


def last_bytes(text: str, size: int) -> str:
    """The longest end of at most `size` bytes of UTF-8, cut between characters."""
    if not size:
        return ""
    return text[-size:].encode("utf-8", "replace")[-size:].decode("utf-8", "ignore")
