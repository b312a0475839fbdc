"""read_file and read_result: what the editor holds, numbered; what is left out is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from steersman.domain.digest import digest
from steersman.domain.settings import ContextSettings, Settings
from steersman.errors import ToolFailed
from steersman.tools.outcome import bounded, excerpt
from tests.unit.tools.context import Context


def small(root: Path, limit: int = 1200) -> Context:
    return Context(root, settings=Settings(context=ContextSettings(result_limit_bytes=limit)))


async def test_a_whole_file_is_numbered_and_known_then(context: Context, root: Path) -> None:
    (root / "a").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    outcome = await context.call("read_file", path="a")
    assert outcome.content == "1|one\n2|two"
    assert dict(outcome.seen) == {(root / "a").as_uri(): digest("one\r\ntwo\r\n")}


async def test_an_open_document_is_read_as_it_stands_in_the_editor(context: Context, root: Path) -> None:
    (root / "a").write_text("disk\n")
    context.editor.open(root / "a", "unsaved\n")
    outcome = await context.call("read_file", path="a")
    assert outcome.content.startswith("1|unsaved\n")
    assert dict(outcome.seen) == {(root / "a").as_uri(): digest("unsaved\n")}


async def test_a_range_is_shown_and_does_not_make_the_file_known(context: Context, root: Path) -> None:
    (root / "a").write_text("1\n2\n3\n4\n")
    outcome = await context.call("read_file", path="a", start_line=2, end_line=3)
    assert outcome.content == "2|2\n3|3\n[lines 2 to 3 of 4]"
    assert outcome.seen == {}
    whole = await context.call("read_file", path="a", start_line=1, end_line=99)
    assert whole.seen


@pytest.mark.parametrize(("start", "end"), [(5, None), (3, 2), (5, 9)])
async def test_an_impossible_range_is_refused_with_the_number_of_lines(
    context: Context, root: Path, start: int, end: int | None
) -> None:
    (root / "a").write_text("1\n2\n3\n4\n")
    with pytest.raises(ToolFailed, match="has 4 lines"):
        await context.call("read_file", path="a", start_line=start, end_line=end)


async def test_an_empty_file_and_a_missing_final_newline_are_said(context: Context, root: Path) -> None:
    (root / "empty").write_text("")
    (root / "open").write_text("x")
    assert (await context.call("read_file", path="empty")).content == "empty is empty."
    assert "no newline at the end" in (await context.call("read_file", path="open")).content


async def test_a_long_file_is_cut_between_lines_and_says_how_to_go_on(root: Path) -> None:
    context = small(root)
    (root / "a").write_text("".join(f"line {n}\n" for n in range(1, 501)))
    outcome = await context.call("read_file", path="a")
    assert len(outcome.content.encode()) <= 1200
    assert outcome.seen == {}
    assert outcome.verified is not None
    assert not outcome.verified.ok
    following = int(outcome.content.rpartition("start_line ")[2].removesuffix("]"))
    last = outcome.content.split("\n")[-2]
    assert last == f"{following - 1}|line {following - 1}"
    assert context.blobs == {}


async def test_one_endless_line_is_cut_and_said(context: Context, root: Path) -> None:
    (root / "a").write_text("x" * 2_000_000 + "\n")
    outcome = await context.call("read_file", path="a")
    assert len(outcome.content) < 3000
    assert "line 1 is cut" in outcome.content
    assert outcome.seen == {}


async def test_a_binary_file_a_folder_and_a_missing_file_are_clear_errors(
    context: Context, root: Path
) -> None:
    (root / "b").write_bytes(b"\0")
    (root / "d").mkdir()
    for path, words in (("b", "not text"), ("d", "is a folder"), ("no/x", "nor does its folder")):
        with pytest.raises(ToolFailed, match=words):
            await context.call("read_file", path=path)


async def test_a_long_result_is_stored_whole_and_read_page_by_page(root: Path) -> None:
    context = small(root)
    text = "".join(f"line {n} 😀\n" for n in range(400))
    shown, whole = await bounded(text, context)
    assert not whole
    assert len(shown.encode()) < 1600
    assert shown.startswith("line 0")
    assert shown.endswith("line 399 😀\n")
    handle = digest(text)
    assert handle in shown
    pages, offset = "", 0
    while offset < len(text):
        page = (await context.call("read_result", handle=handle, offset=offset)).content
        assert len(page.encode()) <= 1200
        body = page.rpartition("\n[characters ")[0]
        pages += body
        offset += len(body)
    assert pages == text
    with pytest.raises(ToolFailed, match="ends at offset"):
        await context.call("read_result", handle=handle, offset=len(text))
    with pytest.raises(ToolFailed, match="no result has this handle"):
        await context.call("read_result", handle="nonsense")


async def test_failures_in_the_middle_survive_the_cut() -> None:
    noise = "all is well\n" * 2000
    text = f"{noise}FAILED tests/test_x.py::test_y - AssertionError\n{noise}"
    shown = excerpt(text, 4000, "h" * 64)
    assert "FAILED tests/test_x.py::test_y" in shown
    assert len(shown.encode()) < 4400


async def test_a_short_result_is_shown_as_it_is(context: Context) -> None:
    assert await bounded("all\n", context) == ("all\n", True)
    assert context.blobs == {}


async def test_what_is_stored_of_a_long_result_is_masked(root: Path) -> None:
    context = small(root)
    await bounded("x\n" * 1000 + "API_KEY=abcdefghijklm\n" + "x\n" * 1000, context)
    assert context.blobs
    assert all(b"abcdefghijklm" not in blob for blob in context.blobs.values())


async def test_a_lone_surrogate_never_leaves_a_tool(context: Context) -> None:
    shown, _ = await bounded("a\ud800b", context)
    assert shown.encode().startswith(b"a")


async def test_error_messages_are_masked_too(context: Context, root: Path) -> None:
    (root / "a").write_text("API_KEY=abcdefghijk\nsome other line here\n")
    with pytest.raises(ToolFailed) as caught:
        await context.call(
            "edit_file", path="a", edits=[{"old_text": "some other line hear", "new_text": "x"}]
        )
    assert "⟦masked⟧" in str(caught.value)
    assert "abcdefghijk" not in str(caught.value)


async def test_the_workspace_folders_own_name_in_front_is_understood(context: Context, root: Path) -> None:
    (root / "a").write_text("x\n")
    with pytest.raises(ToolFailed, match=r"did you mean a\?"):
        await context.call("read_file", path=f"{root.name}/a")
