"""Workspace folders and abilities: read from whatever a client says of itself."""

from __future__ import annotations

from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import converters, types

from steersman.lsp.abilities import ClientAbilities, abilities_of
from steersman.lsp.documents import OpenDocuments
from steersman.lsp.editor import LspEditor
from steersman.lsp.folders import WorkspaceFolders
from tests.lsp.fake_editor import FakeEditor


def initialize(**members: Any) -> types.InitializeParams:
    return types.InitializeParams(capabilities=types.ClientCapabilities(), **members)


def folder(path: Path, name: str) -> types.WorkspaceFolder:
    return types.WorkspaceFolder(uri=path.as_uri(), name=name)


def changed(
    added: list[types.WorkspaceFolder], removed: list[types.WorkspaceFolder]
) -> types.DidChangeWorkspaceFoldersParams:
    event = types.WorkspaceFoldersChangeEvent(added=added, removed=removed)
    return types.DidChangeWorkspaceFoldersParams(event=event)


def test_folders_come_from_the_newest_member_that_the_client_fills(tmp_path: Path) -> None:
    uri = tmp_path.as_uri()
    for params in (
        initialize(workspace_folders=[folder(tmp_path, "w")], root_uri="file:///other"),
        initialize(root_uri=uri, root_path="/other"),
        initialize(workspace_folders=[], root_path=str(tmp_path)),
    ):
        [only] = WorkspaceFolders(params).all()
        assert (only.uri, only.path) == (uri, tmp_path)
    for nothing in (initialize(), initialize(root_path="relative"), initialize(root_uri="vsls:/x")):
        assert WorkspaceFolders(nothing).all() == ()


def test_each_folder_has_a_name_of_its_own_and_is_there_once(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "a")
    told = [folder(tmp_path / "a", "src"), folder(tmp_path / "b", "src"), folder(tmp_path / "link", "link")]
    told += [types.WorkspaceFolder(uri="vscode-remote://x/y", name="far"), folder(tmp_path / "c", "x/y")]
    found = WorkspaceFolders(initialize(workspace_folders=told)).all()
    assert [(f.name, f.path.name) for f in found] == [("src", "a"), ("src-2", "b"), ("x-y", "c")]


def test_folders_come_and_go(tmp_path: Path) -> None:
    a, b = folder(tmp_path / "a", "a"), folder(tmp_path / "b", "b")
    folders = WorkspaceFolders(initialize(workspace_folders=[a]))
    folders.did_change(changed([b], [a]))
    assert [f.name for f in folders.all()] == ["b"]
    folders.did_change(changed([b, a], [folder(tmp_path / "none", "none")]))
    assert [f.name for f in folders.all()] == ["b", "a"]


def test_a_uri_is_spelled_as_the_client_spells_its_folder_or_its_document(tmp_path: Path) -> None:
    (tmp_path / "real" / "sub").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    root = (tmp_path / "link").as_uri().replace("link", "%6Cink")
    told = [types.WorkspaceFolder(uri=root, name="w"), folder(tmp_path / "real" / "sub", "sub")]
    documents = OpenDocuments()
    client = FakeEditor(documents)
    folders = WorkspaceFolders(initialize(workspace_folders=told))
    editor = LspEditor(client, documents, folders, ClientAbilities())
    assert editor.uri_of(tmp_path / "real" / "a b#.py") == f"{root}/a%20b%23.py"
    assert editor.uri_of(tmp_path / "real") == root
    assert editor.uri_of(tmp_path / "real" / "sub" / "a.py") == (tmp_path / "real" / "sub" / "a.py").as_uri()
    assert editor.uri_of(tmp_path / "x.py") == (tmp_path / "x.py").as_uri()
    client.open(f"{root}/%61.py", "a")
    assert editor.uri_of(tmp_path / "real" / "a.py") == f"{root}/%61.py"


def test_abilities_are_read_from_capabilities() -> None:
    raw = {
        "workspace": {
            "applyEdit": True,
            "workspaceEdit": {"documentChanges": True, "resourceOperations": ["create", "rename"]},
        },
        "window": {"workDoneProgress": True},
        "experimental": {"steersman": {"protocolVersion": 1, "events": {}, "save": {}, "approvals": True}},
    }
    capabilities = converters.get_converter().structure(raw, types.ClientCapabilities)
    assert abilities_of(capabilities, "utf-8") == ClientAbilities(
        apply_edit=True,
        document_changes=True,
        resource_operations=frozenset({"create", "rename"}),
        work_done_progress=True,
        extension=frozenset({"events", "save"}),
        speaks_extension=True,
        encoding="utf-8",
    )


def test_a_client_that_tells_nothing_has_no_abilities() -> None:
    assert abilities_of(types.ClientCapabilities(), "utf-16") == ClientAbilities()


Extension = namedtuple("Extension", ["protocolVersion", "approvals"])
Experimental = namedtuple("Experimental", ["steersman"])
Empty = namedtuple("Empty", [])


@pytest.mark.parametrize(
    ("experimental", "members"),
    [
        (Experimental(Extension(1, Empty())), {"approvals"}),
        ({"steersman": 5}, set()),
        ({"steersman": []}, set()),
        ([], None),
        ("text", None),
        ({"other": {}}, None),
    ],
)
def test_the_extension_is_read_from_any_shape(experimental: Any, members: set[str] | None) -> None:
    found = abilities_of(types.ClientCapabilities(experimental=experimental), "utf-16")
    assert found.speaks_extension == (members is not None)
    assert found.extension == frozenset(members or ())
