"""Matching when only white space differs: where the words stand, and how new lines are indented there.

Pure. It never guesses between places: the caller applies a loose match only if it is the only one.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher

import msgspec

_BLANK = r"[^\S\n]"


class LooseMatch(msgspec.Struct, frozen=True):
    """Code points [start, end) of an LF text that hold the searched words with other white space."""

    start: int
    end: int


def find(text: str, wanted: str) -> list[LooseMatch]:
    """Places where `wanted` stands but for spaces and tabs; the words and the line breaks must be the same.

    Both texts have LF endings. White space at the ends of `wanted` belongs to the match only where
    `wanted` has some there.
    """
    if not wanted.strip():
        return []
    lines = wanted.split("\n")
    patterns = [f"{_BLANK}+".join(map(re.escape, line.split())) for line in lines]
    last = len(lines) - 1
    padded = [
        (f"{_BLANK}*" if index or line[:1].isspace() else "")
        + pattern
        + (f"{_BLANK}*" if pattern and (index < last or line[-1:].isspace()) else "")
        for index, (line, pattern) in enumerate(zip(lines, patterns, strict=True))
    ]
    if not patterns[0] and not padded[0]:
        padded[0] = f"{_BLANK}*"
    return [LooseMatch(found.start(), found.end()) for found in re.finditer("\n".join(padded), text)]


def adapt(wanted: str, actual: str, new: str) -> str:
    """`new` as it should stand in place of `actual`, whose white space differs from `wanted`.

    Lines of `new` that `wanted` has too keep the white space that they have in the file; other lines get
    the file's kind of indentation.
    """
    old_lines, file_lines, new_lines = wanted.split("\n"), actual.split("\n"), new.split("\n")
    indents = {_indent(o): _indent(f) for o, f in zip(old_lines, file_lines, strict=True) if o.strip()}
    result: list[str] = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old_lines, new_lines, False).get_opcodes():
        if tag == "equal":
            result += file_lines[i1:i2]
        else:
            result += [_reindented(line, indents) for line in new_lines[j1:j2]]
    return "\n".join(result)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _reindented(line: str, indents: dict[str, str]) -> str:
    indent = _indent(line)
    if not line.strip():
        return line
    known = max((old for old in indents if indent.startswith(old)), key=len, default=None)
    if known is None:
        return line
    return indents[known] + _converted(indent[len(known) :], indents) + line[len(indent) :]


def _converted(extra: str, indents: dict[str, str]) -> str:
    """Indentation beyond what is known, in the file's unit where the known pairs show one."""
    pairs = sorted((pair for pair in indents.items() if pair[0]), key=lambda pair: len(pair[0]))
    for old, new in pairs:
        if set(new) == {"\t"} and set(old) == {" "} and len(old) % len(new) == 0:
            width = len(old) // len(new)
            return "\t" * (len(extra) // width) + extra[len(extra) // width * width :]
        if set(old) == {"\t"} and set(new) == {" "} and len(new) % len(old) == 0:
            return extra.replace("\t", " " * (len(new) // len(old)))
    return extra
