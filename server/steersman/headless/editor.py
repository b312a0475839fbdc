"""A headless editor: the buffers of open documents, and workspace edits on them and on the disk.

It behaves as a person's editor with auto-save does: an edit to a closed file opens it, applies, saves, and
closes it again, so that a buffer nobody looks at never hides what a command writes to the file later.
"""

from __future__ import annotations

import codecs
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

from steersman.headless.text_edits import EditFailed, Encoding, apply_edits

Notify = Callable[[str, Any], None]
CAPABILITIES: Final[dict[str, Any]] = {
    "workspace": {
        "applyEdit": True,
        "workspaceEdit": {"documentChanges": True, "resourceOperations": ["create", "rename", "delete"]},
        "workspaceFolders": True,
    },
    "textDocument": {"synchronization": {"didSave": True, "dynamicRegistration": False}},
}
"""What `initialize` tells of this editor."""


_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class Buffer:
    """An open document. `mark` is the byte order mark of its file, which is not part of the text."""

    def __init__(self, raw: bytes) -> None:
        """Raises UnicodeDecodeError."""
        self.mark, self._codec = next((pair for pair in _MARKS if raw.startswith(pair[0])), (b"", "utf-8"))
        self.text = raw[len(self.mark) :].decode(self._codec)
        self.version = 1

    def encoded(self) -> bytes:
        """The bytes of the file. Raises UnicodeEncodeError."""
        return self.mark + self.text.encode(self._codec)


class HeadlessEditor:
    """Documents by URI. `auto_save` False leaves edits in the buffers, as an editor without it does."""

    def __init__(self, notify: Notify, encoding: Encoding = "utf-16", *, auto_save: bool = True) -> None:
        self._notify = notify
        self.encoding = encoding
        self.auto_save = auto_save
        self.buffers: dict[str, Buffer] = {}

    def open(self, uri: str, text: str | None = None) -> Buffer:
        """Open a document, with the disk's text if none is given. Raises OSError, UnicodeDecodeError."""
        if uri in self.buffers:
            return self.buffers[uri]
        buffer = Buffer(path_of(uri).read_bytes() if text is None else text.encode("utf-8"))
        self.buffers[uri] = buffer
        item = {"uri": uri, "languageId": "plaintext", "version": buffer.version, "text": buffer.text}
        self._notify("textDocument/didOpen", {"textDocument": item})
        return buffer

    def change(self, uri: str, text: str) -> None:
        """Replace the text of an open document, as typing does."""
        buffer = self.buffers[uri]
        buffer.text = text
        buffer.version += 1
        document = {"uri": uri, "version": buffer.version}
        self._notify("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})

    def save(self, uri: str) -> None:
        """Write an open document to its file. Raises OSError, UnicodeEncodeError."""
        path_of(uri).write_bytes(self.buffers[uri].encoded())
        self._notify("textDocument/didSave", {"textDocument": {"uri": uri}})

    def close(self, uri: str) -> None:
        if self.buffers.pop(uri, None) is not None:
            self._notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    async def apply(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Answer `workspace/applyEdit`: applied, or a refusal with its reason.

        A version that is not the present one refuses all of it; anything else that fails ends it there.
        """
        edit = params["edit"]
        changes = edit.get("documentChanges")
        if changes is None:
            changes = [
                {"textDocument": {"uri": uri, "version": None}, "edits": edits}
                for uri, edits in (edit.get("changes") or {}).items()
            ]
        try:
            for change in changes:
                self._require_version(change)
            for change in changes:
                self._apply(change)
        except (EditFailed, OSError, UnicodeError) as error:
            return {"applied": False, "failureReason": str(error)}
        return {"applied": True}

    def _apply(self, change: Mapping[str, Any]) -> None:
        match change.get("kind"):
            case "create":
                self._create(change)
            case "rename":
                self._rename(change)
            case "delete":
                self._delete(change)
            case _:
                self._edit(change)

    def _require_version(self, change: Mapping[str, Any]) -> None:
        if "textDocument" not in change:
            return
        document = change["textDocument"]
        wanted, buffer = document.get("version"), self.buffers.get(document["uri"])
        if wanted is not None and (buffer is None or wanted != buffer.version):
            state = f"is at version {buffer.version}" if buffer is not None else "is not open"
            raise EditFailed(f"{document['uri']} {state}; the edit is for version {wanted}")

    def _edit(self, change: Mapping[str, Any]) -> None:
        uri = change["textDocument"]["uri"]
        was_open = uri in self.buffers
        buffer = self.open(uri)
        try:
            before = buffer.text
            self.change(uri, apply_edits(before, change["edits"], self.encoding))
            if self.auto_save:
                self._save_or_undo(uri, before)
        finally:
            if self.auto_save and not was_open:
                self.close(uri)

    def _save_or_undo(self, uri: str, before: str) -> None:
        try:
            self.save(uri)
        except (OSError, UnicodeError):
            self.change(uri, before)
            raise

    def _create(self, change: Mapping[str, Any]) -> None:
        path, options = path_of(change["uri"]), change.get("options") or {}
        if os.path.lexists(path) and not options.get("overwrite"):
            if options.get("ignoreIfExists"):
                return
            raise EditFailed(f"{path.name} exists already")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")

    def _rename(self, change: Mapping[str, Any]) -> None:
        old, new = path_of(change["oldUri"]), path_of(change["newUri"])
        if os.path.lexists(new) and not (change.get("options") or {}).get("overwrite"):
            raise EditFailed(f"{new.name} exists already")
        new.parent.mkdir(parents=True, exist_ok=True)
        old.rename(new)
        buffer = self.buffers.get(change["oldUri"])
        self.close(change["oldUri"])
        if buffer is not None:
            self.open(change["newUri"])
            if buffer.text != self.buffers[change["newUri"]].text:
                self.change(change["newUri"], buffer.text)

    def _delete(self, change: Mapping[str, Any]) -> None:
        path, options = path_of(change["uri"]), change.get("options") or {}
        if not os.path.lexists(path) and options.get("ignoreIfNotExists"):
            return
        if not path.is_dir() or path.is_symlink():
            path.unlink()
        elif options.get("recursive") or not any(path.iterdir()):
            shutil.rmtree(path)
        else:
            raise EditFailed(f"{path.name} is not empty")
        self.close(change["uri"])


def path_of(uri: str) -> Path:
    """The path of a file URI. Raises EditFailed for any other."""
    parts = urlsplit(uri)
    if parts.scheme != "file":
        raise EditFailed(f"{uri} is no file")
    return Path(url2pathname(parts.path))
