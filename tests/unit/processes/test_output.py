"""The record of output is bounded, and says what it leaves out (field report F02)."""

from __future__ import annotations

import re
import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from steersman.processes.output import Output


def recorded(data: bytes, limit: int, piece: int = 65536) -> tuple[str, int]:
    output = Output(limit)
    for begin in range(0, len(data), piece):
        output.feed(data[begin : begin + piece])
    return output.finish()


def test_short_output_is_whole() -> None:
    assert recorded(b"hello\n", 100) == ("hello\n", 0)


def test_output_of_exactly_the_limit_is_whole() -> None:
    assert recorded(b"x" * 1000, 1000) == ("x" * 1000, 0)


def test_head_and_tail_are_kept_and_the_gap_is_counted() -> None:
    data = b"".join(b"line %06d\n" % number for number in range(10_000))
    text, omitted = recorded(data, 1000)
    assert text.startswith("line 000000\n")
    assert text.endswith("line 009999\n")
    assert f"\n… {omitted} bytes omitted …\n" in text
    kept = re.sub(r"… .* …\n", "", text)
    assert len(kept) + omitted == len(data)
    assert all(re.fullmatch(r"line \d{6}", line) for line in kept.splitlines())


def test_the_last_lines_with_the_real_error_survive_a_flood() -> None:
    summary = b"".join(b"FAILED test_%d\n" % number for number in range(40))
    text, _ = recorded(b"noise\n" * 2_000_000 + summary, 16 * 1024)
    assert text.endswith(summary.decode())


def test_one_endless_line_costs_little_memory() -> None:
    output = Output(64 * 1024)
    piece = b"x" * 65536
    tracemalloc.start()
    for _ in range(800):
        output.feed(piece)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    text, omitted = output.finish()
    assert peak < 4_000_000
    assert omitted > 800 * 65536 - 64 * 1024
    assert text.startswith("xxx")


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n")), st.integers(0, 400))
def test_no_record_is_over_its_limit_and_no_character_is_torn(text: str, limit: int) -> None:
    record, omitted = recorded(text.encode(), limit, piece=7)
    assert len(record.encode()) <= max(limit, 0)
    assert (record == text) == (omitted == 0)
    head, _, tail = record.partition("… ")
    assert "\ufffd" in text or "\ufffd" not in head + tail
