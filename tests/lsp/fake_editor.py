"""A client's editor for tests: buffers of its own, positions counted the slow and plain way.

It speaks to the server's side through the channel and through notifications, as a client does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from lsprotocol import types

from steersman.lsp.documents import OpenDocuments
from steersman.lsp.positions import PositionEncoding

_WIDTH = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


def width(char: str, encoding: PositionEncoding) -> int:
    codec, size = _WIDTH[encoding]
    return len(char.encode(codec, "surrogatepass")) // size


def position_of(text: str, offset: int, encoding: PositionEncoding) -> types.Position:
    """The position of an offset, by walking."""
    line = column = index = 0
    while index < offset:
        if text[index] in "\r\n":
            index += 2 if text[index : index + 2] == "\r\n" else 1
            line, column = line + 1, 0
        else:
            column += width(text[index], encoding)
            index += 1
    return types.Position(line=line, character=column)


def offset_of(text: str, position: dict[str, int], encoding: PositionEncoding) -> int:
    """The offset of a position, by walking; it must exist."""
    for offset in range(len(text) + 1):
        if text[offset - 1 : offset + 1] == "\r\n" and offset:
            continue
        here = position_of(text, offset, encoding)
        if (here.line, here.character) == (position["line"], position["character"]):
            return offset
    raise AssertionError(f"{position} is no place in {text!r}")


def path_from(uri: str) -> Path:
    return Path(unquote(urlsplit(uri).path))


class Buffer:
    def __init__(self, text: str, version: int = 1) -> None:
        self.text = text
        self.version = version


Handler = Callable[[dict[str, Any]], Awaitable[Any]]


class FakeEditor:
    """Implements ClientChannel. `answers[method]` replaces what it does; `calls` keeps what it was asked."""

    def __init__(self, documents: OpenDocuments) -> None:
        self.documents = documents
        self.encoding = documents.encoding
        self.buffers: dict[str, Buffer] = {}
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.notified: list[tuple[str, dict[str, Any]]] = []
        self.answers: dict[str, Handler] = {}

    async def call(self, method: str, params: object, *, timeout: float) -> Any:
        assert isinstance(params, dict)
        self.calls.append((method, params))
        handler = self.answers.get(method) or getattr(self, "_" + method.replace("/", "_"), None)
        if handler is None:
            raise RuntimeError(f"-32601: no method {method}")
        async with asyncio.timeout(timeout):
            return await handler(params)

    def notify_raw(self, method: str, params: object) -> None:
        assert isinstance(params, dict)
        self.notified.append((method, params))

    def answer(self, method: str, result: Any) -> None:
        async def fixed(_: dict[str, Any]) -> Any:
            if isinstance(result, Exception):
                raise result
            return result

        self.answers[method] = fixed

    # What a person or the editor itself does.

    def open(self, uri: str, text: str, version: int = 1) -> None:
        self.buffers[uri] = Buffer(text, version)
        item = types.TextDocumentItem(uri=uri, language_id="x", version=version, text=text)
        self.documents.did_open(types.DidOpenTextDocumentParams(text_document=item))

    def close(self, uri: str) -> None:
        del self.buffers[uri]
        identifier = types.TextDocumentIdentifier(uri=uri)
        self.documents.did_close(types.DidCloseTextDocumentParams(text_document=identifier))

    def save(self, uri: str, path: Path) -> None:
        path.write_bytes(self.buffers[uri].text.encode())
        identifier = types.TextDocumentIdentifier(uri=uri)
        self.documents.did_save(types.DidSaveTextDocumentParams(text_document=identifier))

    def type(self, uri: str, start: int, end: int, text: str, *, as_uri: str | None = None) -> None:
        """Replace [start, end) of a buffer and tell the server, as one incremental change."""
        self.change(uri, [(start, end, text)], as_uri=as_uri)

    def change(self, uri: str, edits: list[tuple[int, int, str]], *, as_uri: str | None = None) -> None:
        """Edits one after the other, told as one didChange."""
        buffer = self.buffers[uri]
        told: list[types.TextDocumentContentChangeEvent] = []
        for start, end, text in edits:
            place = types.Range(
                start=position_of(buffer.text, start, self.encoding),
                end=position_of(buffer.text, end, self.encoding),
            )
            told.append(types.TextDocumentContentChangePartial(range=place, text=text))
            buffer.text = buffer.text[:start] + text + buffer.text[end:]
        self._tell(as_uri or uri, buffer, told)

    def set_text(self, uri: str, text: str) -> None:
        """Replace the whole text and tell it whole."""
        buffer = self.buffers[uri]
        buffer.text = text
        self._tell(uri, buffer, [types.TextDocumentContentChangeWholeDocument(text=text)])

    def _tell(self, uri: str, buffer: Buffer, told: list[types.TextDocumentContentChangeEvent]) -> None:
        buffer.version += 1
        identifier = types.VersionedTextDocumentIdentifier(uri=uri, version=buffer.version)
        self.documents.did_change(
            types.DidChangeTextDocumentParams(text_document=identifier, content_changes=told)
        )

    # Applying edits as an honest editor does: versions checked, one notification a document, then the answer.

    async def _workspace_applyEdit(self, params: dict[str, Any]) -> Any:  # noqa: N802
        edit = params["edit"]
        for uri, edits in edit.get("changes", {}).items():
            self.apply_text_edits(uri, edits)
        for operation in edit.get("documentChanges", []):
            refusal = self._apply(operation)
            if refusal:
                return {"applied": False, "failureReason": refusal}
        return {"applied": True}

    def _apply(self, operation: dict[str, Any]) -> str | None:
        match operation:
            case {"kind": "create", "uri": uri}:
                path_from(uri).parent.mkdir(parents=True, exist_ok=True)
                path_from(uri).touch(exist_ok=False)
            case {"kind": "rename", "oldUri": old, "newUri": new}:
                path_from(old).rename(path_from(new))
            case {"kind": "delete", "uri": uri}:
                path_from(uri).unlink()
            case {"textDocument": {"uri": uri, "version": version}, "edits": edits}:
                if uri in self.buffers and version not in (None, self.buffers[uri].version):
                    return "the version is old"
                self.apply_text_edits(uri, edits)
        return None

    def apply_text_edits(self, uri: str, edits: list[dict[str, Any]]) -> None:
        if uri not in self.buffers:  # opened in the background, as most editors do
            self.open(uri, path_from(uri).read_bytes().decode("utf-8-sig"))
        text = self.buffers[uri].text
        spans = [
            (
                offset_of(text, edit["range"]["start"], self.encoding),
                offset_of(text, edit["range"]["end"], self.encoding),
                edit["newText"],
            )
            for edit in edits
        ]
        self.change(uri, sorted(spans, key=lambda span: span[0], reverse=True))
