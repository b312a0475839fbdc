"""The test double of the editor: a real folder for closed files, open documents in memory, moods on demand.

It keeps the port's promise: it tells what is true afterwards, whatever the pretended client answered.
"""

from __future__ import annotations

import codecs
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Literal

from steersman.errors import ToolFailed
from steersman.ports.editor import (
    Applied,
    Change,
    CreateFile,
    DeletePath,
    Document,
    EditText,
    Folder,
    RenamePath,
)

Mood = Literal["honest", "refuses", "lies", "never-answers", "always-stale"]
_LARGEST = 10 * 1024 * 1024


class OpenDocument:
    """A document that the pretended editor has open. `uri` is its own spelling."""

    def __init__(self, uri: str, text: str) -> None:
        self.uri = uri
        self.text = text
        self.version = 1

    def become(self, text: str) -> None:
        """Take another text, as by typing."""
        self.text = text
        self.version += 1


class MemoryEditor:
    """An editor for tests. `changes` are the changes it was asked for, with their labels.

    `mood` is how it behaves, `formatter` what it does to every text that it applies, `meanwhile` what
    happens right before the next change, once (a person types, a link is swapped).
    """

    def __init__(self, *folders: Path) -> None:
        self._folders = tuple(_folder(path) for path in folders)
        self.open_documents: dict[Path, OpenDocument] = {}
        self.changes: list[tuple[str, Change]] = []
        self.mood: Mood = "honest"
        self.formatter: Callable[[str], str] | None = None
        self.meanwhile: Callable[[], None] | None = None
        self.saves = True
        self.person_is_there = False
        """Somebody saves when asked to."""
        self.asked_to_save: list[tuple[Path, ...]] = []

    def open(self, path: Path, text: str | None = None, uri: str | None = None) -> OpenDocument:
        """Open a file, by default with the disk's text; a given text is unsaved."""
        if text is None:
            text = self._from_disk(path).text
        document = OpenDocument(uri or path.as_uri(), text)
        self.open_documents[path] = document
        return document

    def close_folder(self, name: str) -> None:
        """Remove a workspace folder, as a person may at any time."""
        self._folders = tuple(folder for folder in self._folders if folder.name != name)

    def folders(self) -> tuple[Folder, ...]:
        return self._folders

    def uri_of(self, path: Path) -> str:
        document = self.open_documents.get(path)
        return document.uri if document else path.as_uri()

    async def read(self, path: Path) -> Document | None:
        document = self.open_documents.get(path)
        if document is not None:
            return _document(path, document.uri, document.text, document.version)
        return self._from_disk(path) if _exists(path) else None

    async def apply(self, label: str, change: Change) -> Applied:
        self.changes.append((label, change))
        if self.meanwhile is not None:
            meanwhile, self.meanwhile = self.meanwhile, None
            meanwhile()
        match self.mood:
            case "refuses":
                return Applied(status="refused", reason="the editor is busy")
            case "lies":
                return Applied(status="lost")
            case "never-answers":
                return Applied(status="unknown", reason="no answer in 30 s")
            case "always-stale":
                return Applied(status="stale")
            case "honest":
                return await self._apply(change)

    def unsaved(self) -> tuple[Path, ...]:
        return tuple(
            path
            for path, document in self.open_documents.items()
            if not path.exists() or self._from_disk(path).text != document.text
        )

    async def save(self, paths: tuple[Path, ...]) -> tuple[Path, ...]:
        if not self.saves:
            return ()
        return self.person_saves(paths)

    async def ask_to_save(self, paths: tuple[Path, ...]) -> None:
        if not self.saves:
            self.asked_to_save.append(paths)
            if self.person_is_there:
                self.person_saves(paths)

    def person_saves(self, paths: tuple[Path, ...]) -> tuple[Path, ...]:
        for path in paths:
            path.write_bytes(self.open_documents[path].text.encode())
        return paths

    async def _apply(self, change: Change) -> Applied:
        match change:
            case EditText():
                return await self._edit(change)
            case CreateFile(path=path, text=text):
                if path.exists():
                    return Applied(status="stale", reason="it exists")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(self._formatted(text).encode())
                return self._done(text)
            case RenamePath(path=path, new_path=new_path):
                new_path.parent.mkdir(parents=True, exist_ok=True)
                path.rename(new_path)
                if path in self.open_documents:
                    self.open_documents[new_path] = self.open_documents.pop(path)
                return Applied(status="applied")
            case DeletePath(path=path):
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)
                self.open_documents.pop(path, None)
                return Applied(status="applied")

    async def _edit(self, change: EditText) -> Applied:
        path = change.document.path
        now = await self.read(path)
        if now is None or now.digest != change.document.digest or now.version != change.document.version:
            return Applied(status="stale")
        text = now.text
        for replacement in sorted(change.replacements, key=lambda r: r.start, reverse=True):
            text = text[: replacement.start] + replacement.new_text + text[replacement.end :]
        if text != change.expected:
            return Applied(status="refused", reason="the replacements do not make the expected text")
        made = self._formatted(text)
        document = self.open_documents.get(path)
        if document is not None:
            document.become(made)
        else:
            path.write_bytes((codecs.BOM_UTF8 if now.bom else b"") + made.encode(now.encoding))
        return self._done(text)

    def _formatted(self, text: str) -> str:
        return self.formatter(text) if self.formatter else text

    def _done(self, meant: str) -> Applied:
        made = self._formatted(meant)
        return Applied(status="applied" if made == meant else "applied-differently", text=made)

    def _from_disk(self, path: Path) -> Document:
        if path.is_dir():
            raise ToolFailed("FAILED", f"{path.name} is a folder")
        if path.stat().st_size > _LARGEST:
            raise ToolFailed("FAILED", f"{path.name} is too large")
        data = path.read_bytes()
        bom = data.startswith(codecs.BOM_UTF8)
        if b"\0" in data:
            raise ToolFailed("FAILED", f"{path.name} is not text")
        body = data.removeprefix(codecs.BOM_UTF8)
        try:
            return _document(path, path.as_uri(), body.decode(), None, bom=bom)
        except UnicodeDecodeError:
            return _document(path, path.as_uri(), body.decode("latin-1"), None, encoding="latin-1")


def _exists(path: Path) -> bool:
    return path.exists()


def _folder(path: Path) -> Folder:
    real = path.resolve()
    return Folder(uri=real.as_uri(), name=path.name, path=real)


def _document(
    path: Path, uri: str, text: str, version: int | None, *, encoding: str = "utf-8", bom: bool = False
) -> Document:
    key = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return Document(path=path, uri=uri, text=text, version=version, digest=key, encoding=encoding, bom=bom)
