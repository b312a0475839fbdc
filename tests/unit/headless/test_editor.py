"""The headless editor: what it tells the server, and that a refused edit changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from steersman.headless.editor import HeadlessEditor


class Told(list[tuple[str, Any]]):
    def __call__(self, method: str, params: Any) -> None:
        self.append((method.removeprefix("textDocument/"), params))

    @property
    def methods(self) -> list[str]:
        return [method for method, _ in self]


def one_edit(uri: str, version: int | None, new: str) -> dict[str, Any]:
    at = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}
    change = {"textDocument": {"uri": uri, "version": version}, "edits": [{"range": at, "newText": new}]}
    return {"edit": {"documentChanges": [change]}}


async def test_an_edit_of_a_closed_file_opens_it_changes_it_saves_it_and_closes_it(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"\xef\xbb\xbfx = 1\r\n")
    told = Told()
    editor = HeadlessEditor(told)
    assert await editor.apply(one_edit(file.as_uri(), None, "y")) == {"applied": True}
    assert told.methods == ["didOpen", "didChange", "didSave", "didClose"]
    assert editor.buffers == {}
    assert file.read_bytes() == b"\xef\xbb\xbfy = 1\r\n"


async def test_without_auto_save_the_disk_stays_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("x")
    editor = HeadlessEditor(Told(), auto_save=False)
    await editor.apply(one_edit(file.as_uri(), None, "y"))
    assert (file.read_text(), editor.buffers[file.as_uri()].text) == ("x", "y")


async def test_an_edit_for_another_version_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("x")
    editor = HeadlessEditor(Told())
    editor.open(file.as_uri())
    answer = await editor.apply(one_edit(file.as_uri(), 7, "y"))
    assert answer["applied"] is False
    assert "version 1" in answer["failureReason"]
    assert file.read_text() == "x"


async def test_files_are_made_renamed_and_deleted(tmp_path: Path) -> None:
    editor = HeadlessEditor(Told())
    old, new = tmp_path / "sub" / "old.txt", tmp_path / "new.txt"

    async def change(**members: Any) -> bool:
        return bool((await editor.apply({"edit": {"documentChanges": [members]}}))["applied"])

    assert await change(kind="create", uri=old.as_uri())
    assert not await change(kind="create", uri=old.as_uri())
    assert await change(kind="rename", oldUri=old.as_uri(), newUri=new.as_uri())
    assert new.exists()
    assert await change(kind="delete", uri=new.as_uri())
    assert not await change(kind="delete", uri=new.as_uri())
    assert await change(kind="delete", uri=new.as_uri(), options={"ignoreIfNotExists": True})
    (tmp_path / "sub" / "kept.txt").touch()
    assert not await change(kind="delete", uri=(tmp_path / "sub").as_uri())


async def test_what_is_no_file_or_no_text_is_refused(tmp_path: Path) -> None:
    editor = HeadlessEditor(Told())
    (tmp_path / "b.bin").write_bytes(b"\xff\xfe\x00")
    for uri in ("untitled:1", (tmp_path / "gone").as_uri(), (tmp_path / "b.bin").as_uri()):
        assert (await editor.apply(one_edit(uri, None, "y")))["applied"] is False


async def test_a_document_that_was_open_stays_open(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("x")
    told = Told()
    editor = HeadlessEditor(told)
    editor.open(file.as_uri())
    assert await editor.apply(one_edit(file.as_uri(), 1, "y")) == {"applied": True}
    assert told.methods == ["didOpen", "didChange", "didSave"]
    assert (file.read_text(), editor.buffers[file.as_uri()].version) == ("y", 2)


async def test_what_another_program_writes_to_a_closed_file_is_not_lost(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("x\n")
    editor = HeadlessEditor(Told())
    await editor.apply(one_edit(file.as_uri(), None, "y"))
    file.write_text("y\nfrom a command\n")
    await editor.apply(one_edit(file.as_uri(), None, "z"))
    assert file.read_text() == "z\nfrom a command\n"


async def test_one_stale_version_refuses_the_whole_edit(tmp_path: Path) -> None:
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"
    first.write_text("x")
    second.write_text("x")
    told = Told()
    editor = HeadlessEditor(told)
    changes = [
        *one_edit(first.as_uri(), None, "y")["edit"]["documentChanges"],
        *one_edit(second.as_uri(), 1, "y")["edit"]["documentChanges"],
    ]
    answer = await editor.apply({"edit": {"documentChanges": changes}})
    assert (answer["applied"], told) == (False, [])
    assert "is not open" in answer["failureReason"]
    assert (first.read_text(), second.read_text()) == ("x", "x")


async def test_an_edit_that_cannot_be_saved_is_undone_and_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("x")
    told = Told()
    editor = HeadlessEditor(told)
    answer = await editor.apply(one_edit(file.as_uri(), None, "\ud800"))
    assert answer["applied"] is False
    assert told.methods == ["didOpen", "didChange", "didChange", "didClose"]
    assert told[2][1]["contentChanges"] == [{"text": "x"}]
    assert file.read_text() == "x"


@pytest.mark.parametrize(("mark", "codec"), [(b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")])
async def test_a_file_keeps_its_encoding_and_its_mark(tmp_path: Path, mark: bytes, codec: str) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(mark + "x = \u00e9\r\n".encode(codec))
    editor = HeadlessEditor(Told())
    assert await editor.apply(one_edit(file.as_uri(), None, "y")) == {"applied": True}
    assert file.read_bytes() == mark + "y = \u00e9\r\n".encode(codec)


async def test_changes_without_versions_are_applied_too(tmp_path: Path) -> None:
    file = tmp_path / "a b#.txt"
    file.write_text("x")
    edits = one_edit(file.as_uri(), None, "y")["edit"]["documentChanges"][0]["edits"]
    assert await HeadlessEditor(Told()).apply({"edit": {"changes": {file.as_uri(): edits}}}) == {
        "applied": True
    }
    assert file.read_text() == "y"


async def test_deleting_a_link_to_a_folder_leaves_the_folder(tmp_path: Path) -> None:
    folder, link = tmp_path / "folder", tmp_path / "link"
    folder.mkdir()
    (folder / "kept.txt").touch()
    link.symlink_to(folder)
    change = {"kind": "delete", "uri": link.as_uri(), "options": {"recursive": True}}
    assert await HeadlessEditor(Told()).apply({"edit": {"documentChanges": [change]}}) == {"applied": True}
    assert not link.is_symlink()
    assert (folder / "kept.txt").exists()


async def test_an_open_document_moves_with_its_file_and_keeps_what_is_not_saved(tmp_path: Path) -> None:
    old, new = tmp_path / "old.txt", tmp_path / "new.txt"
    old.write_text("x")
    told = Told()
    editor = HeadlessEditor(told)
    editor.open(old.as_uri())
    editor.change(old.as_uri(), "typed")
    change = {"kind": "rename", "oldUri": old.as_uri(), "newUri": new.as_uri()}
    assert await editor.apply({"edit": {"documentChanges": [change]}}) == {"applied": True}
    assert editor.buffers[new.as_uri()].text == "typed"
    assert told.methods == ["didOpen", "didChange", "didClose", "didOpen", "didChange"]
