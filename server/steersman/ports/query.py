"""The editor's own language intelligence. Lines count from 1, offsets are code points of a text."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Protocol

import msgspec

from steersman.ports.editor import Document

Severity = Literal["error", "warning", "information", "hint"]


class Spot(msgspec.Struct, frozen=True, kw_only=True):
    """A place in a file. `path` is its real path, None for what is no file (`uri` says what it is)."""

    uri: str
    path: Path | None
    line: int


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """A diagnostic. `source` and `code` say which checker and which of its rules."""

    spot: Spot
    severity: Severity
    message: str
    source: str | None = None
    code: str | None = None


class Symbol(msgspec.Struct, frozen=True, kw_only=True):
    """A named thing of the workspace. `kind` is a word such as `function`; the line may be unknown."""

    name: str
    kind: str
    uri: str
    path: Path | None
    line: int | None
    container: str | None = None


class QueryPort(Protocol):
    """Questions to the editor's language servers.

    Every method raises ToolFailed: `UNAVAILABLE` – an error, or no answer in time; `FAILED` – an answer
    that makes no sense.
    """

    async def diagnostics(self, path: Path | None) -> list[Problem]:
        """What is wrong in a file (None: in the workspace), as far as the editor knows now."""
        ...

    async def definition(self, document: Document, offset: int) -> list[Spot]: ...

    async def references(self, document: Document, offset: int) -> list[Spot]: ...

    async def hover(self, document: Document, offset: int) -> str:
        """Type and documentation as Markdown, empty if there is none."""
        ...

    async def symbols(self, query: str) -> list[Symbol]: ...


class ScriptedQueries:
    """The test double: answers with its lists; `asked` keeps each method with its arguments."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.spots: list[Spot] = []
        self.text = ""
        self.found: list[Symbol] = []
        self.asked: list[tuple[object, ...]] = []

    async def diagnostics(self, path: Path | None) -> list[Problem]:
        self.asked.append(("diagnostics", path))
        return self.problems

    async def definition(self, document: Document, offset: int) -> list[Spot]:
        self.asked.append(("definition", document.path, offset))
        return self.spots

    async def references(self, document: Document, offset: int) -> list[Spot]:
        self.asked.append(("references", document.path, offset))
        return self.spots

    async def hover(self, document: Document, offset: int) -> str:
        self.asked.append(("hover", document.path, offset))
        return self.text

    async def symbols(self, query: str) -> list[Symbol]:
        self.asked.append(("symbols", query))
        return self.found
