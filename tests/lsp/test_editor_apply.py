"""Edits through the client: what is told is what the editor or the disk shows, never what was promised."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from steersman.domain.digest import digest
from steersman.errors import ToolFailed
from steersman.lsp import disk, workspace_edit
from steersman.lsp.abilities import ClientAbilities
from steersman.lsp.documents import OpenDocuments
from steersman.lsp.editor import LspEditor
from steersman.lsp.folders import WorkspaceFolders
from steersman.lsp.positions import PositionEncoding
from steersman.ports.editor import (
    Applied,
    CreateFile,
    DeletePath,
    Document,
    EditorPort,
    EditText,
    RenamePath,
    Replacement,
)
from tests.lsp.fake_editor import FakeEditor, offset_of

APPLY = "workspace/applyEdit"
SAVE = "steersman/document/save"
FULL = ClientAbilities(
    apply_edit=True,
    document_changes=True,
    resource_operations=frozenset({"create", "rename", "delete"}),
    speaks_extension=True,
)


class House:
    """A folder, a client with an editor, and the server's view of it."""

    def __init__(self, root: Path, abilities: ClientAbilities, encoding: PositionEncoding = "utf-16") -> None:
        self.root = root
        self.documents = OpenDocuments(encoding)
        self.client = FakeEditor(self.documents)
        params = types.InitializeParams(capabilities=types.ClientCapabilities(), root_uri=root.as_uri())
        self.editor = LspEditor(
            self.client,
            self.documents,
            WorkspaceFolders(params),
            msgspec.structs.replace(abilities, encoding=encoding),
            request_timeout_seconds=0.3,
            settle_seconds=0.4,
        )

    def uri(self, name: str) -> str:
        return (self.root / name).as_uri()

    def write(self, name: str, text: str) -> Path:
        (self.root / name).write_bytes(text.encode())
        return self.root / name

    async def change(self, name: str, old: str, new: str) -> EditText:
        """An edit that replaces `old` by `new`, for the document as it is read now."""
        document = await self.editor.read(self.root / name)
        assert document is not None
        start = document.text.index(old)
        return edit_of(document, Replacement(start=start, end=start + len(old), new_text=new))

    async def edit(self, name: str, old: str, new: str) -> Applied:
        return await self.editor.apply("edit", await self.change(name, old, new))


def edit_of(document: Document, *replacements: Replacement) -> EditText:
    expected = workspace_edit.spliced(document.text, replacements)
    return EditText(document=document, replacements=replacements, expected=expected)


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path, FULL)


def test_it_is_an_editor_port(house: House) -> None:
    port: EditorPort = house.editor
    assert port.folders()[0].path == house.root


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
async def test_text_behind_an_emoji_is_edited_where_it_stands(
    tmp_path: Path, encoding: PositionEncoding
) -> None:
    house = House(tmp_path, FULL, encoding)
    house.client.open(house.uri("a.py"), 'x = "😀e\u0301漢🇩🇪" + tail\r\nnext = "👩‍👩‍👧" + end\r\n')
    assert await house.edit("a.py", "tail", "head") == Applied(
        status="applied", text=house.client.buffers[house.uri("a.py")].text
    )
    assert (await house.edit("a.py", "end\r\n", "END")).status == "applied"
    assert (await house.edit("a.py", "😀", "")).status == "applied"
    assert house.client.buffers[house.uri("a.py")].text == 'x = "e\u0301漢🇩🇪" + head\r\nnext = "👩‍👩‍👧" + END'


async def test_unsaved_text_is_read_and_edited_in_one_versioned_undo_step(house: House) -> None:
    house.write("a.py", "disk\n")
    house.client.open(house.uri("a.py"), "unsaved one\ntwo\n", version=7)
    document = await house.editor.read(house.root / "a.py")
    assert document is not None
    assert (document.text, document.version, document.uri) == ("unsaved one\ntwo\n", 7, house.uri("a.py"))
    edits = [Replacement(start=0, end=7, new_text="mine"), Replacement(start=12, end=15, new_text="2")]
    assert (await house.editor.apply("improve", edit_of(document, *edits))).status == "applied"
    [(method, params)] = house.client.calls
    assert method == APPLY
    assert params["label"] == "Steersman: improve"
    [operation] = params["edit"]["documentChanges"]
    assert operation["textDocument"] == {"uri": house.uri("a.py"), "version": 7}
    assert house.client.buffers[house.uri("a.py")].text == "mine one\n2\n"
    assert (house.root / "a.py").read_text() == "disk\n"


