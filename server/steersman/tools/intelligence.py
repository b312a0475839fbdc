"""diagnostics, definition, references, hover, symbols: what the editor's language servers know. Reading only.

Offered only where the editor answers such questions.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, TypeVar

import msgspec

from steersman.domain.events import CallMode
from steersman.domain.messages import Verified
from steersman.errors import Aborted, ToolFailed
from steersman.ports.editor import Document
from steersman.ports.query import Problem, QueryPort, Severity, Spot
from steersman.tools import files, permission
from steersman.tools.base import Allow, Arguments, Permit, ToolContext, ToolOutcome
from steersman.tools.lines import NormalText
from steersman.tools.paths import display, folder_of

_LISTED: Final = 100
_WIDEST: Final = 200
"""Characters of a line, or of a message, that are shown."""
_DEADLINE: Final = 90.0
_ORDER: Final[tuple[Severity, ...]] = ("error", "warning", "information", "hint")

R = TypeVar("R")
LineNumber = Annotated[int, msgspec.Meta(ge=1)]
Word = Annotated[str, msgspec.Meta(min_length=1, max_length=500)]


class DiagnosticsArguments(Arguments, frozen=True):
    path: str | None = None


class SymbolsArguments(Arguments, frozen=True):
    query: Word


class PlaceArguments(Arguments, frozen=True):
    """`symbol` stands on line `line` (from 1) of the file."""

    path: str
    line: LineNumber
    symbol: Word


class Diagnostics:
    name = "diagnostics"
    description = (
        "Show the errors and warnings that the editor reports for a file, or without path for the whole "
        "workspace; after an edit it may take the editor a moment to see it."
    )
    arguments = DiagnosticsArguments
    deadline_seconds = _DEADLINE

    def mode(self, arguments: DiagnosticsArguments, context: ToolContext) -> CallMode:
        return "parallel"

    def permit(self, arguments: DiagnosticsArguments, context: ToolContext) -> Permit:
        return permission.look(context, arguments.path)

    async def run(self, arguments: DiagnosticsArguments, context: ToolContext) -> ToolOutcome:
        """The problems, errors first. Raises ToolFailed: `NOT_FOUND`, and as the port does."""
        path = None
        if arguments.path is not None and arguments.path.strip() not in ("", "."):
            place = files.target(context, arguments.path)
            await files.existing(context, place)
            path = place.path
        found = await _answer(context, _queries(context).diagnostics(path))
        if not found:
            return _nothing("The editor reports no problem.", ok=True)
        found.sort(key=lambda p: (_ORDER.index(p.severity), p.spot.uri, p.spot.line))
        return _listed([_problem(context, problem) for problem in found], "problems")


class Symbols:
    name = "symbols"
    description = "Find classes, functions and other symbols of the workspace by (a part of) their name."
    arguments = SymbolsArguments
    deadline_seconds = _DEADLINE

    def mode(self, arguments: SymbolsArguments, context: ToolContext) -> CallMode:
        return "parallel"

    def permit(self, arguments: SymbolsArguments, context: ToolContext) -> Permit:
        return Allow()

    async def run(self, arguments: SymbolsArguments, context: ToolContext) -> ToolOutcome:
        """Where they are. Raises ToolFailed as the port does."""
        found = await _answer(context, _queries(context).symbols(arguments.query))
        if not found:
            return _nothing("The editor knows no such symbol: search_text searches the text.")
        lines = []
        for symbol in found:
            where = _where(context, symbol.uri, symbol.path)
            line = f":{symbol.line}" if symbol.line is not None else ""
            inside = f" in {symbol.container}" if symbol.container else ""
            lines.append(_cut(f"{where}{line}: {symbol.kind} {symbol.name}{inside}"))
        return _listed(lines, "symbols")


class _AtPlace:
    """What the tools about a symbol at a place share."""

    arguments = PlaceArguments
    deadline_seconds: float = _DEADLINE
    nothing: ClassVar[str]

    def mode(self, arguments: PlaceArguments, context: ToolContext) -> CallMode:
        return "parallel"

    def permit(self, arguments: PlaceArguments, context: ToolContext) -> Permit:
        return permission.read(context, arguments.path)

    async def _spots(
        self, arguments: PlaceArguments, context: ToolContext, *, references: bool
    ) -> ToolOutcome:
        document, offset = await _place(context, arguments)
        queries = _queries(context)
        ask = queries.references if references else queries.definition
        found = await _answer(context, ask(document, offset))
        if not found:
            return _nothing(self.nothing)
        return _listed(await _with_text(context, found), "places")


class Definition(_AtPlace):
    name = "definition"
    description = "Find where the symbol that stands on a line of a file is defined."
    nothing = "The editor knows no definition of it: search_text searches the text."

    async def run(self, arguments: PlaceArguments, context: ToolContext) -> ToolOutcome:
        """The places. Raises ToolFailed: `NOT_FOUND`, `INVALID_ARGUMENTS`, and as the port does."""
        return await self._spots(arguments, context, references=False)


class References(_AtPlace):
    name = "references"
    description = "Find all places that use the symbol that stands on a line of a file, before you change it."
    nothing = "The editor knows no reference to it: search_text searches the text."

    async def run(self, arguments: PlaceArguments, context: ToolContext) -> ToolOutcome:
        """The places. Raises ToolFailed: `NOT_FOUND`, `INVALID_ARGUMENTS`, and as the port does."""
        return await self._spots(arguments, context, references=True)


class Hover(_AtPlace):
    name = "hover"
    description = "Show the type and the documentation of the symbol that stands on a line of a file."

    async def run(self, arguments: PlaceArguments, context: ToolContext) -> ToolOutcome:
        """The text. Raises ToolFailed: `NOT_FOUND`, `INVALID_ARGUMENTS`, and as the port does."""
        document, offset = await _place(context, arguments)
        text = await _answer(context, _queries(context).hover(document, offset))
        if not text:
            return _nothing("The editor knows nothing about it.")
        return ToolOutcome(content=text, verified=Verified(ok=True, check="not-empty", note="hover"))


def _queries(context: ToolContext) -> QueryPort:
    if context.queries is None:
        raise ToolFailed("UNAVAILABLE", "this editor answers no such question: use search_text")
    return context.queries


async def _answer(context: ToolContext, question: Coroutine[Any, Any, R]) -> R:
    """The answer, unless the call is stopped first. Raises Aborted."""
    asking = asyncio.create_task(question)
    stop = asyncio.create_task(context.cancel.wait())
    try:
        await asyncio.wait({asking, stop}, return_when=asyncio.FIRST_COMPLETED)
        if not asking.done():
            raise Aborted("the editor was not waited for")
        return asking.result()
    finally:
        for task in (asking, stop):
            task.cancel()
        await asyncio.gather(asking, stop, return_exceptions=True)


async def _place(context: ToolContext, arguments: PlaceArguments) -> tuple[Document, int]:
    """The document, and the offset of the symbol on its line. Raises ToolFailed."""
    place = files.target(context, arguments.path)
    document = await files.existing(context, place)
    normal = NormalText(document.text)
    lines = normal.text.split("\n")
    name = files.shown(context, place)
    if arguments.line > len(lines):
        raise ToolFailed("INVALID_ARGUMENTS", f"{name} has {len(lines)} lines, no line {arguments.line}")
    text = lines[arguments.line - 1]
    column = _column(text, arguments.symbol)
    if column is None:
        others = [str(n) for n, line in enumerate(lines, 1) if _column(line, arguments.symbol) is not None]
        elsewhere = f"it stands on {', '.join(others[:10])}" if others else "nor on any other line"
        raise ToolFailed(
            "NOT_FOUND",
            f"{arguments.symbol!r} is not on line {arguments.line} of {name} ({_cut(text)!r}); {elsewhere}",
        )
    before = sum(len(line) + 1 for line in lines[: arguments.line - 1])
    return document, normal.original_offset(before + column)


def _column(text: str, symbol: str) -> int | None:
    """Where the symbol stands in a line, as a whole word if it does; of `a.b` it is `b` that is meant."""
    whole = re.search(rf"(?<!\w){re.escape(symbol)}(?!\w)", text)
    start = whole.start() if whole else text.find(symbol)
    if start < 0:
        return None
    words = list(re.finditer(r"\w+", symbol))
    return start + (words[-1].start() if words else 0)


async def _with_text(context: ToolContext, spots: Sequence[Spot]) -> list[str]:
    """Each place with the text of its line, where the model may read it."""
    known: dict[Path, list[str]] = {}
    shown: list[str] = []
    for spot in sorted(spots, key=lambda s: (s.uri, s.line)):
        where = f"{_where(context, spot.uri, spot.path)}:{spot.line}"
        text = ""
        if spot.path is not None and len(shown) < _LISTED:
            if spot.path not in known:
                known[spot.path] = await _lines(context, spot.path)
            lines = known[spot.path]
            text = lines[spot.line - 1].strip() if spot.line <= len(lines) else ""
        shown.append(f"{where}: {_cut(text)}" if text else where)
    return shown


async def _lines(context: ToolContext, path: Path) -> list[str]:
    """The lines of a file of the workspace that may be read without asking, else none."""
    folders = context.editor.folders()
    if folder_of(path, folders) is None:
        return []
    if not isinstance(permission.read(context, display(path, folders)), Allow):
        return []
    try:
        document = await context.editor.read(path)
    except ToolFailed:
        return []
    return NormalText(document.text).text.split("\n") if document is not None else []


def _problem(context: ToolContext, problem: Problem) -> str:
    where = f"{_where(context, problem.spot.uri, problem.spot.path)}:{problem.spot.line}"
    rule = " ".join(filter(None, (problem.source, problem.code)))
    return f"{where}: {problem.severity}: {_cut(problem.message)}{f' [{_cut(rule)}]' if rule else ''}"


def _where(context: ToolContext, uri: str, path: Path | None) -> str:
    return display(path, context.editor.folders()) if path is not None else _cut(uri)


def _cut(text: str) -> str:
    """A text as one line of bounded width."""
    line = " ".join(text.split())
    return line if len(line) <= _WIDEST else f"{line[:_WIDEST]}…"


def _listed(lines: Sequence[str], what: str) -> ToolOutcome:
    shown = list(lines[:_LISTED])
    if len(lines) > _LISTED:
        shown.append(f"[{len(lines) - _LISTED} more {what}]")
    verified = Verified(ok=len(lines) <= _LISTED, check="complete", note=f"{len(lines)} {what}")
    return ToolOutcome(content="\n".join(shown), verified=verified)


def _nothing(words: str, *, ok: bool = False) -> ToolOutcome:
    return ToolOutcome(content=words, verified=Verified(ok=ok, check="not-empty", note="nothing was found"))
