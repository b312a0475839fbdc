"""Search/replace hunks against a text: exact, once, all or none. Pure: it gives a plan or says why not.

Hunks are matched against the text as it was before the call, with LF endings; what comes out are the
smallest replacements of the original text.
"""

from __future__ import annotations

import re
from itertools import pairwise

import msgspec

from steersman.errors import ToolFailed
from steersman.ports.editor import Replacement
from steersman.tools import diff, loose
from steersman.tools.lines import NormalText, line_of, normalise
from steersman.tools.nearest import nearest

_LISTED = 10
"""How many places of an ambiguous text are named."""
_NUMBERED = re.compile(r"\d+\|")


class Hunk(msgspec.Struct, frozen=True):
    """Replace `old_text`, which stands once in the text, by `new_text`."""

    old_text: str
    new_text: str


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What the hunks come to. `expected` is the whole text afterwards, `notes` tell of liberties taken.

    `lines` are the numbers, from 1, of the first and last changed line of each hunk in the new text.
    """

    replacements: tuple[Replacement, ...]
    expected: str
    lines: tuple[tuple[int, int], ...]
    notes: tuple[str, ...]


class _Found(msgspec.Struct, frozen=True, kw_only=True):
    """A matched hunk: [start, end) of the LF text becomes `new`."""

    hunk: int
    start: int
    end: int
    new: str
    note: str | None = None


def plan(original: str, hunks: list[Hunk]) -> Plan:
    """Match all hunks and plan the change.

    Raises:
        ToolFailed: `NOT_FOUND`, `NOT_UNIQUE` or `INVALID_ARGUMENTS`, naming every hunk that does not fit;
            `FAILED`, see `diff.rewrite`. Nothing is planned then.
    """
    text = NormalText(original)
    found: list[_Found] = []
    failures: list[tuple[str, str]] = []
    for number, hunk in enumerate(hunks, 1):
        try:
            found.append(_locate(text.text, number, hunk))
        except ToolFailed as failure:
            prefix = f"edit {number}: " if len(hunks) > 1 else ""
            failures.append((failure.code, f"{prefix}{failure}"))
    found.sort(key=lambda f: (f.start, f.end))
    for left, right in pairwise(found):
        if right.start < left.end:
            first, second = sorted((left.hunk, right.hunk))
            message = f"edits {first} and {second} overlap: join them into one edit"
            failures.append(("INVALID_ARGUMENTS", message))
    if failures:
        rest = "\nNothing was changed: all edits of a call apply or none does." if len(hunks) > 1 else ""
        raise ToolFailed(failures[0][0], "\n".join(message for _, message in failures) + rest)
    return _planned(text, found)


def _planned(text: NormalText, found: list[_Found]) -> Plan:
    spans: list[diff.Span] = []
    lines: list[tuple[int, int]] = []
    shift = 0
    for hit in found:
        spans += diff.spans(text.text[hit.start : hit.end], hit.new, hit.start)
        first = line_of(text.text, hit.start) + shift
        last = first + hit.new.removesuffix("\n").count("\n")
        lines.append((first, last))
        shift += hit.new.count("\n") - text.text.count("\n", hit.start, hit.end)
    made = diff.rewrite(text, spans)
    return Plan(
        replacements=made.replacements,
        expected=made.expected,
        lines=tuple(lines),
        notes=tuple(f"edit {hit.hunk}: {hit.note}" for hit in found if hit.note),
    )


def _locate(text: str, number: int, hunk: Hunk) -> _Found:
    """Where a hunk stands. Raises ToolFailed."""
    old, new = normalise(hunk.old_text), normalise(hunk.new_text)
    if not old:
        if text:
            raise ToolFailed(
                "INVALID_ARGUMENTS",
                "old_text is empty, which is allowed only in an empty file: give the lines to replace, "
                "or the line before the place and repeat it in new_text",
            )
        return _Found(hunk=number, start=0, end=0, new=new)
    if old == new:
        raise ToolFailed("INVALID_ARGUMENTS", "old_text and new_text are the same: nothing would change")
    places = _occurrences(text, old)
    if len(places) == 1:
        return _Found(hunk=number, start=places[0], end=places[0] + len(old), new=new)
    if places:
        raise ToolFailed("NOT_UNIQUE", _ambiguous("old_text", text, places))
    return _at_end(text, number, old, new) or _loosely(text, number, old, new)


def _at_end(text: str, number: int, old: str, new: str) -> _Found | None:
    """A hunk that ends in a newline where the text ends without one. The text keeps its end."""
    bare = old.removesuffix("\n")
    if bare == old or not bare or _occurrences(text, bare) != [len(text) - len(bare)]:
        return None
    new = new.removesuffix("\n")
    if new == bare:
        return None
    note = "the file ends without a newline, and still does"
    return _Found(hunk=number, start=len(text) - len(bare), end=len(text), new=new, note=note)


def _loosely(text: str, number: int, old: str, new: str) -> _Found:
    """A hunk whose white space differs from the text's. Raises ToolFailed unless there is one place."""
    places = loose.find(text, old)
    if len(places) > 1:
        where = _ambiguous("old_text (white space aside)", text, [p.start for p in places])
        raise ToolFailed("NOT_UNIQUE", where)
    if not places:
        raise ToolFailed("NOT_FOUND", _missing(text, old))
    place = places[0]
    actual = text[place.start : place.end]
    adapted = loose.adapt(old, actual, new)
    if adapted == actual:
        raise ToolFailed(
            "INVALID_ARGUMENTS",
            "the file has this text with other white space, and nothing else would change: "
            "copy old_text exactly to change white space",
        )
    note = "matched although the white space differs; the file's own white space was kept"
    return _Found(hunk=number, start=place.start, end=place.end, new=adapted, note=note)


def _occurrences(text: str, wanted: str) -> list[int]:
    """All places of `wanted`, overlapping ones too."""
    places: list[int] = []
    at = text.find(wanted)
    while at >= 0:
        places.append(at)
        at = text.find(wanted, at + 1)
    return places


def _ambiguous(what: str, text: str, places: list[int]) -> str:
    numbers = ", ".join(str(line_of(text, place)) for place in places[:_LISTED])
    more = ", …" if len(places) > _LISTED else ""
    return (
        f"{what} stands {len(places)} times, at lines {numbers}{more}: add lines around it to make it unique"
    )


def _missing(text: str, old: str) -> str:
    message = "old_text was not found"
    lines = old.split("\n")
    if all(_NUMBERED.match(line) for line in lines if line):
        return message + ": leave out the line numbers (`12|`) that read_file shows"
    if not text:
        return message + ": the file is empty; use an empty old_text to fill it"
    close = nearest(text, old)
    if close:
        return f"{message}. The nearest text is:\n{close}"
    return message + ", nor anything like it: read the file again"
