"""Lines and their endings, counted as editors count them: LF, CR LF and CR end a line, nothing else does."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter

_ENDING = re.compile(r"\r\n|\r|\n")


def normalise(text: str) -> str:
    """The text with LF line endings, which is how the model sees and writes all text."""
    return _ENDING.sub("\n", text) if "\r" in text else text


def split(text: str) -> list[str]:
    """The lines of an LF text without their endings. A final newline opens no further line."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def dominant_ending(text: str) -> str:
    """The line ending that the text uses most, LF where it has none or it is a draw."""
    counts = Counter(_ENDING.findall(text))
    return max(("\n", "\r\n", "\r"), key=lambda ending: counts[ending])


def line_of(text: str, offset: int) -> int:
    """The number, from 1, of the line that holds code point `offset` of an LF text."""
    return text.count("\n", 0, offset) + 1


class NormalText:
    """An LF view of a text that can tell where its offsets lie in the original. Offsets are code points."""

    def __init__(self, original: str) -> None:
        self.original = original
        self.text = normalise(original)
        self.ending = dominant_ending(original)
        self._pairs = [match.start() - index for index, match in enumerate(re.finditer(r"\r\n", original))]

    def original_offset(self, offset: int) -> int:
        """Where an offset of the LF view lies in the original: never inside a CR LF pair."""
        return offset + bisect_left(self._pairs, offset)


def numbered(lines: list[str], first: int) -> str:
    """Lines as the model is shown them: `12|text`, `first` being the number of the first one."""
    return "\n".join(f"{number}|{line}" for number, line in enumerate(lines, first))
