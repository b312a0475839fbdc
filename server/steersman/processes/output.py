"""The bounded record of a process's output: cleaned first, then its head and its tail kept. Pure.

However much a process writes, this holds a few times the limit and no more.
"""

from __future__ import annotations

from steersman.processes.terminal_text import TerminalText

MARKER_BYTES = 64
"""Reserved for the line that says how much is missing."""
HEAD_SHARE = 3
"""One part in so many is the head: what failed stands at the end."""
LINE_SHARE = 4
"""A cut moves to a line border if that costs at most one part in so many."""


class Output:
    """`limit` is in bytes of UTF-8, the marker included; the text never has more."""

    def __init__(self, limit: int) -> None:
        room = max(0, limit - MARKER_BYTES)
        self._limit = max(0, limit)
        self._head_limit = room // HEAD_SHARE
        self._tail_limit = room - self._head_limit
        self._cleaner = TerminalText()
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    def feed(self, data: bytes) -> None:
        self._keep(self._cleaner.feed(data))

    def finish(self) -> tuple[str, int]:
        """The text, and the bytes of cleaned text that it leaves out. Nothing may be fed afterwards."""
        self._keep(self._cleaner.finish())
        if self._total <= self._limit:
            return (self._head + self._tail).decode(), 0
        head = _cut_end(bytes(self._head[: self._head_limit]))
        rest = bytes(self._head[self._head_limit :] + self._tail)
        tail = _cut_start(rest[len(rest) - self._tail_limit :])
        omitted = self._total - len(head.encode()) - len(tail.encode())
        marker = f"… {omitted} bytes omitted …"
        if len(marker.encode()) + 2 > self._limit:
            return "", self._total
        before = "" if head.endswith("\n") or not head else "\n"
        return f"{head}{before}{marker}\n{tail}", omitted

    def _keep(self, text: str) -> None:
        data = text.encode()
        self._total += len(data)
        room = self._limit - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data[-self._limit :] if self._limit else b""
        if len(self._tail) > 2 * self._limit:
            del self._tail[: -self._limit]


def _cut_end(data: bytes) -> str:
    """Without a torn character at the end, and if it is near without a torn line."""
    line = data.rfind(b"\n") + 1
    if line >= len(data) - len(data) // LINE_SHARE and line:
        data = data[:line]
    return data.decode("utf-8", "ignore")


def _cut_start(data: bytes) -> str:
    line = data.find(b"\n") + 1
    if 0 < line <= len(data) // LINE_SHARE:
        data = data[line:]
    return data.decode("utf-8", "ignore")
