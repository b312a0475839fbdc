"""Open documents: the server's text is the client's text, whatever is typed and however it is spelled."""

from __future__ import annotations

import random
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from steersman.lsp.documents import OpenDocuments
from steersman.lsp.positions import ClientPosition, LineBuffer, PositionEncoding, index_at_units, split_lines
from steersman.lsp.uris import path_key, path_of_uri, real_path, uri_of_path
from tests.lsp.fake_editor import FakeEditor, position_of

ENCODINGS: list[PositionEncoding] = ["utf-8", "utf-16", "utf-32"]
PIECES = [
    *("a", "\t", "é", "e\u0301", "漢", "😀", "🇩🇪", "👩‍👩‍👧", "\ufeff", "x = 1", ""),
    *("\n", "\r\n", "\r", "\n\n", "\u2028", "\x0b", "\x0c", "\x85", "\x1c"),
]


def between_units(text: str, offset: int) -> bool:
    return offset > 0 and text[offset - 1 : offset + 1] == "\r\n"


def random_place(text: str, rng: random.Random) -> int:
    offset = rng.randint(0, len(text))
    return offset - 1 if between_units(text, offset) else offset


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_after_each_of_a_thousand_random_edits_the_server_has_the_clients_text(
    encoding: PositionEncoding,
) -> None:
    rng = random.Random(f"edits {encoding}")
    documents = OpenDocuments(encoding)
    client = FakeEditor(documents)
    client.open("file:///w/a.py", "x = '😀😀' + tail\r\nlast")
    for _ in range(1000):
        text = client.buffers["file:///w/a.py"].text
        start, end = sorted((random_place(text, rng), random_place(text, rng)))
        end = min(end, start + rng.choice([0, 0, 1, 3, 20]))
        end = end - 1 if between_units(text, end) and end > start else end
        if between_units(text, end):
            continue
        client.type("file:///w/a.py", start, end, "".join(rng.choices(PIECES, k=rng.randint(0, 3))))
        found = documents.find(Path("/w/a.py"))
        assert found is not None
        assert found.buffer.text == client.buffers["file:///w/a.py"].text
        assert found.version == client.buffers["file:///w/a.py"].version


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join), st.sampled_from(ENCODINGS), st.data())
def test_offsets_and_positions_lead_to_each_other(
    text: str, encoding: PositionEncoding, data: st.DataObject
) -> None:
    offset = data.draw(st.integers(0, len(text)))
    buffer = LineBuffer(text, encoding)
    if between_units(text, offset):
        assert buffer.offset_at(buffer.position_at(offset)) == offset - 1
        return
    expected = position_of(text, offset, encoding)
    assert buffer.position_at(offset) == (expected.line, expected.character)
    assert buffer.offset_at(ClientPosition(expected.line, expected.character)) == offset


@given(st.text(max_size=20), st.sampled_from(ENCODINGS), st.integers(-3, 99), st.integers(-3, 99))
def test_any_position_is_a_place_in_the_text(
    text: str, encoding: PositionEncoding, line: int, character: int
) -> None:
    buffer = LineBuffer(text, encoding)
    assert 0 <= buffer.offset_at(ClientPosition(line, character)) <= len(text)
    buffer.replace(ClientPosition(line, character), ClientPosition(character, line), "")
    assert buffer.text.encode("utf-8", "strict") is not None


@pytest.mark.parametrize(("encoding", "inside"), [("utf-8", [1, 2, 3]), ("utf-16", [1])])
def test_a_column_inside_a_character_is_the_characters_start(
    encoding: PositionEncoding, inside: list[int]
) -> None:
    assert [index_at_units("😀b", column, encoding) for column in inside] == [0] * len(inside)


def test_halves_of_a_surrogate_pair_that_meet_are_one_character_as_in_the_client() -> None:
    buffer = LineBuffer("ab", "utf-16")
    buffer.replace(ClientPosition(0, 1), ClientPosition(0, 1), "\ud83d")
    buffer.replace(ClientPosition(0, 2), ClientPosition(0, 2), "\ude00")
    assert buffer.text == "a😀b"
    buffer = LineBuffer("\ude00!", "utf-16")
    buffer.replace(ClientPosition(0, 0), ClientPosition(0, 0), "a\ud83d")
    assert buffer.text == "a😀!"


def test_only_lf_crlf_and_cr_end_a_line() -> None:
    assert split_lines("a\u2028b\x0cc\x85d\r\ne\rf\n") == ["a\u2028b\x0cc\x85d\r\n", "e\r", "f\n", ""]


def test_a_range_past_the_end_and_a_reversed_one_are_clamped() -> None:
    buffer = LineBuffer("one\ntwo", "utf-16")
    buffer.replace(ClientPosition(7, 3), ClientPosition(9, 9), "!")
    assert buffer.text == "one\ntwo!"
    buffer.replace(ClientPosition(1, 99), ClientPosition(0, 99), "|")
    assert buffer.text == "one|"


def test_several_changes_of_one_notification_build_on_each_other_and_a_whole_text_replaces_all() -> None:
    documents = OpenDocuments("utf-16")
    client = FakeEditor(documents)
    client.open("file:///w/a.py", "abc\n")
    client.change("file:///w/a.py", [(0, 1, "😀\r\n"), (3, 4, "B"), (0, 0, "\n")])
    found = documents.find(Path("/w/a.py"))
    assert found is not None
    assert found.document().text == client.buffers["file:///w/a.py"].text
    client.set_text("file:///w/a.py", "all new\r")
    assert found.document().text == "all new\r"


