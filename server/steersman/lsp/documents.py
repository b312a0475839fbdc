"""The truth of open documents: what the client holds, kept equal by its own notifications.

Never reads the disk for a text, and never guesses: what the client did not tell is not here.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterator
from pathlib import Path

from lsprotocol import types

from steersman.domain.digest import digest
from steersman.lsp.positions import ClientPosition, LineBuffer, PositionEncoding
from steersman.lsp.uris import path_key, path_of_uri, real_path
from steersman.ports.editor import Document

log = logging.getLogger(__name__)

BOM = "\ufeff"


class OpenDocument:
    """One document that the client has open, under one of its URIs."""

    def __init__(self, uri: str, path: Path | None, version: int, buffer: LineBuffer) -> None:
        self.uri = uri
        self.path = path
        self.version = version
        self.buffer = buffer
        self.touched = 0
        self.changed_since_save = False
        self.saves = 0
        self._seen: Document | None = None

    @property
    def has_bom(self) -> bool:
        """Whether the client counts a byte order mark as the first character."""
        return self.buffer.text.startswith(BOM)

    def document(self) -> Document:
        """The document now. Raises ValueError for one that is not a file."""
        if self.path is None:
            raise ValueError(f"{self.uri} is not a file")
        if self._seen is None:
            text = self.buffer.text.removeprefix(BOM)
            self._seen = Document(
                path=self.path,
                uri=self.uri,
                text=text,
                version=self.version,
                digest=digest(text),
                bom=self.has_bom,
            )
        return self._seen

    def forget(self) -> None:
        """The buffer or its version changed."""
        self._seen = None


class Watch:
    """What happened to one file's open documents since the watch began."""

    def __init__(self, expected: str | None) -> None:
        self.changes = 0
        self.reached = False
        """Whether the text was exactly `expected` at some moment, whatever came after."""
        self._expected = expected
        self._news = asyncio.Event()

    def saw(self, document: Document | None) -> None:
        """Told by OpenDocuments: an open or a change with the document, a close with None."""
        self.changes += 1
        if document is not None and document.text == self._expected:
            self.reached = True
        self._news.set()

    async def changed(self, timeout_seconds: float) -> bool:
        """Wait for the next news since the last call; False if none came in time."""
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._news.wait()
        except TimeoutError:
            return False
        self._news.clear()
        return True


class OpenDocuments:
    """All open documents. The notification methods are synchronous, so that their order holds."""

    def __init__(self, encoding: PositionEncoding = "utf-16") -> None:
        self.encoding = encoding
        self._by_uri: dict[str, OpenDocument] = {}
        self._clock = 0
        self._watches: list[tuple[str, Watch]] = []

    def did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        """`textDocument/didOpen`. A second one for the same URI replaces the first."""
        item = params.text_document
        named = path_of_uri(item.uri)
        path = real_path(named) if named is not None else None
        opened = OpenDocument(item.uri, path, item.version, LineBuffer(item.text, self.encoding))
        self._by_uri[item.uri] = opened
        self._tell(opened)

    def did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        """`textDocument/didChange`: every change refers to the text after the one before it."""
        changed = self._known(params.text_document.uri)
        if changed is None:
            log.warning("didChange of a document that is not open was ignored")
            return
        for change in params.content_changes:
            if isinstance(change, types.TextDocumentContentChangePartial):
                changed.buffer.replace(_place(change.range.start), _place(change.range.end), change.text)
            else:
                changed.buffer = LineBuffer(change.text, self.encoding)
        changed.version = params.text_document.version
        changed.changed_since_save = True
        self._tell(changed)

    def did_save(self, params: types.DidSaveTextDocumentParams) -> None:
        """`textDocument/didSave`. A text that comes with it is the client's word and is taken."""
        saved = self._known(params.text_document.uri)
        if saved is None:
            return
        if params.text is not None and params.text != saved.buffer.text:
            saved.buffer = LineBuffer(params.text, self.encoding)
        saved.changed_since_save = False
        saved.saves += 1
        self._tell(saved)

    def did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        """`textDocument/didClose`. From here on the disk is the truth."""
        closed = self._known(params.text_document.uri)
        if closed is None:
            return
        del self._by_uri[closed.uri]
        for watch in self._watching(closed.path):
            watch.saw(None)

    def find(self, path: Path) -> OpenDocument | None:
        """The open document at a path; the one that moved last if the client has it open twice."""
        return max(self.all_of(path), key=lambda found: found.touched, default=None)

    def all_of(self, path: Path) -> list[OpenDocument]:
        """Every open document at a path: a client may have one file open under several names."""
        key = path_key(path)
        return [found for found in self._by_uri.values() if found.path and path_key(found.path) == key]

    def below(self, path: Path) -> list[OpenDocument]:
        """The open documents at a path or, where it is a folder, in it."""
        key = path_key(path)
        inside = key.rstrip("/") + "/"
        return [
            found
            for found in self._by_uri.values()
            if found.path and (path_key(found.path) == key or path_key(found.path).startswith(inside))
        ]

    def files(self) -> list[OpenDocument]:
        """All open documents that are files, the oldest first."""
        return [found for found in self._by_uri.values() if found.path is not None]

    @contextlib.contextmanager
    def watch(self, path: Path, expected: str | None) -> Iterator[Watch]:
        """Watch a file for the time of the block: a change cannot slip by between a look and a wait."""
        entry = (path_key(path), Watch(expected))
        self._watches.append(entry)
        try:
            yield entry[1]
        finally:
            self._watches.remove(entry)

    def _known(self, uri: str) -> OpenDocument | None:
        """The open document of a URI, also where the client spells it otherwise than when it opened it."""
        if uri in self._by_uri:
            return self._by_uri[uri]
        named = path_of_uri(uri)
        return self.find(real_path(named)) if named is not None else None

    def _tell(self, moved: OpenDocument) -> None:
        self._clock += 1
        moved.touched = self._clock
        moved.forget()
        for watch in self._watching(moved.path):
            watch.saw(moved.document())

    def _watching(self, path: Path | None) -> list[Watch]:
        if path is None:
            return []
        key = path_key(path)
        return [watch for watched, watch in self._watches if watched == key]


def _place(position: types.Position) -> ClientPosition:
    return ClientPosition(position.line, position.character)
