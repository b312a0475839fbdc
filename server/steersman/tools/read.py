"""read_file: a file's text as the editor holds it, numbered, whole or in part. It never changes anything."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from steersman.domain.events import CallMode
from steersman.domain.messages import Verified
from steersman.errors import ToolFailed
from steersman.ports.editor import Document
from steersman.tools import files, permission
from steersman.tools.base import Arguments, Permit, ToolContext, ToolOutcome
from steersman.tools.lines import normalise, numbered, split

_WIDEST: Final = 2000
"""Characters of one line that are shown."""
_NOTES: Final = 300
"""Bytes of the result's limit that are left for the words around the text."""

LineNumber = Annotated[int, msgspec.Meta(ge=1)]


class ReadFileArguments(Arguments, frozen=True):
    """Lines count from 1, `end_line` is the last one wanted."""

    path: str
    start_line: LineNumber | None = None
    end_line: LineNumber | None = None


class ReadFile:
    name = "read_file"
    description = (
        "Read a text file, whole or from start_line to end_line; lines come as `number|text`, "
        "of which the number is not part of the file."
    )
    arguments = ReadFileArguments
    deadline_seconds = 30.0

    def mode(self, arguments: ReadFileArguments, context: ToolContext) -> CallMode:
        return "parallel"

    def permit(self, arguments: ReadFileArguments, context: ToolContext) -> Permit:
        return permission.read(context, arguments.path)

    async def run(self, arguments: ReadFileArguments, context: ToolContext) -> ToolOutcome:
        """The text. Raises ToolFailed: see `files.existing`; `INVALID_ARGUMENTS` for an impossible range."""
        place = files.target(context, arguments.path)
        document = await files.existing(context, place)
        name = files.shown(context, place)
        if not document.text:
            return ToolOutcome(
                content=f"{name} is empty.",
                verified=Verified(ok=True, check="whole", note="the file is empty"),
                seen={document.uri: document.digest},
            )
        return _numbered(name, document, arguments, context.settings.context.result_limit_bytes - _NOTES)


def _numbered(name: str, document: Document, arguments: ReadFileArguments, room: int) -> ToolOutcome:
    lines = split(normalise(document.text))
    first = arguments.start_line or 1
    last = min(arguments.end_line or len(lines), len(lines))
    if first > len(lines) or (arguments.end_line is not None and arguments.end_line < first):
        wanted = f"{first} to {arguments.end_line or 'the end'}"
        raise ToolFailed("INVALID_ARGUMENTS", f"{name} has {len(lines)} lines; there are no lines {wanted}")
    taken, cut_lines = _fitting(lines[first - 1 : last], first, room)
    until = first + len(taken) - 1
    notes = [f"[line {number} is cut after {_WIDEST} characters]" for number in cut_lines]
    if until < last:
        notes.append(f"[cut for length: lines {first} to {until} of {len(lines)}; "
                     f"go on with start_line {until + 1}]")  # fmt: skip
    elif (first, last) != (1, len(lines)):
        notes.append(f"[lines {first} to {last} of {len(lines)}]")
    elif not document.text.endswith(("\n", "\r")):
        notes.append("[no newline at the end of the file]")
    if document.is_open:
        notes.append("[as it stands in the editor]")
    shown_all = until == last and not cut_lines
    whole = shown_all and (first, last) == (1, len(lines))
    note = f"lines {first} to {until} of {len(lines)}"
    return ToolOutcome(
        content="\n".join((numbered(taken, first), *notes)),
        verified=Verified(ok=shown_all, check="whole" if whole else "range", note=note),
        seen={document.uri: document.digest} if whole else {},
    )


def _fitting(lines: list[str], first: int, room: int) -> tuple[list[str], list[int]]:
    """As many lines as fit into `room` bytes (at least one), and the numbers of those that were cut."""
    taken: list[str] = []
    cut: list[int] = []
    for number, line in enumerate(lines, first):
        shown = line[:_WIDEST]
        room -= len(f"{number}|{shown}\n".encode())
        if len(shown) < len(line):
            room -= len(f"[line {number} is cut after {_WIDEST} characters]\n")
        if room < 0 and taken:
            break
        taken.append(shown)
        if len(shown) < len(line):
            cut.append(number)
    return taken, cut
