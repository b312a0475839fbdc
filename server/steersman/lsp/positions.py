"""Text as editors address it: lines, and columns in the negotiated encoding.

A line ends with LF, CRLF or CR and with nothing else (LSP 3.17). A column never lands inside a character.
"""

from __future__ import annotations

import bisect
import itertools
import re
from typing import Literal, NamedTuple

PositionEncoding = Literal["utf-8", "utf-16", "utf-32"]

_LINE_END = re.compile(r"\r\n|\r|\n")
_BEYOND_BMP = 0xFFFF


class ClientPosition(NamedTuple):
    """A place in a document: line from 0, column from 0 in code units of the client's encoding."""

    line: int
    character: int


def split_lines(text: str) -> list[str]:
    """The lines of a text with their line ends; never empty, the last one has no line end."""
    lines: list[str] = []
    start = 0
    for end in _LINE_END.finditer(text):
        lines.append(text[start : end.end()])
        start = end.end()
    lines.append(text[start:])
    return lines


def without_line_end(line: str) -> str:
    """A line's content."""
    if line.endswith("\r\n"):
        return line[:-2]
    return line[:-1] if line.endswith(("\n", "\r")) else line


def units(text: str, encoding: PositionEncoding) -> int:
    """How many code units of `encoding` a text takes."""
    if encoding == "utf-32" or text.isascii():
        return len(text)
    if encoding == "utf-16":
        return len(text.encode("utf-16-le", "surrogatepass")) // 2
    return len(text.encode("utf-8", "surrogatepass"))


def index_at_units(content: str, count: int, encoding: PositionEncoding) -> int:
    """The code point index after `count` code units: rounded down to a character, at most the end."""
    if count <= 0:
        return 0
    if encoding == "utf-32" or content.isascii():
        return min(count, len(content))
    # A code point takes at most 4 units, so the index lies in the first `count` code points.
    head = content[:count]
    if encoding == "utf-16":
        raw = head.encode("utf-16-le", "surrogatepass")
        if len(raw) <= 2 * count:
            return len(head)
        index = len(raw[: 2 * count].decode("utf-16-le", "surrogatepass"))
        cut_inside = ord(head[index - 1]) > _BEYOND_BMP and units(head[:index], "utf-16") > count
        return index - 1 if cut_inside else index
    raw = head.encode("utf-8", "surrogatepass")
    if len(raw) <= count:
        return len(head)
    while raw[count] & 0xC0 == 0x80:
        count -= 1
    return len(raw[:count].decode("utf-8", "surrogatepass"))


def join_surrogates(text: str) -> str:
    """Join halves of surrogate pairs that came in two pieces, as an editor on UTF-16 text does."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _halves_meet(left: str, right: str) -> bool:
    return "\ud800" <= left[-1:] <= "\udbff" and "\udc00" <= right[:1] <= "\udfff"


class LineBuffer:
    """A document's text, changed by ranges in the client's encoding.

    Kept as lines, so that a change costs its own size and not the document's.
    """

    def __init__(self, text: str, encoding: PositionEncoding) -> None:
        self._encoding = encoding
        self._lines = split_lines(text)
        self._text: str | None = text
        self._starts: list[int] | None = None

    @property
    def text(self) -> str:
        """The whole text."""
        if self._text is None:
            self._text = "".join(self._lines)
        return self._text

    @property
    def line_count(self) -> int:
        return len(self._lines)

    def replace(self, start: ClientPosition, end: ClientPosition, new_text: str) -> None:
        """Replace a range. Places outside the text are clamped, a reversed range is turned round."""
        (first, head), (last, tail) = sorted((self._index(start), self._index(end)))
        before, after = self._lines[first][:head], self._lines[last][tail:]
        if _halves_meet(before, new_text or after) or _halves_meet(new_text, after):
            merged = join_surrogates(before + new_text + after)
        else:
            merged = before + new_text + after
        if first and merged.startswith("\n") and self._lines[first - 1].endswith("\r"):
            first -= 1
            merged = self._lines[first] + merged
        pieces = split_lines(merged)
        if last + 1 < len(self._lines):
            pieces.pop()  # what follows the last line's end is the next line, which is there already
        self._lines[first : last + 1] = pieces
        self._text = None
        self._starts = None

    def position_at(self, offset: int) -> ClientPosition:
        """The position of a code point offset. One between CR and LF is that of the line's end."""
        starts = self._line_starts()
        line = bisect.bisect_right(starts, max(0, offset)) - 1
        head = without_line_end(self._lines[line])[: max(0, offset) - starts[line]]
        return ClientPosition(line, units(head, self._encoding))

    def offset_at(self, position: ClientPosition) -> int:
        """The code point offset of a position, clamped into the text."""
        line, index = self._index(position)
        return self._line_starts()[line] + index

    def _index(self, position: ClientPosition) -> tuple[int, int]:
        """Line and code point index of a position: past a line's end is its end, past the text too."""
        if position.line < 0:
            return 0, 0
        if position.line >= len(self._lines):
            return len(self._lines) - 1, len(self._lines[-1])
        content = without_line_end(self._lines[position.line])
        return position.line, index_at_units(content, position.character, self._encoding)

    def _line_starts(self) -> list[int]:
        if self._starts is None:
            self._starts = list(itertools.accumulate(map(len, self._lines[:-1]), initial=0))
        return self._starts
