"""The places of a text that come nearest to a text that is not there, to put a model right. Pure."""

from __future__ import annotations

from difflib import get_close_matches

from steersman.tools.lines import numbered, split

_PLACES = 3
_AROUND = 2
_MOST_LINES = 5000
_WIDEST = 200
"""Characters of a line that are compared and shown: generated files have endless ones."""


def nearest(text: str, wanted: str) -> str:
    """Up to three places with their line numbers, or "" if nothing comes near. Both texts have LF endings."""
    lines = split(text)
    clipped = [line[:_WIDEST] for line in lines]
    anchors = sorted(
        {line.strip()[:_WIDEST] for line in split(wanted) if line.strip()}, key=len, reverse=True
    )
    for anchor in anchors[:3]:
        numbers = _like(clipped, anchor)
        if numbers:
            return "\n…\n".join(_shown(clipped, number, len(split(wanted))) for number in numbers)
    return ""


def _like(lines: list[str], anchor: str) -> list[int]:
    """Indices of lines like the anchor: the same but for the indentation, else close ones."""
    stripped = [line.strip() for line in lines]
    same = [index for index, line in enumerate(stripped) if line == anchor]
    if same:
        return same[:_PLACES]
    candidates = {line: index for index, line in reversed(list(enumerate(stripped[:_MOST_LINES])))}
    close = get_close_matches(anchor, candidates, n=_PLACES, cutoff=0.7)
    return sorted(candidates[line] for line in close)


def _shown(lines: list[str], index: int, height: int) -> str:
    first = max(index - _AROUND, 0)
    return numbered(lines[first : index + min(height, 8) + _AROUND], first + 1)
