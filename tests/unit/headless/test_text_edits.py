"""LSP edits on plain text, in all three position encodings."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.headless.text_edits import EditFailed, Encoding, apply_edits

ENCODINGS: list[Encoding] = ["utf-8", "utf-16", "utf-32"]
SIZES = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


def place(text: str, offset: int, encoding: Encoding) -> dict[str, int]:
    """The position of an offset, by counting; offsets inside CR LF are not asked for."""
    before = text[:offset].replace("\r\n", "\n").replace("\r", "\n")
    line = before.count("\n")
    column = before[before.rfind("\n") + 1 :]
    codec, size = SIZES[encoding]
    return {"line": line, "character": len(column.encode(codec)) // size}


def edit(text: str, start: int, end: int, new: str, encoding: Encoding) -> dict[str, Any]:
    return {
        "range": {"start": place(text, start, encoding), "end": place(text, end, encoding)},
        "newText": new,
    }


TEXTS = st.lists(
    st.sampled_from(["a", "é", "😀", "中", "e\u0301", "\n", "\r\n", "\r", "\u2028", "\t"]), max_size=40
)


@given(pieces=TEXTS, cuts=st.tuples(st.integers(0, 40), st.integers(0, 40)), new=TEXTS)
def test_an_edit_changes_exactly_its_range(pieces: list[str], cuts: tuple[int, int], new: list[str]) -> None:
    text, inserted = "".join(pieces), "".join(new)
    offsets = [len("".join(pieces[:cut])) for cut in sorted(cuts)]
    start, end = (o - 1 if text[o - 1 : o + 1] == "\r\n" else o for o in offsets)
    for encoding in ENCODINGS:
        changed = apply_edits(text, [edit(text, start, end, inserted, encoding)], encoding)
        assert changed == text[:start] + inserted + text[end:]


def test_several_edits_refer_to_the_text_before() -> None:
    text = "one two three"
    edits = [edit(text, 8, 13, "3", "utf-16"), edit(text, 0, 3, "1", "utf-16")]
    assert apply_edits(text, edits, "utf-16") == "1 two 3"


def test_insertions_at_one_place_keep_their_order() -> None:
    edits = [edit("x", 1, 1, new, "utf-16") for new in "abc"]
    assert apply_edits("x", edits, "utf-16") == "xabc"


def test_overlapping_edits_are_refused() -> None:
    edits = [edit("abcdef", 0, 3, "", "utf-16"), edit("abcdef", 2, 4, "", "utf-16")]
    with pytest.raises(EditFailed, match="overlap"):
        apply_edits("abcdef", edits, "utf-16")


def test_a_position_inside_a_character_or_past_the_text_is_refused() -> None:
    inside = {
        "range": {"start": {"line": 0, "character": 1}, "end": {"line": 0, "character": 1}},
        "newText": "",
    }
    with pytest.raises(EditFailed, match="character"):
        apply_edits("😀", [inside], "utf-16")
    past = {
        "range": {"start": {"line": 5, "character": 0}, "end": {"line": 5, "character": 0}},
        "newText": "",
    }
    with pytest.raises(EditFailed, match="no line"):
        apply_edits("x", [past], "utf-16")


def test_a_column_past_the_end_of_its_line_is_the_end() -> None:
    far = {
        "range": {"start": {"line": 0, "character": 99}, "end": {"line": 0, "character": 99}},
        "newText": "!",
    }
    assert apply_edits("ab\ncd", [far], "utf-16") == "ab!\ncd"
