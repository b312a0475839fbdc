"""edit_file: the live text is edited, the log is written first, and what is told is what is true."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steersman.domain.digest import digest
from steersman.domain.events import EditApplied, EditPlanned
from steersman.domain.settings import PermissionSettings, Settings
from steersman.errors import ToolFailed
from steersman.tools.base import Ask, Refuse
from tests.unit.tools.context import Context


async def refused(context: Context, name: str, **arguments: object) -> ToolFailed:
    with pytest.raises(ToolFailed) as caught:
        await context.call(name, **arguments)
    return caught.value


def edits(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"old_text": old, "new_text": new} for old, new in pairs]


async def test_a_closed_file_is_edited_and_its_text_is_told(context: Context, root: Path) -> None:
    (root / "a.py").write_text("one\ntwo\nthree\n")
    outcome = await context.call("edit_file", path="a.py", edits=edits(("two", "2")))
    assert (root / "a.py").read_text() == "one\n2\nthree\n"
    assert "1|one\n2|2\n3|three" in outcome.content
    assert outcome.verified is not None
    assert outcome.verified.ok


async def test_the_plan_is_in_the_log_before_the_editor_is_asked_and_the_outcome_after(
    context: Context, root: Path
) -> None:
    (root / "a").write_text("one\n")
    await context.call("edit_file", path="a", edits=edits(("one", "1\n2")))
    (planned, asked_before), (done, asked_after) = context.recorded
    assert isinstance(planned, EditPlanned)
    assert isinstance(done, EditApplied)
    assert (asked_before, asked_after) == (0, 1)
    assert (planned.before, planned.after) == (digest("one\n"), digest("1\n2\n"))
    assert (done.change_id, done.after, done.added, done.removed) == (planned.change_id, planned.after, 2, 1)
    assert context.blobs[planned.before] == b"one\n"
    assert context.blobs[planned.after] == b"1\n2\n"


async def test_unsaved_text_is_edited_and_the_disk_is_left_alone(context: Context, root: Path) -> None:
    (root / "a").write_text("disk\n")
    document = context.editor.open(root / "a", "unsaved\nline\n")
    await context.call("edit_file", path="a", edits=edits(("line", "LINE")))
    assert document.text == "unsaved\nLINE\n"
    assert (root / "a").read_text() == "disk\n"


async def test_line_endings_bom_mode_and_missing_final_newline_stay(context: Context, root: Path) -> None:
    file = root / "run.bat"
    file.write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n\xef\xbb\xbfthree")
    file.chmod(0o755)
    await context.call("edit_file", path="run.bat", edits=edits(("one\ntwo\n", "one\nnew\ntwo\n")))
    assert file.read_bytes() == b"\xef\xbb\xbfone\r\nnew\r\ntwo\r\n\xef\xbb\xbfthree"
    assert stat.S_IMODE(file.stat().st_mode) == 0o755


async def test_an_edit_of_a_file_that_changed_since_it_was_read_applies_and_says_so(
    context: Context, root: Path
) -> None:
    (root / "a").write_text("one\ntwo\n")
    await context.call("read_file", path="a")
    (root / "a").write_text("ONE\ntwo\n")
    outcome = await context.call("edit_file", path="a", edits=edits(("two", "2")))
    assert (root / "a").read_text() == "ONE\n2\n"
    assert "changed since you read it" in outcome.content


async def test_what_others_changed_is_shown_where_it_is_known(context: Context, root: Path) -> None:
    (root / "a").write_text("one\ntwo\nthree\n")
    await context.call("read_file", path="a")
    await context.call("edit_file", path="a", edits=edits(("two", "2")))
    (root / "a").write_text("ONE\n2\nthree\n")
    outcome = await context.call("edit_file", path="a", edits=edits(("three", "3")))
    assert "-one\n+ONE" in outcome.content


async def test_an_edit_whose_place_changed_since_the_reading_is_stale(context: Context, root: Path) -> None:
    (root / "a").write_text("one\n")
    await context.call("read_file", path="a")
    (root / "a").write_text("two\n")
    assert (await refused(context, "edit_file", path="a", edits=edits(("one", "1")))).code == "STALE"
    assert (await refused(context, "edit_file", path="a", edits=edits(("q", "1")))).code == "STALE"
    assert (root / "a").read_text() == "two\n"


async def test_a_text_that_changes_while_the_plan_is_stored_is_matched_anew(
    context: Context, root: Path
) -> None:
    document = context.editor.open(root / "a", "one\ntwo\n")
    context.editor.meanwhile = lambda: document.become("typed\none\ntwo\n")
    outcome = await context.call("edit_file", path="a", edits=edits(("two", "2")))
    assert document.text == "typed\none\n2\n"
    assert "3|2" in outcome.content
    assert [type(event) for event in context.events] == [EditPlanned, EditPlanned, EditApplied]


async def test_a_text_that_keeps_changing_ends_as_stale(context: Context, root: Path) -> None:
    (root / "a").write_text("one\n")
    context.editor.mood = "always-stale"
    assert (await refused(context, "edit_file", path="a", edits=edits(("one", "1")))).code == "STALE"
    assert not [event for event in context.events if isinstance(event, EditApplied)]


@pytest.mark.parametrize(
    ("mood", "code", "words"),
    [
        ("refuses", "REFUSED_BY_EDITOR", "the editor is busy"),
        ("lies", "FAILED", "nothing changed"),
        ("never-answers", "FAILED", "outcome unknown"),
    ],
)
async def test_an_edit_that_did_not_happen_is_a_failure_and_is_not_recorded_as_applied(
    context: Context, root: Path, mood: str, code: str, words: str
) -> None:
    (root / "a").write_text("one\n")
    context.editor.mood = mood  # type: ignore[assignment]
    failure = await refused(context, "edit_file", path="a", edits=edits(("one", "1")))
    assert failure.code == code
    assert words in str(failure)
    assert [type(event) for event in context.events] == [EditPlanned]
    assert len(context.editor.changes) == 1


async def test_a_formatter_s_text_is_told_and_recorded(context: Context, root: Path) -> None:
    (root / "a").write_text("x=1\n")
    context.editor.formatter = lambda text: text.replace("=", " = ")
    outcome = await context.call("edit_file", path="a", edits=edits(("x=1", "x=2")))
    assert "+x = 2" in outcome.content
    assert outcome.verified is not None
    assert not outcome.verified.ok
    assert outcome.seen == {}
    done = context.events[-1]
    assert isinstance(done, EditApplied)
    assert done.after == digest("x = 2\n")
    assert context.blobs[done.after] == b"x = 2\n"


async def test_the_agent_s_own_edits_keep_a_reading_fresh(context: Context, root: Path) -> None:
    (root / "a").write_text("one\ntwo\n")
    await context.call("read_file", path="a")
    await context.call("edit_file", path="a", edits=edits(("one", "1")))
    await context.call("write_file", path="a", content="all new\n", overwrite=True)
    assert (root / "a").read_text() == "all new\n"


async def test_an_edit_of_a_file_never_read_does_not_make_it_known(context: Context, root: Path) -> None:
    (root / "a").write_text("one\ntwo\n")
    outcome = await context.call("edit_file", path="a", edits=edits(("one", "1")))
    assert outcome.seen == {}


async def test_two_spellings_edit_one_file(context: Context, root: Path) -> None:
    (root / "real").mkdir()
    (root / "link").symlink_to("real")
    document = context.editor.open(root / "real" / "a", "one\ntwo\n", uri="file:///odd%20spelling")
    await context.call("edit_file", path="link/a", edits=edits(("one", "1")))
    await context.call("edit_file", path=str(root / "real/../real/a"), edits=edits(("two", "2")))
    assert document.text == "1\n2\n"
    assert all(event.uri == "file:///odd%20spelling" for event in context.events)  # type: ignore[attr-defined]


async def test_a_missing_file_is_told_with_names_that_are_near(context: Context, root: Path) -> None:
    (root / "README.md").write_text("x")
    failure = await refused(context, "edit_file", path="readme.md", edits=edits(("a", "b")))
    assert failure.code == "NOT_FOUND"
    assert "README.md" in str(failure)


async def test_a_stop_before_the_edit_changes_nothing(context: Context, root: Path) -> None:
    (root / "a").write_text("one\n")
    context.cancel.set()
    outcome = await context.call("edit_file", path="a", edits=edits(("one", "1")))
    assert outcome.outcome == "aborted"
    assert (root / "a").read_text() == "one\n"


async def test_trust_that_is_lost_while_the_plan_is_stored_stops_the_edit(
    context: Context, root: Path
) -> None:
    (root / "a").write_text("one\n")
    record = context.record

    async def losing(*events: object, **rest: object) -> None:
        await record(*events, **rest)  # type: ignore[arg-type]
        context.trusted = False

    context.record = losing  # type: ignore[method-assign, assignment]
    assert (await refused(context, "edit_file", path="a", edits=edits(("one", "1")))).code == "DENIED"
    assert context.editor.changes == []


async def test_a_link_that_is_swapped_in_while_the_plan_is_stored_stops_the_edit(
    context: Context, root: Path
) -> None:
    outside = root.parent / "outside"
    outside.write_text("one\n")
    (root / "a").write_text("one\n")
    record = context.record

    async def swapping(*events: object, **rest: object) -> None:
        await record(*events, **rest)  # type: ignore[arg-type]
        (root / "a").unlink()
        (root / "a").symlink_to(outside)

    context.record = swapping  # type: ignore[method-assign, assignment]
    assert (
        await refused(context, "edit_file", path="a", edits=edits(("one", "1")))
    ).code == "OUTSIDE_WORKSPACE"
    assert outside.read_text() == "one\n"


async def test_a_character_that_the_file_s_encoding_lacks_is_refused(context: Context, root: Path) -> None:
    (root / "a").write_bytes("naïve\n".encode("latin-1"))
    failure = await refused(context, "edit_file", path="a", edits=edits(("naïve", "漢")))
    assert "latin-1" in str(failure)
    assert (root / "a").read_bytes() == "naïve\n".encode("latin-1")


async def test_edits_ask_where_the_settings_want_it_and_show_the_change(root: Path) -> None:
    asking = Context(root, settings=Settings(permissions=PermissionSettings(edit="ask")))
    (root / "a").write_text("one\n")
    permit = asking.permit("edit_file", path="a", edits=edits(("one", "```\n1")))
    assert isinstance(permit, Ask)
    assert permit.risk == "edit"
    assert permit.remember is None
    assert "-one" in permit.detail
    assert "````" in permit.detail


async def test_nothing_is_edited_in_an_untrusted_workspace(context: Context, root: Path) -> None:
    (root / "a").write_text("one\n")
    context.trusted = False
    for name, arguments in (
        ("edit_file", {"path": "a", "edits": edits(("one", "1"))}),
        ("write_file", {"path": "b", "content": ""}),
        ("rename_path", {"path": "a", "new_path": "b"}),
        ("delete_path", {"path": "a"}),
    ):
        assert isinstance(context.permit(name, **arguments), Refuse)
        assert (await refused(context, name, **arguments)).code == "DENIED"
    assert context.allowed("read_file", path="a")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(
    lines=st.lists(
        st.text(st.characters(exclude_characters="\r\n\0\ufeff", exclude_categories=["Cs"]), max_size=8),
        min_size=1,
        max_size=12,
    ),
    ending=st.sampled_from(["\n", "\r\n"]),
    final=st.booleans(),
    bom=st.booleans(),
    data=st.data(),
)
async def test_bytes_outside_the_edited_line_never_change(
    root: Path, lines: list[str], ending: str, final: bool, bom: bool, data: st.DataObject
) -> None:
    index = data.draw(st.integers(0, len(lines) - 1))
    lines[index] = "the one line 😀 e\u0301"
    end = ending if final else ""
    mark = b"\xef\xbb\xbf" if bom else b""
    (root / "f").write_bytes(mark + (ending.join(lines) + end).encode())
    context = Context(root)
    await context.call("edit_file", path="f", edits=edits((lines[index], "new\n漢 🇩🇪")))
    lines[index] = f"new{ending if ending in ending.join(lines) + end else chr(10)}漢 🇩🇪"
    assert (root / "f").read_bytes() == mark + (ending.join(lines) + end).encode()


async def test_masked_text_is_never_matched_or_written(context: Context, root: Path) -> None:
    (root / "conf").write_text("API_KEY=abcdefghijk\nother=1\n")
    shown = (await context.call("read_file", path="conf")).content
    assert "abcdefghijk" not in shown
    assert "⟦masked⟧" in shown
    for pair in (("API_KEY=⟦masked⟧", "x"), ("other=1", "other=⟦masked⟧")):
        failure = await refused(context, "edit_file", path="conf", edits=edits(pair))
        assert failure.code == "PROTECTED"
    assert (await refused(context, "write_file", path="new", content="a ⟦masked⟧")).code == "PROTECTED"
    await context.call("edit_file", path="conf", edits=edits(("other=1", "other=2")))
    assert (root / "conf").read_text() == "API_KEY=abcdefghijk\nother=2\n"


async def test_a_file_that_was_shown_masked_cannot_be_overwritten_whole(context: Context, root: Path) -> None:
    (root / "conf").write_text("API_KEY=abcdefghijk\n")
    outcome = await context.call("read_file", path="conf")
    assert outcome.seen == {}
    failure = await refused(context, "write_file", path="conf", content="x", overwrite=True)
    assert failure.code == "STALE"