def test_five_thousand_changes_of_a_big_document_take_no_noticeable_time() -> None:
    buffer = LineBuffer("some words of a line\n" * 50_000, "utf-16")
    for line in range(40_000, 35_000, -1):
        buffer.replace(ClientPosition(line, 0), ClientPosition(line, 4), "other")
    assert buffer.line_count == 50_001  # quadratic work would run into the test's time limit
    assert buffer.text.count("other") == 5_000


def test_a_closed_document_is_forgotten_and_a_change_of_it_is_ignored() -> None:
    documents = OpenDocuments()
    client = FakeEditor(documents)
    client.open("file:///w/a.py", "a")
    buffer = client.buffers["file:///w/a.py"]
    client.close("file:///w/a.py")
    assert documents.find(Path("/w/a.py")) is None
    client.buffers["file:///w/a.py"] = buffer
    client.type("file:///w/a.py", 0, 0, "late")
    client.documents.did_close(
        types.DidCloseTextDocumentParams(text_document=types.TextDocumentIdentifier(uri="file:///w/a.py"))
    )
    assert documents.files() == []


def test_untitled_documents_are_no_files() -> None:
    documents = OpenDocuments()
    client = FakeEditor(documents)
    client.open("untitled:Untitled-1", "words")
    client.type("untitled:Untitled-1", 0, 5, "other")
    assert documents.files() == []
    client.close("untitled:Untitled-1")


@pytest.mark.parametrize(
    ("opened", "other"),
    [
        ("file:///c%3A/W/a.py", "file:///C:/W/a.py"),
        ("file:///w/a%20b.py", "file:///w/a b.py"),
        ("file:///w/a%23b.py", "file:///w/a#b.py"),
        ("file:///w/100%25%3F%2B.py", "file:///w/100%25?+.py"),
        ("file:///w/%E6%BC%A2.py", "file:///w/漢.py"),
        ("file:///w/a.py", "FILE://localhost/w/./x/../a.py"),
    ],
)
def test_two_spellings_of_a_uri_are_one_document(opened: str, other: str) -> None:
    documents = OpenDocuments()
    client = FakeEditor(documents)
    client.open(opened, "a")
    client.type(opened, 1, 1, "b", as_uri=other)
    named = path_of_uri(other)
    assert named is not None
    found = documents.find(real_path(named))
    assert found is not None
    assert found.document().uri == opened
    assert found.document().text == "ab"
    assert len(documents.files()) == 1


def test_a_link_and_its_target_are_one_document(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.py").write_text("disk")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    documents = OpenDocuments()
    FakeEditor(documents).open((tmp_path / "link" / "a.py").as_uri(), "buffer")
    found = documents.find(tmp_path / "real" / "a.py")
    assert found is not None
    assert found.document().text == "buffer"
    assert found.document().uri == (tmp_path / "link" / "a.py").as_uri()


def test_a_name_in_the_other_unicode_form_is_the_file_on_the_disk(tmp_path: Path) -> None:
    composed, decomposed = (unicodedata.normalize(form, "café.py") for form in ("NFC", "NFD"))
    (tmp_path / decomposed).write_text("x")
    assert real_path(tmp_path / composed) == tmp_path / decomposed
    (tmp_path / composed).write_text("y")
    assert real_path(tmp_path / composed) == tmp_path / composed
    assert real_path(tmp_path / decomposed) == tmp_path / decomposed


def test_case_and_unicode_form_do_not_count_where_the_platform_ignores_them() -> None:
    composed, decomposed = (Path(unicodedata.normalize(form, "/W/Café.py")) for form in ("NFC", "NFD"))
    assert path_key(composed, "darwin") == path_key(decomposed, "darwin")
    assert path_key(Path("/W/A.py"), "win32") == path_key(Path("/w/a.py"), "win32")
    assert path_key(Path("/W/A.py"), "linux") != path_key(Path("/w/a.py"), "linux")


@pytest.mark.parametrize("uri", ["untitled:a", "https://x/a", "file:a", "", "file:///a%00b", "a.py"])
def test_what_names_no_file_has_no_path(uri: str) -> None:
    assert path_of_uri(uri) is None


@given(st.text(st.characters(exclude_characters="\0/", exclude_categories=["Cs"]), min_size=1, max_size=12))
def test_a_path_survives_its_uri(name: str) -> None:
    path = Path("/w") / name
    assert path_of_uri(uri_of_path(path)) == path
    assert path_of_uri(uri_of_path(path, ("file:///w/", Path("/w")))) == path


async def test_a_watch_sees_what_happened_before_it_was_asked(tmp_path: Path) -> None:
    documents = OpenDocuments()
    client = FakeEditor(documents)
    uri = (tmp_path / "a").as_uri()
    client.open(uri, "one")
    with documents.watch(tmp_path / "a", "two") as watch:
        assert not await watch.changed(0.01)
        client.set_text(uri, "two")
        client.set_text(uri, "three")
        assert await watch.changed(0.01)
        assert watch.reached
        assert not await watch.changed(0.01)