async def test_a_client_without_document_changes_gets_plain_changes(tmp_path: Path) -> None:
    house = House(tmp_path, ClientAbilities(apply_edit=True))
    house.client.open(house.uri("a.py"), "one\n")
    assert (await house.edit("a.py", "one", "two")).status == "applied"
    assert list(house.client.calls[0][1]["edit"]) == ["changes"]


async def test_an_edit_for_a_text_that_is_no_more_is_stale_and_is_not_sent(house: House) -> None:
    house.client.open(house.uri("a.py"), "one\n")
    change = await house.change("a.py", "one", "two")
    house.client.type(house.uri("a.py"), 0, 0, "typed ")
    result = await house.editor.apply("edit", change)
    assert (result.status, result.text) == ("stale", "typed one\n")
    assert house.client.calls == []


async def test_words_typed_while_the_edit_is_on_its_way_survive(house: House) -> None:
    house.client.open(house.uri("a.py"), "one\n")

    async def types_first(params: dict[str, Any]) -> Any:
        house.client.type(house.uri("a.py"), 0, 0, "typed ")
        return await house.client._workspace_applyEdit(params)

    house.client.answers[APPLY] = types_first
    result = await house.edit("a.py", "one", "two")
    assert (result.status, result.text) == ("stale", "typed one\n")


async def test_words_typed_right_after_the_edit_do_not_hide_that_it_was_applied(house: House) -> None:
    house.client.open(house.uri("a.py"), "one\n")

    async def types_after(params: dict[str, Any]) -> Any:
        answer = await house.client._workspace_applyEdit(params)
        house.client.type(house.uri("a.py"), 0, 0, "typed ")
        return answer

    house.client.answers[APPLY] = types_after
    assert await house.edit("a.py", "one", "two") == Applied(status="applied", text="two\n")


async def test_a_notification_that_comes_after_the_answer_in_pieces_is_waited_for(house: House) -> None:
    house.client.open(house.uri("a.py"), "one\n")
    later: list[asyncio.TimerHandle] = []

    async def debounced(_: dict[str, Any]) -> Any:
        loop = asyncio.get_running_loop()
        later.append(loop.call_later(0.05, house.client.set_text, house.uri("a.py"), "t\n"))
        later.append(loop.call_later(0.15, house.client.set_text, house.uri("a.py"), "two\n"))
        return {"applied": True}

    house.client.answers[APPLY] = debounced
    assert (await house.edit("a.py", "one", "two")).status == "applied"


async def test_a_formatter_makes_it_applied_differently_with_the_actual_text(house: House) -> None:
    house.client.open(house.uri("a.py"), "one\n")

    async def formats(params: dict[str, Any]) -> Any:
        house.client.set_text(house.uri("a.py"), "TWO\n")
        return {"applied": True}

    house.client.answers[APPLY] = formats
    result = await house.edit("a.py", "one", "two")
    assert (result.status, result.text) == ("applied-differently", "TWO\n")


@pytest.mark.parametrize(
    ("answer", "status", "reason"),
    [
        ({"applied": True}, "lost", "did not change"),
        ({"applied": False, "failureReason": "read only"}, "refused", "read only"),
        ({"applied": False}, "refused", "refused"),
        ({"applied": False, "failureReason": 5}, "refused", "refused"),
        (RuntimeError("-32603: boom"), "refused", "boom"),
        (RuntimeError("-32601: no method"), "refused", "no method"),
        (TimeoutError(), "unknown", "did not answer"),
        ({"applied": "yes"}, "unknown", "no usable answer"),
        (None, "unknown", "no usable answer"),
        ([], "unknown", "no usable answer"),
    ],
)
@pytest.mark.parametrize("opened", [True, False])
async def test_an_edit_that_changed_nothing_is_never_a_success(
    house: House, answer: object, status: str, reason: str, opened: bool
) -> None:
    house.write("a.py", "one\n")
    if opened:
        house.client.open(house.uri("a.py"), "one\n")
    elif status == "lost":
        status, reason = "unknown", "neither a notification nor the disk"
    house.client.answer(APPLY, answer)
    result = await house.edit("a.py", "one", "two")
    assert result.status == status
    assert reason in (result.reason or "")
    document = await house.editor.read(house.root / "a.py")
    assert document is not None
    assert document.text == "one\n"


