"""Answers of `steersman/query`: LSP values in their several shapes, as the port's own. Pure but for paths.

Whatever does not fit raises ValueError (a ValidationError is one) – nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import msgspec
from lsprotocol import types

from steersman.domain.value import Value
from steersman.lsp.uris import path_of_uri, real_path
from steersman.ports.query import Problem, Severity, Spot, Symbol

MOST: Final = 1000
"""Items of an answer that are looked at: more is of no use to a model."""
_SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning", "information", "hint")

T = TypeVar("T", bound=Value)
Paths = Callable[[str], Path | None]


class _Position(Value, frozen=True):
    line: Annotated[int, msgspec.Meta(ge=0, le=2**31)]


class _Range(Value, frozen=True):
    start: _Position


class _Location(Value, frozen=True):
    uri: str
    range: _Range


class _LocationLink(Value, frozen=True):
    target_uri: str
    target_range: _Range
    target_selection_range: _Range | None = None


class _Markup(Value, frozen=True):
    """MarkupContent, or a MarkedString with its language."""

    value: str
    language: str | None = None


class _Hover(Value, frozen=True):
    contents: Any


class _Diagnostic(Value, frozen=True):
    range: _Range
    message: str | _Markup
    severity: Annotated[int, msgspec.Meta(ge=1, le=4)] = 1
    source: str | None = None
    code: int | str | None = None


class _SymbolPlace(Value, frozen=True):
    uri: str
    range: _Range | None = None


class _Symbol(Value, frozen=True):
    """SymbolInformation, or a WorkspaceSymbol, whose location may lack its range."""

    name: str
    location: _SymbolPlace
    kind: int = 0
    container_name: str | None = None


def spots(value: Any) -> list[Spot]:
    """Location, Location[], LocationLink[] or null."""
    paths = _paths()
    found = []
    for item in _items(value):
        if isinstance(item, dict) and "targetUri" in item:
            link = _fit(item, _LocationLink)
            uri, place = link.target_uri, link.target_selection_range or link.target_range
        else:
            location = _fit(item, _Location)
            uri, place = location.uri, location.range
        found.append(Spot(uri=uri, path=paths(uri), line=place.start.line + 1))
    return list(dict.fromkeys(found))


def problems(value: Any, asked: str | None) -> list[Problem]:
    """Diagnostic[] of the file `asked`; or, of several files, `{uri, diagnostics}[]` or reports."""
    paths = _paths()
    found = []
    for uri, item in _diagnostics(value, asked):
        diagnostic = _fit(item, _Diagnostic)
        message = diagnostic.message
        spot = Spot(uri=uri, path=paths(uri), line=diagnostic.range.start.line + 1)
        found.append(
            Problem(
                spot=spot,
                severity=_SEVERITIES[diagnostic.severity - 1],
                message=message if isinstance(message, str) else message.value,
                source=diagnostic.source,
                code=None if diagnostic.code is None else str(diagnostic.code),
            )
        )
    return found


def symbols(value: Any) -> list[Symbol]:
    """SymbolInformation[], WorkspaceSymbol[] or null."""
    paths = _paths()
    found = []
    for item in _items(value):
        symbol = _fit(item, _Symbol)
        place = symbol.location
        found.append(
            Symbol(
                name=symbol.name,
                kind=_kind(symbol.kind),
                uri=place.uri,
                path=paths(place.uri),
                line=place.range.start.line + 1 if place.range else None,
                container=symbol.container_name or None,
            )
        )
    return found


def hover_text(value: Any) -> str:
    """Hover or null; its contents are MarkupContent, a MarkedString, or a list of those."""
    if value is None:
        return ""
    contents = _fit(value, _Hover).contents
    parts = []
    for part in contents if isinstance(contents, list) else [contents]:
        marked = part if isinstance(part, str) else _fit(part, _Markup)
        if isinstance(marked, str):
            parts.append(marked)
        elif marked.language:
            parts.append(f"```{marked.language}\n{marked.value}\n```")
        else:
            parts.append(marked.value)
    return "\n\n".join(part.strip() for part in parts if part.strip())


def _fit(item: Any, shape: type[T]) -> T:
    return msgspec.convert(item, shape, strict=True)


def _items(value: Any) -> list[Any]:
    if value is None:
        return []
    return (value if isinstance(value, list) else [value])[:MOST]


def _diagnostics(value: Any, asked: str | None) -> list[tuple[str, Any]]:
    """Each diagnostic with the URI of its file."""
    if isinstance(value, dict) and "uri" not in value:
        value = value.get("items")  # a diagnostic report, of a file or of the workspace
        if value is None:
            raise ValueError("a report without items")
    found: list[tuple[str, Any]] = []
    for item in _items(value):
        nested = None
        if isinstance(item, dict):
            nested = item.get("diagnostics", item.get("items"))
        if not isinstance(nested, list):
            nested, uri = [item], asked
        else:
            uri = item.get("uri", asked)
        if not isinstance(uri, str):
            raise ValueError("a diagnostic without the uri of its file")
        found += [(uri, one) for one in nested]
    return found[:MOST]


def _kind(number: int) -> str:
    try:
        return types.SymbolKind(number).name.lower()
    except ValueError:
        return "symbol"


def _paths() -> Paths:
    """Real paths of URIs, each looked up once."""
    known: dict[str, Path | None] = {}

    def path(uri: str) -> Path | None:
        if uri not in known:
            named = path_of_uri(uri)
            known[uri] = real_path(named) if named is not None else None
        return known[uri]

    return path
