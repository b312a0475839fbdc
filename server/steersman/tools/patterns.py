"""What search_text looks for in a line. Only patterns that cannot take for ever are accepted.

A regular expression holds the interpreter while it matches, and nothing can interrupt it. So repeats of
repeats are refused, and the more open repeats a pattern has, the less of an endless line is searched.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable
from typing import Final

import msgspec

from steersman.errors import ToolFailed

Span = tuple[int, int]


class Matcher(msgspec.Struct, frozen=True):
    """`match` gives the code points [start, end) of the first match in a line's first `searched` ones."""

    match: Callable[[str], Span | None]
    searched: int = sys.maxsize


_LONGEST: Final = 500
_MOST_REPEATS: Final = 4
_MOST_CHOICES: Final = 10
_SEARCHED: Final = (200_000, 4000, 600, 150, 70)
"""Characters of a line that are searched by a pattern with so many open repeats."""
_REPEAT: Final = re.compile(r"[*+]|\{\d*,?\d*\}")
_GROUP_START: Final = re.compile(r"\(\?(?:P?<[^>=!]+>|[:=!>]|<[=!]|[aiLmsux-]+:)?")


def matcher(pattern: str, is_regex: bool) -> Matcher:
    """A matcher for a text, or for a regular expression of Python's kind.

    Raises:
        ToolFailed: `INVALID_ARGUMENTS` – empty, not a regular expression, or one that could take for ever.
    """
    if not pattern:
        raise ToolFailed("INVALID_ARGUMENTS", "pattern is empty: give the text to look for")
    if not is_regex:
        if "\n" in pattern.strip("\n"):
            raise ToolFailed("INVALID_ARGUMENTS", "pattern has several lines: search for one of them")
        return _literal(pattern.strip("\r\n") or pattern)
    if len(pattern) > _LONGEST:
        raise ToolFailed("INVALID_ARGUMENTS", f"pattern is longer than {_LONGEST} characters")
    compiled = _compiled(pattern)
    repeats = _open_repeats(pattern)
    if repeats > _MOST_REPEATS:
        raise ToolFailed(
            "INVALID_ARGUMENTS",
            f"pattern has {repeats} repeats, at most {_MOST_REPEATS} are allowed: search for a shorter part",
        )
    searched = _SEARCHED[repeats]

    def match(line: str) -> Span | None:
        found = compiled.search(line[:searched])
        return found.span() if found else None

    return Matcher(match, searched)


def _literal(text: str) -> Matcher:
    def match(line: str) -> Span | None:
        at = line.find(text)
        return None if at < 0 else (at, at + len(text))

    return Matcher(match)


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a doubtful pattern is the model's matter
            return re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ToolFailed(
            "INVALID_ARGUMENTS",
            f"pattern is not a regular expression: {error}; leave regex out for plain text",
        ) from None


def _open_repeats(pattern: str) -> int:
    """How many repeats a pattern has.

    Raises:
        ToolFailed: it repeats a group that itself repeats or chooses, or has too many choices in a row.
    """
    repeats = choices = 0
    branching = [False]  # for each open group: whether it holds a repeat, an option or a choice
    closed = False  # whether what stands before this place is such a group
    at = 0
    while at < len(pattern):
        character = pattern[at]
        repeat = _REPEAT.match(pattern, at)
        width = 1
        if character == "\\":
            width, closed = 2, False
        elif character == "[":
            width, closed = _class_width(pattern, at), False
        elif character == "(":
            start = _GROUP_START.match(pattern, at)
            width, closed = (start.end() - at if start else 1), False
            branching.append(False)
        elif character == ")":
            closed = branching.pop()
            branching[-1] = branching[-1] or closed
            choices += closed
        elif repeat is not None:
            _refuse_endless(closed)
            width, repeats = len(repeat.group()), repeats + 1
            branching[-1] = True
        elif character in "|?":
            choices += character == "?"
            branching[-1] = True
        else:
            closed = False
        at += width
    _refuse_endless(choices > _MOST_CHOICES)
    return repeats


def _refuse_endless(endless: bool) -> None:
    if endless:
        raise ToolFailed(
            "INVALID_ARGUMENTS",
            "pattern repeats or combines groups that themselves repeat or choose, which could take for ever: "
            "simplify it, or search for a shorter part",
        )


def _class_width(pattern: str, start: int) -> int:
    """The width of the character class that begins at `start`."""
    at = start + 1
    if pattern[at : at + 1] == "^":
        at += 1
    at += 1  # a bracket in the first place stands for itself
    while pattern[at : at + 1] != "]":
        at += 2 if pattern[at] == "\\" else 1
    return at + 1 - start