@pytest.mark.parametrize("answer", [TimeoutError(), RuntimeError("boom"), {"applied": False}, None])
async def test_an_edit_that_happened_is_a_success_whatever_the_answer_says(
    house: House, answer: object
) -> None:
    house.client.open(house.uri("a.py"), "one\n")

    async def applies_and_lies(params: dict[str, Any]) -> Any:
        await house.client._workspace_applyEdit(params)
        if isinstance(answer, Exception):
            raise answer
        return answer

    house.client.answers[APPLY] = applies_and_lies
    assert (await house.edit("a.py", "one", "two")).status == "applied"


async def test_a_client_that_never_answers_gives_unknown_and_the_next_edit_goes_on(house: House) -> None:
    house.client.open(house.uri("a.py"), "one\n")

    async def never(_: dict[str, Any]) -> Any:
        await asyncio.Event().wait()

    house.client.answers[APPLY] = never
    assert (await house.edit("a.py", "one", "two")).status == "unknown"
    del house.client.answers[APPLY]
    assert (await house.edit("a.py", "one", "two")).status == "applied"


async def test_edits_are_never_in_flight_together(house: House) -> None:
    house.client.open(house.uri("a.py"), "one two\n")
    house.client.open(house.uri("b.py"), "one two\n")
    flying = most = 0

    async def slow(params: dict[str, Any]) -> Any:
        nonlocal flying, most
        flying += 1
        most = max(most, flying)
        await asyncio.sleep(0)
        answer = await house.client._workspace_applyEdit(params)
        flying -= 1
        return answer

    house.client.answers[APPLY] = slow
    same = await house.change("a.py", "one", "1"), await house.change("a.py", "two", "2")
    other = await house.change("b.py", "two", "2")
    results = await asyncio.gather(*(house.editor.apply("e", change) for change in (*same, other)))
    assert [result.status for result in results] == ["applied", "stale", "applied"]
    assert most == 1


async def test_a_cancelled_edit_frees_the_way(house: House) -> None:
    house.client.open(house.uri("a.py"), "one\n")
    started = asyncio.Event()

    async def never(_: dict[str, Any]) -> Any:
        started.set()
        await asyncio.Event().wait()

    house.client.answers[APPLY] = never
    task = asyncio.create_task(house.edit("a.py", "one", "two"))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    del house.client.answers[APPLY]
    assert (await house.edit("a.py", "one", "two")).status == "applied"


async def test_an_edit_that_changes_nothing_asks_nobody(house: House) -> None:
    house.client.open(house.uri("a.py"), "one\n")
    assert await house.edit("a.py", "one", "one") == Applied(status="applied", text="one\n")
    assert house.client.calls == []


async def test_replacements_that_do_not_lead_to_the_expected_text_are_a_defect_of_the_caller(
    house: House,
) -> None:
    house.client.open(house.uri("a.py"), "one\n")
    change = await house.change("a.py", "one", "two")
    with pytest.raises(ValueError, match="expected"):
        await house.editor.apply("edit", msgspec.structs.replace(change, expected="other"))
    assert house.client.calls == []


async def test_a_mark_that_the_client_counts_shifts_nothing(house: House) -> None:
    house.client.open(house.uri("a.py"), "\ufeffimport os\r\nx\r\n")
    document = await house.editor.read(house.root / "a.py")
    assert document is not None
    assert (document.text, document.bom) == ("import os\r\nx\r\n", True)
    assert await house.edit("a.py", "import", "from") == Applied(status="applied", text="from os\r\nx\r\n")
    assert house.client.buffers[house.uri("a.py")].text == "\ufefffrom os\r\nx\r\n"


@given(
    st.lists(st.sampled_from(["a", "😀", "\r\n", "\r", "\n", "é"]), max_size=8).map("".join),
    st.data(),
)
def test_any_replacements_become_edits_that_a_client_can_place(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), min_size=2, max_size=6)))
    new = st.sampled_from(["", "x", "\n", "\r", "\r\n😀"])
    replacements = [
        Replacement(start=a, end=b, new_text=data.draw(new))
        for a, b in zip(cuts[::2], cuts[1::2], strict=False)
    ]
    document = Document(path=Path("/a"), uri="file:///a", text=text, version=1, digest=digest(text))
    edits = workspace_edit.text_edits(document, replacements, "utf-16")
    result = text
    for edit in reversed(edits):
        start, end = (offset_of(text, edit["range"][side], "utf-16") for side in ("start", "end"))
        result = result[:start] + edit["newText"] + result[end:]
    assert result == workspace_edit.spliced(text, replacements)


