"""Which open documents differ from the disk. Line ends do not count: editors make them uniform on loading."""

from __future__ import annotations

from pathlib import Path

from steersman.errors import ToolFailed
from steersman.lsp import disk
from steersman.lsp.documents import OpenDocument, OpenDocuments

_Seen = tuple[int, int, disk.Signature | None]


class UnsavedDocuments:
    """Compares an open document with its file, and again only when one of the two has moved."""

    def __init__(self, documents: OpenDocuments) -> None:
        self._documents = documents
        self._known: dict[str, tuple[_Seen, bool]] = {}

    def paths(self) -> tuple[Path, ...]:
        """The real paths of open documents whose text is not on the disk."""
        known: dict[str, tuple[_Seen, bool]] = {}
        for opened in self._documents.files():
            path = opened.document().path
            seen = (opened.version, opened.touched, disk.signature_of(path))
            before = self._known.get(opened.uri)
            differs = before[1] if before and before[0] == seen else _differs(opened, path)
            known[opened.uri] = (seen, differs)
        self._known = known
        unsaved = (opened for opened in self._documents.files() if known[opened.uri][1])
        return tuple(dict.fromkeys(opened.document().path for opened in unsaved))

    def marks(self, paths: tuple[Path, ...]) -> frozenset[tuple[Path, int]]:
        """These documents with how often each was saved: another mark tells that it was, since."""
        found = ((path, self._documents.find(path)) for path in paths)
        return frozenset((path, opened.saves) for path, opened in found if opened is not None)


def _differs(opened: OpenDocument, path: Path) -> bool:
    try:
        on_disk = disk.read_text(path)
    except ToolFailed:
        # No text to compare with: what the editor told is all there is.
        return opened.changed_since_save
    return on_disk is None or _uniform(on_disk.text) != _uniform(opened.document().text)


def _uniform(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
