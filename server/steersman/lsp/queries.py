"""The query port over the client: one `steersman/query` a question, its answer checked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from steersman.domain.value import clean_value
from steersman.errors import ToolFailed
from steersman.lsp import query_values
from steersman.lsp.channel import ClientChannel
from steersman.lsp.client_messages import QUERY
from steersman.lsp.documents import BOM
from steersman.lsp.positions import LineBuffer, PositionEncoding
from steersman.ports.editor import Document
from steersman.ports.query import Problem, Spot, Symbol

R = TypeVar("R")


class LspQueries:
    """Implements `ports.query.QueryPort` for a client that advertised `query`.

    `uri_of` spells a path as the client does, `encoding` is that of its positions.
    """

    def __init__(
        self,
        channel: ClientChannel,
        uri_of: Callable[[Path], str],
        encoding: PositionEncoding,
        *,
        request_timeout_seconds: float = 30.0,
    ) -> None:
        self._channel = channel
        self._uri_of = uri_of
        self._encoding = encoding
        self._timeout = request_timeout_seconds

    async def diagnostics(self, path: Path | None) -> list[Problem]:
        uri = self._uri_of(path) if path is not None else None
        params = {"uri": uri} if uri is not None else {}
        return await self._ask("diagnostics", params, lambda value: query_values.problems(value, uri))

    async def definition(self, document: Document, offset: int) -> list[Spot]:
        return await self._ask("definition", self._place(document, offset), query_values.spots)

    async def references(self, document: Document, offset: int) -> list[Spot]:
        return await self._ask("references", self._place(document, offset), query_values.spots)

    async def hover(self, document: Document, offset: int) -> str:
        return await self._ask("hover", self._place(document, offset), query_values.hover_text)

    async def symbols(self, query: str) -> list[Symbol]:
        return await self._ask("symbols", {"query": query}, query_values.symbols)

    def _place(self, document: Document, offset: int) -> dict[str, Any]:
        # A client that keeps the byte order mark in its buffer counts it as a character of line 0.
        mark = BOM if document.is_open and document.bom else ""
        position = LineBuffer(mark + document.text, self._encoding).position_at(len(mark) + offset)
        return {"uri": document.uri, "position": position._asdict()}

    async def _ask(self, kind: str, params: dict[str, Any], read: Callable[[Any], R]) -> R:
        try:
            value = await self._channel.call(QUERY, {"kind": kind, **params}, timeout=self._timeout)
        except TimeoutError:
            words = f"the editor did not answer within {self._timeout:g} s: search_text may do instead"
            raise ToolFailed("UNAVAILABLE", words) from None
        except Exception as error:
            raise ToolFailed("UNAVAILABLE", f"the editor could not answer: {error}") from None
        try:
            return read(clean_value(value))
        except ValueError as problem:
            raise ToolFailed("FAILED", f"the editor's answer makes no sense: {problem}") from None
