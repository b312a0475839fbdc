"""The smallest replacements that turn one text into another, so that cursors, folds and undo survive.

Pure: it decides nothing and never touches a document.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher, unified_diff

import msgspec

from steersman.errors import ToolFailed
from steersman.ports.editor import Replacement
from steersman.tools.lines import NormalText, normalise, split

_MOST_PAIRS = 4_000_000
"""Pairs of lines above which a changed middle is taken as one piece: comparing would take seconds."""


class Span(msgspec.Struct, frozen=True):
    """Replace the code points [start, end) of an LF text by `new`."""

    start: int
    end: int
    new: str


def spans(old: str, new: str, offset: int = 0) -> list[Span]:
    """The changes from `old` to `new`, both with LF endings: by line, then by character.

    `offset` is where `old` begins in a whole text; the spans count from there, in ascending order.
    """
    before, after = _with_endings(old), _with_endings(new)
    position = [offset]
    for line in before:
        position.append(position[-1] + len(line))
    found: list[Span] = []
    for i1, i2, j1, j2 in _changed_lines(before, after):
        found.append(_trimmed("".join(before[i1:i2]), "".join(after[j1:j2]), position[i1]))
    return found


def counts(before: str, after: str) -> tuple[int, int]:
    """How many lines were added and how many removed between two LF texts."""
    added = removed = 0
    for i1, i2, j1, j2 in _changed_lines(split(before), split(after)):
        removed += i2 - i1
        added += j2 - j1
    return added, removed


class Rewrite(msgspec.Struct, frozen=True):
    """A change of an original text: its replacements, and the whole text that they make."""

    replacements: tuple[Replacement, ...]
    expected: str


def rewrite(text: NormalText, found: list[Span]) -> Rewrite:
    """Spans of the LF view as a change of the original text, in its own line ending.

    Raises:
        ToolFailed: `FAILED` – a lone CR would meet an LF, and two line ends would become one.
    """
    changes = tuple(
        Replacement(
            start=text.original_offset(span.start),
            end=text.original_offset(span.end),
            new_text=span.new.replace("\n", text.ending),
        )
        for span in found
    )
    expected = _spliced(text.original, [Span(c.start, c.end, c.new_text) for c in changes])
    if normalise(expected) != _spliced(text.text, found):
        raise ToolFailed(
            "FAILED",
            "the file mixes CR and LF line endings, and this change would join two of them: "
            "give the file one kind of line ending first",
        )
    return Rewrite(changes, expected)


def line_ranges(text: str, found: list[Span]) -> tuple[tuple[int, int], ...]:
    """The numbers, from 1, of the first and last line of each span in the text that they make."""
    ranges: list[tuple[int, int]] = []
    line, position = 1, 0
    for span in found:
        line += text.count("\n", position, span.start)
        last = line + span.new.count("\n")
        ranges.append((line, last))
        line, position = last, span.end
    return tuple(ranges)


def unified(before: str, after: str) -> str:
    """A unified diff of two LF texts, with one line of context and without file names."""
    return "\n".join(list(unified_diff(split(before), split(after), n=1, lineterm=""))[2:])


def _spliced(text: str, found: list[Span]) -> str:
    """The text after spans that are in ascending order and do not overlap."""
    parts: list[str] = []
    position = 0
    for span in found:
        parts += (text[position : span.start], span.new)
        position = span.end
    return "".join((*parts, text[position:]))


def _with_endings(text: str) -> list[str]:
    """The lines of an LF text with their endings (`str.splitlines` would also break at U+2028)."""
    *whole, rest = text.split("\n")
    lines = [line + "\n" for line in whole]
    return [*lines, rest] if rest else lines


def _changed_lines(before: list[str], after: list[str]) -> Iterator[tuple[int, int, int, int]]:
    """Ranges of lines [i1, i2) that became [j1, j2)."""
    head = _shared(before, after)
    tail = _shared(before[head:][::-1], after[head:][::-1])
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    if len(old) * len(new) > _MOST_PAIRS:
        yield head, head + len(old), head, head + len(new)
        return
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, new).get_opcodes():
        if tag != "equal":
            yield head + i1, head + i2, head + j1, head + j2


def _trimmed(old: str, new: str, start: int) -> Span:
    """One change without the characters that both texts begin or end with."""
    head = _shared(old, new)
    tail = _shared(old[head:][::-1], new[head:][::-1])
    return Span(start + head, start + len(old) - tail, new[head : len(new) - tail])


def _shared(left: Sequence[str], right: Sequence[str]) -> int:
    """How many leading items two sequences share."""
    shortest = min(len(left), len(right))
    return next((index for index in range(shortest) if left[index] != right[index]), shortest)
