"""The editor port over the client: one change at a time, and what became of it as the client shows it.

Never believes `applied: true`, and never sends a change for a text that is no longer the live one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from steersman.domain.value import clean_text
from steersman.errors import ToolFailed
from steersman.lsp import disk, workspace_edit
from steersman.lsp.abilities import ClientAbilities
from steersman.lsp.channel import ClientChannel
from steersman.lsp.documents import OpenDocuments
from steersman.lsp.folders import WorkspaceFolders
from steersman.lsp.outcome import Answer, EditCheck, PathCheck, answer_of
from steersman.lsp.saving import Saving
from steersman.lsp.unsaved import UnsavedDocuments
from steersman.lsp.uris import path_key, uri_of_path
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

_LABEL: Final = "Steersman: "


class LspEditor:
    """Implements `ports.editor.EditorPort` for the connected client."""

    def __init__(
        self,
        channel: ClientChannel,
        documents: OpenDocuments,
        folders: WorkspaceFolders,
        abilities: ClientAbilities,
        *,
        request_timeout_seconds: float = 30.0,
        settle_seconds: float = 2.0,
    ) -> None:
        """`settle_seconds`: how long after the client's answer its next notification may take."""
        self._channel = channel
        self._documents = documents
        self._folders = folders
        self._abilities = abilities
        self._timeout = request_timeout_seconds
        self._settle = settle_seconds
        self._unsaved = UnsavedDocuments(documents)
        self._saving = Saving(channel, abilities, self._unsaved, self.uri_of, request_timeout_seconds)
        self._one_at_a_time = asyncio.Lock()

    def folders(self) -> tuple[Folder, ...]:
        return self._folders.all()

    def uri_of(self, path: Path) -> str:
        opened = self._documents.find(path)
        if opened is not None:
            return opened.uri
        folder = self._folders.holding(path)
        return uri_of_path(path, (folder.uri, folder.path) if folder else None)

    async def read(self, path: Path) -> Document | None:
        if (opened := self._open_document(path)) is not None:
            return opened
        on_disk = await asyncio.to_thread(disk.read_text, path)
        if (opened := self._open_document(path)) is not None:
            return opened  # the client opened it meanwhile
        return self._closed_document(path, on_disk) if on_disk is not None else None

    async def apply(self, label: str, change: Change) -> Applied:
        async with self._one_at_a_time:
            if any(disk.leads_elsewhere(path) for path in _paths(change)):
                return _stale("a part of its path became a link to elsewhere", None)
            match change:
                case EditText():
                    return await self._edit(label, change)
                case CreateFile():
                    return await self._create(label, change)
                case RenamePath():
                    return await self._rename(label, change)
                case DeletePath():
                    return await self._delete(label, change)

    def unsaved(self) -> tuple[Path, ...]:
        return self._unsaved.paths()

    async def save(self, paths: tuple[Path, ...]) -> tuple[Path, ...]:
        return await self._saving.save(paths)

    async def ask_to_save(self, paths: tuple[Path, ...]) -> None:
        await self._saving.ask(paths)

    # Each kind of change: look at what is true now, send or write, look again.

    async def _edit(self, label: str, change: EditText) -> Applied:
        document = change.document
        if workspace_edit.spliced(document.text, change.replacements) != change.expected:
            raise ValueError("the replacements do not lead to the expected text")
        live = await self._live(document)
        # Nothing below suspends before the edit is sent: what was checked is what it meets.
        if isinstance(live, Applied):
            return live
        if change.expected == live.text:
            return Applied(status="applied", text=live.text)
        if not self._abilities.apply_edit:
            if live.is_open:
                return _refused("it is open, and this editor cannot apply edits: close it first")
            return await self._on_disk(
                disk.replace_text, live.path, live.digest, change.expected, text=change.expected
            )
        edits = workspace_edit.text_edits(live, change.replacements, self._abilities.encoding)
        edit = workspace_edit.edit_document(live, edits, document_changes=self._abilities.document_changes)
        return await self._verified_edit(label, edit, live.path, live.text, change.expected)

    async def _live(self, seen: Document) -> Document | Applied:
        """The document as it is now if that is what the caller saw, else why it cannot be changed."""
        newest = self._documents.find(seen.path)
        if newest is None:
            on_disk = await _text_on_disk(seen.path)
            newest = self._documents.find(seen.path)
            if newest is None:
                return self._closed_and_same(seen, on_disk)
        live = newest.document()
        if any(other.document().digest != live.digest for other in self._documents.all_of(seen.path)):
            return _refused("it is open under two names with different texts: save or close one of them")
        if live.digest != seen.digest:
            return _stale("the document changed in the editor", live.text)
        return live

    def _closed_and_same(self, seen: Document, on_disk: disk.DiskText | None) -> Document | Applied:
        if on_disk is None or on_disk.digest != seen.digest:
            return _stale("the file on the disk changed", on_disk.text if on_disk else None)
        if disk.signature_of(seen.path) != on_disk.signature:
            return _stale("the file on the disk is being changed", None)
        if not on_disk.mode & 0o222:
            return _refused("it is write-protected")
        return self._closed_document(seen.path, on_disk)

    async def _create(self, label: str, change: CreateFile) -> Applied:
        if self._documents.all_of(change.path) or disk.is_there(change.path):
            return _stale("something is there already", None)
        if not self._offers("create"):
            return await self._on_disk(disk.create_text, change.path, change.text, text=change.text)
        edit = workspace_edit.create_file(self.uri_of(change.path), change.text)
        return await self._verified_edit(label, edit, change.path, None, change.text)

    async def _rename(self, label: str, change: RenamePath) -> Applied:
        if not disk.is_there(change.path):
            return _stale("it is gone", None)
        if disk.is_there(change.new_path) or self._documents.all_of(change.new_path):
            return _stale("something is at the new path already", None)
        check = PathCheck(gone=change.path, there=change.new_path)
        if self._offers("rename"):
            edit = workspace_edit.rename_file(self.uri_of(change.path), self.uri_of(change.new_path))
            return await self._verified_path(label, edit, check)
        if self._documents.below(change.path):
            return _refused("it is open, and this editor cannot rename files: close it first")
        return await self._on_disk(disk.rename, change.path, change.new_path)

    async def _delete(self, label: str, change: DeletePath) -> Applied:
        if not disk.is_there(change.path):
            return _stale("it is gone", None)
        lost = {path_key(path) for path in self._unsaved.paths()}
        opened = self._documents.below(change.path)
        if any(found.path and path_key(found.path) in lost for found in opened):
            return _refused("it has unsaved changes in the editor")
        check = PathCheck(gone=change.path, there=None)
        if self._offers("delete"):
            recursive = change.path.is_dir() and not change.path.is_symlink()
            edit = workspace_edit.delete_file(self.uri_of(change.path), recursive=recursive)
            return await self._verified_path(label, edit, check)
        if opened:
            return _refused("it is open, and this editor cannot delete files: close it first")
        return await self._on_disk(disk.delete, change.path)

    # Sending and verifying.

    async def _verified_edit(
        self, label: str, edit: workspace_edit.Json, path: Path, before: str | None, expected: str
    ) -> Applied:
        """Send an edit at once (no suspension comes before) and tell what it did to a file's text."""
        with self._documents.watch(path, expected) as watch:
            check = EditCheck(self._documents, watch, path, before, expected)
            answer = await self._send(label, edit)
            if answer.kind == "applied":
                await check.settle(self._settle)
                if check.is_hidden and await self.save((path,)):
                    await check.look()
            else:
                await check.look()
            return check.verdict(answer)

    async def _verified_path(self, label: str, edit: workspace_edit.Json, check: PathCheck) -> Applied:
        answer = await self._send(label, edit)
        if answer.kind == "applied":
            await check.settle(self._settle)
        return check.verdict(answer)

    async def _send(self, label: str, edit: workspace_edit.Json) -> Answer:
        title = label if label.startswith(_LABEL) else _LABEL + label
        params = {"label": clean_text(title), "edit": edit}
        try:
            return answer_of(await self._channel.call("workspace/applyEdit", params, timeout=self._timeout))
        except TimeoutError:
            return Answer("silent", f"the editor did not answer within {self._timeout:g} s")
        except Exception as error:
            return Answer("error", f"the editor answered with an error: {error}")

    async def _on_disk(self, write: Callable[..., None], *arguments: Any, text: str | None = None) -> Applied:
        """Make a change to closed files ourselves; `write` checks again what it changes."""
        try:
            await asyncio.to_thread(write, *arguments)
        except disk.Changed as changed:
            return _stale(str(changed), None)
        except ToolFailed as failed:
            return _refused(str(failed))
        return Applied(status="applied", text=text)

    def _offers(self, operation: str) -> bool:
        able = self._abilities
        return able.apply_edit and able.document_changes and operation in able.resource_operations

    def _open_document(self, path: Path) -> Document | None:
        opened = self._documents.find(path)
        if opened is None:
            return None
        document = opened.document()
        if len(document.text) > disk.SIZE_LIMIT:
            raise ToolFailed("FAILED", f"{path.name} is too large ({len(document.text)} characters).")
        return document

    def _closed_document(self, path: Path, on_disk: disk.DiskText) -> Document:
        return Document(
            path=path,
            uri=self.uri_of(path),
            text=on_disk.text,
            version=None,
            digest=on_disk.digest,
            encoding=on_disk.encoding,
            bom=on_disk.bom,
        )


async def _text_on_disk(path: Path) -> disk.DiskText | None:
    """The text, or None where there is none that could be read."""
    try:
        return await asyncio.to_thread(disk.read_text, path)
    except ToolFailed:
        return None


def _paths(change: Change) -> tuple[Path, ...]:
    match change:
        case EditText():
            return (change.document.path,)
        case RenamePath():
            return (change.path, change.new_path)
        case CreateFile() | DeletePath():
            return (change.path,)


def _stale(reason: str, text: str | None) -> Applied:
    return Applied(status="stale", reason=reason, text=text)


def _refused(reason: str) -> Applied:
    return Applied(status="refused", reason=reason)
