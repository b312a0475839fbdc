"""The workspace folders that the client has open, by their real paths and with names of their own."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from lsprotocol import types

from steersman.lsp.uris import path_key, path_of_uri, real_path
from steersman.ports.editor import Folder


class WorkspaceFolders:
    """Kept by `initialize` and `workspace/didChangeWorkspaceFolders`; only `file:` folders count."""

    def __init__(self, params: types.InitializeParams) -> None:
        self._open: tuple[Folder, ...] = ()
        self._replace(_from_initialize(params))

    def all(self) -> tuple[Folder, ...]:
        """The folders now, in the client's order."""
        return self._open

    def did_change(self, params: types.DidChangeWorkspaceFoldersParams) -> None:
        """Take folders away and add others, in this order, as the notification says."""
        removed = {path_key(path) for gone in params.event.removed if (path := _path(gone.uri))}
        kept = [
            types.WorkspaceFolder(uri=folder.uri, name=folder.name)
            for folder in self._open
            if path_key(folder.path) not in removed
        ]
        self._replace([*kept, *params.event.added])

    def holding(self, path: Path) -> Folder | None:
        """The innermost folder that holds a real path."""
        holders = [folder for folder in self._open if path.is_relative_to(folder.path)]
        return max(holders, key=lambda folder: len(folder.path.parts), default=None)

    def _replace(self, told: Iterable[types.WorkspaceFolder]) -> None:
        folders: dict[str, Folder] = {}
        names: set[str] = set()
        for item in told:
            path = _path(item.uri)
            if path is None or path_key(path) in folders:
                continue
            name = _unused(item.name.replace("/", "-") or path.name or "root", names)
            names.add(name)
            folders[path_key(path)] = Folder(uri=item.uri, name=name, path=path)
        self._open = tuple(folders.values())


def _from_initialize(params: types.InitializeParams) -> list[types.WorkspaceFolder]:
    if params.workspace_folders:
        return list(params.workspace_folders)
    uri = params.root_uri
    if not uri and params.root_path and Path(params.root_path).is_absolute():
        uri = Path(params.root_path).as_uri()
    path = _path(uri) if uri else None
    return [types.WorkspaceFolder(uri=uri, name=path.name)] if uri and path else []


def _path(uri: str) -> Path | None:
    named = path_of_uri(uri)
    return real_path(named) if named is not None else None


def _unused(name: str, taken: set[str]) -> str:
    """Multi-root paths start with the name, so two folders never share one."""
    if name not in taken:
        return name
    number = 2
    while f"{name}-{number}" in taken:
        number += 1
    return f"{name}-{number}"
