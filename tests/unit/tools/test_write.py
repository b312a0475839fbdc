"""write_file, rename_path, delete_path: nothing is overwritten unseen, or removed without a journal."""

from __future__ import annotations

from pathlib import Path

import pytest

from steersman.domain.digest import digest
from steersman.domain.events import EditApplied, EditPlanned
from steersman.errors import ToolFailed
from steersman.tools.base import Allow, Ask, Refuse
from tests.unit.tools.context import Context


async def refused(context: Context, name: str, **arguments: object) -> ToolFailed:
    with pytest.raises(ToolFailed) as caught:
        await context.call(name, **arguments)
    return caught.value


async def test_a_new_file_is_made_with_its_folders_and_is_known_then(context: Context, root: Path) -> None:
    await context.call("write_file", path="src/new/a.py", content="x = 1\n")
    assert (root / "src/new/a.py").read_bytes() == b"x = 1\n"
    await context.call("write_file", path="src/new/a.py", content="x = 2\n", overwrite=True)
    assert (root / "src/new/a.py").read_bytes() == b"x = 2\n"
    assert [e.kind for e in context.events if isinstance(e, EditApplied)] == ["create", "edit"]


async def test_a_new_file_follows_the_line_endings_of_its_neighbours(context: Context, root: Path) -> None:
    (root / "a.bat").write_bytes(b"one\r\ntwo\r\n")
    (root / "a.py").write_bytes(b"one\ntwo\n")
    await context.call("write_file", path="b.bat", content="x\ny\n")
    await context.call("write_file", path="b.py", content="x\r\ny\r\n")
    assert (root / "b.bat").read_bytes() == b"x\r\ny\r\n"
    assert (root / "b.py").read_bytes() == b"x\ny\n"


async def test_a_file_never_read_cannot_be_overwritten(context: Context, root: Path) -> None:
    (root / "a").write_text("precious\n")
    assert (await refused(context, "write_file", path="a", content="x", overwrite=True)).code == "STALE"
    assert (await refused(context, "write_file", path="a", content="x")).code == "STALE"
    assert (root / "a").read_text() == "precious\n"


async def test_a_partial_reading_is_not_enough(context: Context, root: Path) -> None:
    (root / "a").write_text("one\ntwo\n")
    await context.call("read_file", path="a", start_line=1, end_line=1)
    assert (await refused(context, "write_file", path="a", content="x", overwrite=True)).code == "STALE"


async def test_overwriting_must_be_meant(context: Context, root: Path) -> None:
    (root / "a").write_text("one\n")
    await context.call("read_file", path="a")
    failure = await refused(context, "write_file", path="a", content="x")
    assert "overwrite: true" in str(failure)


async def test_a_text_that_changed_since_the_reading_is_not_overwritten(context: Context, root: Path) -> None:
    (root / "a").write_text("one\n")
    document = context.editor.open(root / "a")
    await context.call("read_file", path="a")
    document.become("one and more\n")
    assert (await refused(context, "write_file", path="a", content="x", overwrite=True)).code == "STALE"
    assert document.text == "one and more\n"


async def test_a_text_that_changes_while_it_is_written_is_not_overwritten(
    context: Context, root: Path
) -> None:
    (root / "a").write_text("one\n")
    document = context.editor.open(root / "a")
    await context.call("read_file", path="a")
    context.editor.meanwhile = lambda: document.become("typed\n")
    assert (await refused(context, "write_file", path="a", content="x", overwrite=True)).code == "STALE"
    assert document.text == "typed\n"


async def test_a_whole_file_write_keeps_line_endings_and_one_bom(context: Context, root: Path) -> None:
    (root / "a").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    await context.call("read_file", path="a")
    await context.call("write_file", path="a", content="\ufeffone\nTWO\n", overwrite=True)
    assert (root / "a").read_bytes() == b"\xef\xbb\xbfone\r\nTWO\r\n"


async def test_writing_what_is_there_already_changes_nothing(context: Context, root: Path) -> None:
    (root / "a").write_bytes(b"one\r\n")
    outcome = await context.call("write_file", path="a", content="one\n")
    assert "already" in outcome.content
    assert context.editor.changes == []


async def test_a_file_that_appears_while_it_is_made_is_not_overwritten(context: Context, root: Path) -> None:
    context.editor.meanwhile = lambda: (root / "a").write_text("someone else's") and None
    assert (await refused(context, "write_file", path="a", content="x")).code == "STALE"
    assert (root / "a").read_text() == "someone else's"


async def test_a_folder_is_not_written(context: Context, root: Path) -> None:
    (root / "d").mkdir()
    assert "is a folder" in str(await refused(context, "write_file", path="d", content="x"))


