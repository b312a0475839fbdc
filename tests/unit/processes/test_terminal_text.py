"""Output is cleaned to what a terminal would show in the end (field reports F03, F04)."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.processes.terminal_text import ROWS, SEQUENCE_CHARACTERS, TerminalText

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def cleaned(*pieces: bytes) -> str:
    cleaner = TerminalText()
    return "".join([cleaner.feed(piece) for piece in pieces] + [cleaner.finish()])


def test_a_bar_that_redraws_itself_five_thousand_times_is_one_line() -> None:
    bar = b"".join(b"\r\x1b[2K\x1b[32m%5d/5000\x1b[0m" % count for count in range(1, 5001))
    assert cleaned(b"begin\n" + bar + b"\nend\n") == "begin\n 5000/5000\nend\n"


def test_a_shorter_redraw_leaves_what_a_terminal_leaves() -> None:
    assert cleaned(b"abcdef\rxy") == "xycdef"


def test_lines_that_end_in_crlf_stay() -> None:
    assert cleaned(b"one\r\ntwo\r", b"\nthree\r\r\n") == "one\ntwo\nthree\n"


def test_backspaces_take_back() -> None:
    assert cleaned(b"working |\b/\b-\bdone") == "working done"


def test_several_bars_that_redraw_above_keep_their_last_state() -> None:
    first = b"a 0%\nb 0%\n"
    again = b"\x1b[2A\x1b[2Ka 100%\n\x1b[2Kb 100%\n"
    assert cleaned(first + again) == "a 100%\nb 100%\n"


def test_links_titles_and_colours_leave_only_their_text() -> None:
    link = b"\x1b]8;;https://example.org\x1b\\text\x1b]8;;\x1b\\ \x1b]0;title\x07"
    assert cleaned(link + b"\x1b[1;31m-old\x1b[0m\x1b(B \x1bPq#0\x1b\\\x1b=x") == "text -old x"


def test_eight_bit_sequences_are_sequences_too() -> None:
    assert cleaned("\x9b31mred\x9b0m".encode()) == "red"


def test_an_escape_string_without_an_end_does_not_swallow_the_rest() -> None:
    text = cleaned(b"\x1b]0;" + b"x" * (SEQUENCE_CHARACTERS + 10) + b"\nfailure")
    assert text.endswith("\nfailure")


def test_a_cleared_screen_does_not_take_back_what_was_said() -> None:
    assert cleaned(b"1 failed\x1b[2J\x1b[Hwatching") == "1 failed\nwatching"


@pytest.mark.parametrize("cut", range(1, 4))
def test_a_character_that_is_split_over_two_reads_stays_whole(cut: int) -> None:
    data = "😀".encode()
    assert cleaned(data[:cut], data[cut:]) == "😀"


def test_bytes_that_are_not_utf8_are_replaced_and_the_rest_is_intact() -> None:
    assert cleaned(b"before " + "中文".encode("gbk") + b"\x80\xff after\n").startswith("before �")
    assert cleaned(b"a\x00b\xfec\n") == "ab�c\n"


def test_lines_that_scrolled_out_of_reach_are_settled() -> None:
    cleaner = TerminalText()
    lines = b"".join(b"line %d\n" % number for number in range(3 * ROWS))
    assert cleaner.feed(lines).startswith("line 0\nline 1\n")
    assert cleaner.finish().endswith(f"line {3 * ROWS - 1}\n")


def test_a_cursor_that_flies_far_costs_few_blanks() -> None:
    assert len(cleaned(b"\x1b[999999999Cx" * 10)) < 4_000


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t")))
def test_plain_text_comes_through_unchanged(text: str) -> None:
    assert cleaned(text.encode()) == text


TOKENS = st.sampled_from(
    [
        b"a",
        b"bc",
        b"\n",
        b"\r",
        b"\b",
        b"\x1b[A",
        b"\x1b[2K",
        b"\x1b[K",
        b"\x1b[J",
        b"\x1b[3C",
        b"\x1b[1G",
        b"\x07",
        b"\x1b]0;t\x07",
        b"\x1b]8;;u\x1b\\",
        b"\x1b[31m",
        b"\x1b",
        b"[",
        b"]",
        "é😀".encode(),
        b"\x9b",
        b"\x00",
        b"m",
    ]
)


@given(st.lists(st.one_of(TOKENS, st.binary(max_size=4)), max_size=40), st.data())
def test_no_cut_between_reads_changes_the_text_and_no_control_comes_through(
    tokens: list[bytes], data: st.DataObject
) -> None:
    whole = b"".join(tokens)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    text = cleaned(whole)
    assert cleaned(*pieces) == text
    assert not CONTROL.search(text)
