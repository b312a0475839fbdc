"""A headless editor: the buffers of open documents, and workspace edits on them and on the disk.

It behaves as a person's editor with auto-save does: an edit to a closed file opens it, applies, and saves.
"""

from __future__ import annotations

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


class Buffer:
    """An open document. `mark` is the byte order mark of its file, which is not part of the text."""

    def __init__(self, text: str, mark: bytes) -> None:
        self.text = text
        self.mark = mark
        self.version = 1


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
        raw = path_of(uri).read_bytes() if text is None else text.encode("utf-8")
        mark = b"\xef\xbb\xbf" if raw.startswith(b"\xef\xbb\xbf") else b""
        buffer = Buffer(raw[len(mark) :].decode("utf-8"), mark)
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
        """Write an open document to its file. Raises OSError."""
        buffer = self.buffers[uri]
        path_of(uri).write_bytes(buffer.mark + buffer.text.encode("utf-8"))
        self._notify("textDocument/didSave", {"textDocument": {"uri": uri}})

    def close(self, uri: str) -> None:
        if self.buffers.pop(uri, None) is not None:
            self._notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    async def apply(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Answer `workspace/applyEdit`: all of it, or a refusal with its reason."""
        edit = params["edit"]
        changes = edit.get("documentChanges")
        if changes is None:
            changes = [
                {"textDocument": {"uri": uri, "version": None}, "edits": edits}
                for uri, edits in (edit.get("changes") or {}).items()
            ]
        try:
            for change in changes:
                self._apply(change)
        except (EditFailed, OSError, UnicodeDecodeError, KeyError) as error:
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

    def _edit(self, change: Mapping[str, Any]) -> None:
        uri, version = change["textDocument"]["uri"], change["textDocument"].get("version")
        buffer = self.open(uri)
        if version is not None and version != buffer.version:
            raise EditFailed(f"{uri} has version {buffer.version} now, not {version}")
        self.change(uri, apply_edits(buffer.text, change["edits"], self.encoding))
        if self.auto_save:
            self.save(uri)

    def _create(self, change: Mapping[str, Any]) -> None:
        path, options = path_of(change["uri"]), change.get("options") or {}
        if path.exists() and not options.get("overwrite"):
            if options.get("ignoreIfExists"):
                return
            raise EditFailed(f"{path.name} exists already")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")

    def _rename(self, change: Mapping[str, Any]) -> None:
        old, new = path_of(change["oldUri"]), path_of(change["newUri"])
        if new.exists() and not (change.get("options") or {}).get("overwrite"):
            raise EditFailed(f"{new.name} exists already")
        new.parent.mkdir(parents=True, exist_ok=True)
        buffer = self.buffers.get(change["oldUri"])
        self.close(change["oldUri"])
        old.rename(new)
        if buffer is not None:
            self.open(change["newUri"])
            if buffer.text != self.buffers[change["newUri"]].text:
                self.change(change["newUri"], buffer.text)

    def _delete(self, change: Mapping[str, Any]) -> None:
        path, options = path_of(change["uri"]), change.get("options") or {}
        self.close(change["uri"])
        if not path.exists() and options.get("ignoreIfNotExists"):
            return
        if path.is_dir():
            if not options.get("recursive") and any(path.iterdir()):
                raise EditFailed(f"{path.name} is not empty")
            shutil.rmtree(path)
        else:
            path.unlink()


def path_of(uri: str) -> Path:
    """The path of a file URI. Raises EditFailed for any other."""
    parts = urlsplit(uri)
    if parts.scheme != "file":
        raise EditFailed(f"{uri} is no file")
    return Path(url2pathname(parts.path))