async def test_a_rename_is_journalled_and_keeps_what_is_known(context: Context, root: Path) -> None:
    (root / "a").write_text("one\n")
    await context.call("read_file", path="a")
    outcome = await context.call("rename_path", path="a", new_path="sub/b")
    assert (root / "sub/b").read_text() == "one\n"
    assert not (root / "a").exists()
    planned, done = context.events
    assert isinstance(planned, EditPlanned)
    assert isinstance(done, EditApplied)
    assert (done.kind, done.new_uri) == ("rename", (root / "sub/b").as_uri())
    assert dict(outcome.seen) == {(root / "sub/b").as_uri(): digest("one\n")}


async def test_a_rename_overwrites_nothing(context: Context, root: Path) -> None:
    (root / "a").write_text("a")
    (root / "b").write_text("b")
    assert "exists already" in str(await refused(context, "rename_path", path="a", new_path="b"))
    assert (root / "b").read_text() == "b"


async def test_a_folder_cannot_move_into_itself_nor_a_root_at_all(context: Context, root: Path) -> None:
    (root / "d").mkdir()
    for path, new_path in (("d", "d/e"), (".", "x"), ("d", "d"), ("d", "d/")):
        failure = await refused(context, "rename_path", path=path, new_path=new_path)
        assert failure.code == "INVALID_ARGUMENTS"
    assert (await refused(context, "rename_path", path="q", new_path="r")).code == "NOT_FOUND"


async def test_a_rename_may_change_only_the_normalisation_form(context: Context, root: Path) -> None:
    (root / "u\u0308").write_text("x")
    await context.call("rename_path", path="ü", new_path="\u00fc")
    assert [entry.name for entry in root.iterdir()] == ["\u00fc"]


async def test_links_are_not_renamed_or_deleted_as_if_they_were_files(context: Context, root: Path) -> None:
    (root / "real").write_text("x")
    (root / "link").symlink_to("real")
    for name, arguments in (
        ("delete_path", {"path": "link"}),
        ("rename_path", {"path": "link", "new_path": "other"}),
    ):
        failure = await refused(context, name, **arguments)
        assert "is a link to real" in str(failure)
    assert (root / "real").exists()


async def test_a_deleted_text_is_in_the_journal(context: Context, root: Path) -> None:
    (root / "a").write_text("disk\n")
    context.editor.open(root / "a", "unsaved\n")
    await context.call("delete_path", path="a")
    assert not (root / "a").exists()
    done = context.events[-1]
    assert isinstance(done, EditApplied)
    assert (done.kind, done.after, done.removed) == ("delete", "", 1)
    assert context.blobs[done.before] == b"unsaved\n"


async def test_deleted_bytes_are_in_the_journal_too(context: Context, root: Path) -> None:
    (root / "a.png").write_bytes(b"\0\1\2")
    await context.call("delete_path", path="a.png")
    done = context.events[-1]
    assert isinstance(done, EditApplied)
    assert context.blobs[done.before] == b"\0\1\2"


async def test_a_folder_with_content_is_destructive_and_each_file_is_journalled(
    context: Context, root: Path
) -> None:
    (root / "d" / "sub").mkdir(parents=True)
    (root / "d" / "a").write_text("1")
    (root / "d" / "sub" / "b").write_text("2")
    (root / "outside").write_text("kept")
    (root / "d" / "link").symlink_to(root / "outside")
    permit = context.permit("delete_path", path="d")
    assert isinstance(permit, Ask)
    assert (permit.risk, permit.remember) == ("destructive", None)
    assert "2 files" in permit.detail
    await context.call("delete_path", path="d")
    assert not (root / "d").exists()
    assert (root / "outside").read_text() == "kept"
    deleted = {e.uri: context.blobs[e.before] for e in context.events if isinstance(e, EditApplied)}
    assert deleted == {(root / "d/a").as_uri(): b"1", (root / "d/sub/b").as_uri(): b"2"}


async def test_what_is_too_much_for_the_journal_is_asked_about(context: Context, root: Path) -> None:
    (root / "big").write_bytes(b"x" * (9 * 1024 * 1024))
    permit = context.permit("delete_path", path="big")
    assert isinstance(permit, Ask)
    assert "cannot be undone" in permit.detail


def test_an_empty_folder_or_a_file_is_deleted_without_asking(context: Context, root: Path) -> None:
    (root / "d").mkdir()
    (root / "f").write_text("x")
    assert isinstance(context.permit("delete_path", path="d"), Allow)
    assert isinstance(context.permit("delete_path", path="f"), Allow)
    assert isinstance(context.permit("delete_path", path="../f"), Refuse)


async def test_a_workspace_folder_is_not_deleted(context: Context) -> None:
    assert (await refused(context, "delete_path", path=".")).code == "INVALID_ARGUMENTS"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("rename_path", {"path": "a", "new_path": "b"}), ("delete_path", {"path": "a"})],
)
async def test_a_refusing_editor_is_told_and_nothing_is_recorded_as_done(
    context: Context, root: Path, name: str, arguments: dict[str, str]
) -> None:
    (root / "a").write_text("x")
    context.editor.mood = "refuses"
    assert (await refused(context, name, **arguments)).code == "REFUSED_BY_EDITOR"
    assert [type(event) for event in context.events] == [EditPlanned]