# Closed files.


async def test_a_closed_file_that_the_client_opens_for_the_edit_is_verified_by_its_buffer(
    house: House,
) -> None:
    path = house.write("a.py", "one\n")
    assert await house.edit("a.py", "one", "two") == Applied(status="applied", text="two\n")
    assert path.read_text() == "one\n"
    assert house.editor.unsaved() == (path,)
    [operation] = house.client.calls[0][1]["edit"]["documentChanges"]
    assert operation["textDocument"] == {"uri": house.uri("a.py"), "version": None}


async def test_a_closed_file_that_the_client_writes_is_verified_by_the_disk(house: House) -> None:
    path = house.write("a.py", "one\n")

    async def writes(_: dict[str, Any]) -> Any:
        path.write_text("two\n")
        return {"applied": True}

    house.client.answers[APPLY] = writes
    assert (await house.edit("a.py", "one", "two")).status == "applied"


async def test_a_buffer_that_the_client_does_not_tell_of_is_saved_to_be_seen(tmp_path: Path) -> None:
    house = House(tmp_path, msgspec.structs.replace(FULL, extension=frozenset({"save"})))
    path = house.write("a.py", "one\n")

    async def saves(params: dict[str, Any]) -> Any:
        path.write_text("two\n")
        return {"saved": params["uris"]}

    house.client.answer(APPLY, {"applied": True})
    house.client.answers[SAVE] = saves
    assert (await house.edit("a.py", "one", "two")).status == "applied"
    assert house.client.calls[-1] == (SAVE, {"uris": [house.uri("a.py")]})


async def test_a_closed_file_that_changed_on_the_disk_is_stale(house: House) -> None:
    path = house.write("a.py", "one\n")
    change = await house.change("a.py", "one", "two")
    path.write_text("ONE\n")
    result = await house.editor.apply("edit", change)
    assert (result.status, result.text) == ("stale", "ONE\n")
    path.unlink()
    assert (await house.editor.apply("edit", change)).status == "stale"
    assert house.client.calls == []


