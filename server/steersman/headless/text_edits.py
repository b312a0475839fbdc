"""LSP text edits on plain text. Pure. Positions count units of the negotiated encoding, from 0."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

Encoding = Literal["utf-8", "utf-16", "utf-32"]
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_CODECS: Final[dict[Encoding, tuple[str, int]]] = {
    "utf-8": ("utf-8", 1),
    "utf-16": ("utf-16-le", 2),
    "utf-32": ("utf-32-le", 4),
}


class EditFailed(Exception):
    """The edits do not fit the text: nothing was changed."""


def offset_of(text: str, position: Mapping[str, int], encoding: Encoding) -> int:
    """The code point offset of a position. Past a line's end is its end; past the text raises EditFailed."""
    starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
    line = position["line"]
    if not 0 <= line < len(starts) or position["character"] < 0:
        raise EditFailed(f"there is no line {line}, or no column {position['character']}")
    start = starts[line]
    match = _LINE_END.search(text, start)
    end = match.start() if match else len(text)
    codec, size = _CODECS[encoding]
    units = text[start:end].encode(codec, "surrogatepass")[: position["character"] * size]
    before = units.decode(codec, "replace" if encoding == "utf-8" else "surrogatepass")
    if not text.startswith(before, start):
        raise EditFailed(f"line {line}: {position['character']} lies inside a character")
    return start + len(before)


def apply_edits(text: str, edits: Sequence[Mapping[str, Any]], encoding: Encoding) -> str:
    """The text after edits that all refer to the text before. Raises EditFailed if they overlap."""
    changes = [
        (
            offset_of(text, edit["range"]["start"], encoding),
            offset_of(text, edit["range"]["end"], encoding),
            number,
            str(edit["newText"]),
        )
        for number, edit in enumerate(edits)
    ]
    changes.sort(key=lambda change: change[:3])
    pieces: list[str] = []
    done = 0
    for start, end, _, new_text in changes:
        if start < done or end < start:
            raise EditFailed("the edits overlap")
        pieces += [text[done:start], new_text]
        done = end
    return "".join((*pieces, text[done:]))
