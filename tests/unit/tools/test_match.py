"""Search/replace hunks: exact and once, or a clear refusal; white space; line endings; minimal changes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.errors import ToolFailed
from steersman.tools.diff import counts, spans
from steersman.tools.lines import NormalText, normalise, split
from steersman.tools.match import Hunk, plan

PIECES = st.sampled_from(
    [
        "a",
        "b",
        "x = 1",
        " ",
        "\t",
        "\n",
        "\r\n",
        "\r",
        "😀",
        "e\u0301",
        "🇩🇪",
        "漢",
        "\u2028",
        "\ufeff",
        "\x0c",
    ]
)
TEXTS = st.lists(PIECES, max_size=30).map("".join)


def refused(text: str, *hunks: tuple[str, str]) -> ToolFailed:
    with pytest.raises(ToolFailed) as caught:
        plan(text, [Hunk(*hunk) for hunk in hunks])
    return caught.value


def result(text: str, *hunks: tuple[str, str]) -> str:
    return plan(text, [Hunk(*hunk) for hunk in hunks]).expected


def test_a_text_that_stands_once_is_replaced() -> None:
    assert result("one\ntwo\nthree\n", ("two", "2")) == "one\n2\nthree\n"


def test_a_text_that_stands_twice_is_refused_with_its_lines() -> None:
    failure = refused("x\ny\nx\n", ("x", "z"))
    assert failure.code == "NOT_UNIQUE"
    assert "2 times" in str(failure)
    assert "lines 1, 3" in str(failure)


def test_overlapping_occurrences_count_as_two() -> None:
    assert refused("aaa", ("aa", "b")).code == "NOT_UNIQUE"


def test_a_text_that_is_not_there_is_refused_with_the_nearest_lines() -> None:
    failure = refused("def load(path):\n    return 1\n", ("def load(file):", "x"))
    assert failure.code == "NOT_FOUND"
    assert "1|def load(path):" in str(failure)


def test_line_numbers_in_the_searched_text_are_pointed_out() -> None:
    assert "leave out the line numbers" in str(refused("a\nb\n", ("1|a\n2|b", "c")))


def test_an_empty_search_is_refused_in_a_text_and_fills_an_empty_one() -> None:
    assert refused("text", ("", "x")).code == "INVALID_ARGUMENTS"
    assert result("", ("", "x\ny\n")) == "x\ny\n"


def test_an_edit_that_changes_nothing_is_refused() -> None:
    assert refused("a\r\nb", ("a\r\nb", "a\nb")).code == "INVALID_ARGUMENTS"


def test_overlapping_hunks_are_refused_and_named() -> None:
    failure = refused("abcdef", ("abcd", "x"), ("cdef", "y"))
    assert failure.code == "INVALID_ARGUMENTS"
    assert "edits 1 and 2 overlap" in str(failure)


def test_hunks_are_matched_against_the_text_before_the_call() -> None:
    assert refused("one\n", ("one", "two"), ("two", "three")).code == "NOT_FOUND"


def test_all_failing_hunks_are_told_at_once() -> None:
    message = str(refused("x\nx\ny\n", ("x", "1"), ("y", "2"), ("q", "3")))
    assert "edit 1: " in message
    assert "edit 3: " in message
    assert "edit 2" not in message
    assert "Nothing was changed" in message


def test_hunks_in_any_order_all_apply() -> None:
    assert result("a\nb\nc\n", ("c", "3"), ("a", "1")) == "1\nb\n3\n"


def test_new_lines_take_the_line_ending_of_the_text() -> None:
    made = plan("a\r\nb\r\nc\r\n", [Hunk("a\nb\n", "a\nnew\nb\n")])
    assert made.expected == "a\r\nnew\r\nb\r\nc\r\n"
    assert [r.new_text for r in made.replacements] == ["new\r\n"]


def test_unchanged_lines_of_a_mixed_text_keep_their_own_endings() -> None:
    assert result("a\nb\r\nc\nd\n", ("a\nb\nc", "A\nb\nC")) == "A\nb\r\nC\nd\n"


def test_spaces_for_tabs_match_if_unique_and_new_lines_are_indented_as_the_file_is() -> None:
    made = plan(
        "def f():\n\tif x:\n\t\tgo()\n",
        [Hunk("    if x:\n        go()", "    if x:\n        a()\n        go()")],
    )
    assert made.expected == "def f():\n\tif x:\n\t\ta()\n\t\tgo()\n"
    assert "white space differs" in made.notes[0]


def test_trailing_blanks_of_the_file_do_not_stop_a_match_and_stay() -> None:
    assert result("one  \ntwo\n", ("one\ntwo", "one\n2")) == "one  \n2\n"


def test_a_loose_match_that_is_not_unique_is_refused() -> None:
    assert refused("a  b\na\tb\n", ("a b", "c")).code == "NOT_UNIQUE"


def test_a_search_with_a_final_newline_fits_a_text_without_one_which_stays_so() -> None:
    assert result("a\nb", ("b\n", "B\n")) == "a\nB"


def test_appending_after_a_last_line_without_newline_does_not_glue_lines() -> None:
    assert result("a\nb", ("b", "b\nc")) == "a\nb\nc"


def test_the_replacement_is_no_larger_than_the_difference() -> None:
    made = plan("x = 'old'\n" * 1 + "y\n", [Hunk("x = 'old'\ny", "x = 'new'\ny")])
    assert [(r.start, r.end, r.new_text) for r in made.replacements] == [(5, 8, "new")]


def test_the_changed_lines_are_those_of_the_new_text() -> None:
    made = plan("a\nb\nc\nd\n", [Hunk("a", "1\n2\n3"), Hunk("d", "4")])
    assert made.lines == ((1, 3), (6, 6))


@given(before=TEXTS, old=TEXTS.filter(bool), new=TEXTS, after=TEXTS)
def test_an_edit_changes_the_intended_range_and_nothing_else(
    before: str, old: str, new: str, after: str
) -> None:
    text = before + old + after
    if "\r\n" in (before[-1:] + old[:1], old[-1:] + after[:1]):
        return  # the searched text would begin or end within a line ending
    try:
        made = plan(text, [Hunk(old, new)])
    except ToolFailed:
        return
    if made.notes:
        return
    assert made.expected.startswith(before)
    assert made.expected.endswith(after)
    assert normalise(made.expected) == normalise(before) + normalise(new) + normalise(after)
    for replacement in reversed(made.replacements):
        text = text[: replacement.start] + replacement.new_text + text[replacement.end :]
    assert text == made.expected


def test_an_edit_that_would_make_one_line_end_of_two_is_refused() -> None:
    assert "mixes CR and LF" in str(refused("\ra\n", ("a", "")))


@given(old=TEXTS, new=TEXTS)
def test_replacing_a_whole_text_gives_it_in_the_line_ending_of_the_old_one(old: str, new: str) -> None:
    view = NormalText(old)
    found = spans(view.text, normalise(new))
    made = view.text
    for span in reversed(found):
        made = made[: span.start] + span.new + made[span.end :]
    assert made == normalise(new)
    assert all(left.end <= right.start for left, right in pairwise(found))


@given(text=TEXTS)
def test_offsets_of_the_normal_view_never_fall_inside_a_line_ending(text: str) -> None:
    view = NormalText(text)
    for offset in range(len(view.text) + 1):
        original = view.original_offset(offset)
        assert normalise(text[:original]) == view.text[:offset]


def test_lines_are_counted_as_editors_do() -> None:
    assert split(normalise("a\x0cb\u2028c\rd\r\ne\n")) == ["a\x0cb\u2028c", "d", "e"]
    assert counts("a\nb\n", "a\nc\nd\n") == (2, 1)