async def test_a_closed_file_that_is_written_in_the_moment_of_the_check_is_stale(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = house.write("a.py", "one\n")
    change = await house.change("a.py", "one", "two")
    read_text = disk.read_text

    def is_written_then(read: Path) -> disk.DiskText | None:
        found = read_text(read)
        path.write_text("ala\n")
        return found

    monkeypatch.setattr(disk, "read_text", is_written_then)
    assert (await house.editor.apply("edit", change)).status == "stale"
    assert house.client.calls == []


async def test_a_file_that_was_opened_since_it_was_read_is_edited_in_the_editor(house: House) -> None:
    house.write("a.py", "one\n")
    change = await house.change("a.py", "one", "two")
    house.client.open(house.uri("a.py"), "one\n", version=3)
    assert (await house.editor.apply("edit", change)).status == "applied"
    [operation] = house.client.calls[0][1]["edit"]["documentChanges"]
    assert operation["textDocument"]["version"] == 3


async def test_a_write_protected_closed_file_is_refused_before_the_client_is_asked(house: House) -> None:
    house.write("a.py", "one\n").chmod(0o444)
    result = await house.edit("a.py", "one", "two")
    assert (result.status, result.reason) == ("refused", "it is write-protected")
    assert house.client.calls == []


async def test_one_file_open_under_two_names_with_different_texts_is_not_edited(house: House) -> None:
    path = house.write("a.py", "one\n")
    (house.root / "link.py").symlink_to(path)
    house.client.open(house.uri("a.py"), "one\n")
    house.client.open(house.uri("link.py"), "one\n")
    assert (await house.edit("a.py", "one", "two")).status == "applied"
    result = await house.edit("a.py", "two", "three")
    assert result.status == "refused"
    assert "two names" in (result.reason or "")


async def test_without_apply_edit_closed_files_are_written_and_open_ones_refused(tmp_path: Path) -> None:
    house = House(tmp_path, ClientAbilities())
    path = tmp_path / "a.py"
    path.write_bytes(b"\xef\xbb\xbfone\r\nend")
    assert (await house.edit("a.py", "one", "two")).status == "applied"
    assert path.read_bytes() == b"\xef\xbb\xbftwo\r\nend"
    change = await house.change("a.py", "two", "three")
    path.write_text("changed")
    assert (await house.editor.apply("edit", change)).status == "stale"
    house.client.open(house.uri("a.py"), "changed")
    result = await house.edit("a.py", "changed", "mine")
    assert result.status == "refused"
    assert "close it first" in (result.reason or "")
    assert house.client.calls == []


async def test_reading_tells_what_is_there(house: House) -> None:
    assert await house.editor.read(house.root / "none") is None
    with pytest.raises(ToolFailed, match="folder"):
        await house.editor.read(house.root)
    house.write("a b#.py", "x")
    document = await house.editor.read(house.root / "a b#.py")
    assert document is not None
    assert (document.uri, document.version, document.is_open) == (house.uri("a b#.py"), None, False)


# Creating, renaming, deleting.


@pytest.mark.parametrize("abilities", [FULL, ClientAbilities(), ClientAbilities(apply_edit=True)])
@pytest.mark.parametrize("text", ["", "text\n"])
async def test_a_file_is_created_by_every_kind_of_client(
    tmp_path: Path, abilities: ClientAbilities, text: str
) -> None:
    house = House(tmp_path, abilities)
    path = tmp_path / "new" / "a.py"
    result = await house.editor.apply("create", CreateFile(path=path, text=text))
    assert result == Applied(status="applied", text=text)
    document = await house.editor.read(path)
    assert document is not None
    assert document.text == text
    assert (await house.editor.apply("create", CreateFile(path=path, text=text))).status == "stale"


async def test_a_created_file_whose_text_stays_in_a_hidden_buffer_is_unknown(house: House) -> None:
    path = house.root / "a.py"

    async def hides(_: dict[str, Any]) -> Any:
        path.touch()
        return {"applied": True}

    house.client.answers[APPLY] = hides
    assert (await house.editor.apply("create", CreateFile(path=path, text="text"))).status == "unknown"


async def test_a_new_file_that_is_open_but_not_saved_is_not_created_over(house: House) -> None:
    house.client.open(house.uri("a.py"), "draft")
    result = await house.editor.apply("create", CreateFile(path=house.root / "a.py", text="text"))
    assert result.status == "stale"


@pytest.mark.parametrize("abilities", [FULL, ClientAbilities(), ClientAbilities(apply_edit=True)])
async def test_files_are_renamed_and_deleted_by_every_kind_of_client(
    tmp_path: Path, abilities: ClientAbilities
) -> None:
    house = House(tmp_path, abilities)
    path, new_path = house.write("a.py", "a"), tmp_path / "b.py"
    rename, delete = RenamePath(path=path, new_path=new_path), DeletePath(path=new_path)
    assert (await house.editor.apply("r", rename)).status == "applied"
    assert new_path.read_text() == "a"
    assert (await house.editor.apply("r", rename)).status == "stale"
    house.write("a.py", "again")
    assert (await house.editor.apply("r", rename)).status == "stale"
    assert (await house.editor.apply("d", delete)).status == "applied"
    assert not new_path.exists()
    assert (await house.editor.apply("d", delete)).status == "stale"


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ({"applied": True}, "lost"),
        ({"applied": False, "failureReason": "no"}, "refused"),
        (RuntimeError("boom"), "refused"),
        (TimeoutError(), "unknown"),
        ("nonsense", "unknown"),
    ],
)
async def test_a_rename_or_delete_that_did_nothing_is_no_success(
    house: House, answer: object, status: str
) -> None:
    path = house.write("a.py", "a")
    house.client.answer(APPLY, answer)
    rename = RenamePath(path=path, new_path=house.root / "b.py")
    assert (await house.editor.apply("r", rename)).status == status
    assert (await house.editor.apply("d", DeletePath(path=path))).status == status


async def test_half_a_rename_is_unknown(house: House) -> None:
    path = house.write("a.py", "a")

    async def copies(_: dict[str, Any]) -> Any:
        shutil.copy(path, house.root / "b.py")
        return {"applied": True}

    house.client.answers[APPLY] = copies
    result = await house.editor.apply("r", RenamePath(path=path, new_path=house.root / "b.py"))
    assert result.status == "unknown"


