"""The editor as one session sees it: its own workspace folder comes first among the open ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from steersman.ports.editor import Applied, Change, Document, EditorPort, Folder
from steersman.sessions.uris import uri_path


class SessionEditor:
    """An EditorPort over the client's. What names no folder (a command, a test run) happens in the first."""

    def __init__(self, editor: EditorPort, workspace_folder: Callable[[], str | None]) -> None:
        self._editor = editor
        self._workspace_folder = workspace_folder

    def folders(self) -> tuple[Folder, ...]:
        folders = self._editor.folders()
        uri = self._workspace_folder()
        own = uri_path(uri) if uri is not None and len(folders) > 1 else None
        return tuple(sorted(folders, key=lambda folder: folder.path != own)) if own else folders

    def uri_of(self, path: Path) -> str:
        return self._editor.uri_of(path)

    async def read(self, path: Path) -> Document | None:
        return await self._editor.read(path)

    async def apply(self, label: str, change: Change) -> Applied:
        return await self._editor.apply(label, change)

    def unsaved(self) -> tuple[Path, ...]:
        return self._editor.unsaved()

    async def save(self, paths: tuple[Path, ...]) -> tuple[Path, ...]:
        return await self._editor.save(paths)

    async def ask_to_save(self, paths: tuple[Path, ...]) -> None:
        await self._editor.ask_to_save(paths)
