"""The headless editor: what it tells the server, and that a refused edit changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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


async def test_an_edit_of_a_closed_file_opens_it_changes_it_and_saves_it(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"\xef\xbb\xbfx = 1\r\n")
    told = Told()
    editor = HeadlessEditor(told)
    assert await editor.apply(one_edit(file.as_uri(), None, "y")) == {"applied": True}
    assert told.methods == ["didOpen", "didChange", "didSave"]
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