async def test_open_files_are_not_renamed_or_deleted_behind_the_editors_back(tmp_path: Path) -> None:
    house = House(tmp_path, ClientAbilities(apply_edit=True))
    (tmp_path / "pkg").mkdir()
    house.write("pkg/a.py", "a")
    house.client.open(house.uri("pkg/a.py"), "a")
    rename = RenamePath(path=tmp_path / "pkg", new_path=tmp_path / "other")
    assert (await house.editor.apply("r", rename)).status == "refused"
    assert (await house.editor.apply("d", DeletePath(path=tmp_path / "pkg"))).status == "refused"
    assert (tmp_path / "pkg" / "a.py").exists()


async def test_unsaved_text_is_not_deleted_with_its_file(house: House) -> None:
    path = house.write("a.py", "a")
    house.client.open(house.uri("a.py"), "a and more")
    result = await house.editor.apply("d", DeletePath(path=path))
    assert (result.status, result.reason) == ("refused", "it has unsaved changes in the editor")


async def test_a_folder_that_was_swapped_for_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "w" / "pkg").mkdir(parents=True)
    house = House(tmp_path / "w", ClientAbilities())
    house.write("pkg/a.py", "one\n")
    change = await house.change("pkg/a.py", "one", "two")
    (tmp_path / "w" / "pkg").rename(tmp_path / "w" / "old")
    (tmp_path / "w" / "pkg").symlink_to(tmp_path / "outside")
    (tmp_path / "outside" / "a.py").write_text("one\n")
    for each in (
        change,
        CreateFile(path=house.root / "pkg" / "new.py", text="x"),
        RenamePath(path=house.root / "old" / "a.py", new_path=house.root / "pkg" / "b.py"),
        DeletePath(path=house.root / "pkg" / "a.py"),
    ):
        assert (await house.editor.apply("e", each)).status == "stale"
    assert [entry.name for entry in (tmp_path / "outside").iterdir()] == ["a.py"]
    assert (tmp_path / "outside" / "a.py").read_text() == "one\n"


# Unsaved documents and saving.


def test_unsaved_is_what_differs_from_the_disk(house: House) -> None:
    a, b = house.write("a.py", "a\nb\r\n"), house.write("b.py", "b")
    house.client.open(house.uri("a.py"), "a\nb\n")  # made uniform on loading: not a change
    house.client.open(house.uri("b.py"), "b")
    house.client.open(house.uri("new.py"), "new")
    house.client.open("untitled:1", "words")
    assert house.editor.unsaved() == (house.root / "new.py",)
    house.client.type(house.uri("b.py"), 0, 0, "x")
    assert house.editor.unsaved() == (b, house.root / "new.py")
    house.client.save(house.uri("b.py"), b)
    a.write_text("changed by another program")
    assert house.editor.unsaved() == (a, house.root / "new.py")


def test_a_file_that_is_no_utf_8_is_unsaved_once_it_was_typed_in(house: House) -> None:
    path = house.root / "a.txt"
    path.write_bytes(b"\xe9")
    house.client.open(house.uri("a.txt"), "é")
    assert house.editor.unsaved() == ()
    house.client.type(house.uri("a.txt"), 0, 0, "x")
    assert house.editor.unsaved() == (path,)


async def test_saving_believes_only_what_was_asked_and_told(tmp_path: Path) -> None:
    house = House(tmp_path, msgspec.structs.replace(FULL, extension=frozenset({"save"})))
    paths = (house.write("a b.py", "a"), house.write("b.py", "b"))
    spelled = house.uri("a b.py").replace("a%20b", "%61 b")
    house.client.answer(SAVE, {"saved": [spelled, house.uri("c.py"), 7, "untitled:1"]})
    assert await house.editor.save(paths) == (paths[0],)
    for nonsense in (None, [], {"saved": None}, {"saved": 3}, RuntimeError("no"), TimeoutError()):
        house.client.answer(SAVE, nonsense)
        assert await house.editor.save(paths) == ()
    assert await house.editor.save(()) == ()


async def test_a_client_that_offers_no_saving_is_not_asked(house: House) -> None:
    assert await house.editor.save((house.root / "a.py",)) == ()
    assert house.client.calls == []
