"""The bytes of the base protocol: whatever comes, in whatever pieces, the next good frame is found."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.lsp.framing import BadFrame, FrameDecoder, frame

GOOD = b'{"jsonrpc":"2.0","id":1,"method":"x"}'
HUGE = b"Content-Length: 999999999999999\r\n\r\n"


def decoded(data: bytes, piece: int | None = None, *, limit: int = 1000) -> list[bytes | BadFrame]:
    decoder = FrameDecoder(limit)
    size = piece or max(len(data), 1)
    return [found for at in range(0, len(data), size) for found in decoder.feed(data[at : at + size])]


def bodies(data: bytes, piece: int | None = None, *, limit: int = 1000) -> list[bytes]:
    return [found for found in decoded(data, piece, limit=limit) if isinstance(found, bytes)]


JUNK = {
    "words": b"hello\r\n",
    "words right before a frame": b"hello",
    "binary": bytes(range(256)),
    "blank lines": b"\r\n\r\n\n\n",
    "no length": b"Content-Type: x\r\n\r\n",
    "no length, and a body": b"Content-Type: x\r\n\r\n" + GOOD,
    "no number": b"Content-Length: x\r\n\r\n" + GOOD,
    "a negative number": b"Content-Length: -5\r\n\r\n" + GOOD,
    "a fraction": b"Content-Length: 5.0\r\n\r\n" + GOOD,
    "an empty length": b"Content-Length:\r\n\r\n" + GOOD,
    "a number without end": b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n" + GOOD,
    "more than anyone has": HUGE + GOOD,
    "more than is allowed": frame(b'"' + b"x" * 2000 + b'"'),
    "two lengths": b"Content-Length: 3\r\nContent-Length: 4\r\n\r\n" + GOOD,
    "a line that is no header": b"Content-Length: 3\r\nwhat is this\r\n\r\nabc",
    "a header without end": b"Content-Length: 3\r\n" + b"X-A: b\r\n" * 1000,
    "a long line": b"x" * 200_000,
    "a long line of digits": b"9" * 200_000,
    "a body shorter than it says": b"Content-Length: 60\r\n\r\n" + GOOD,
    "a body longer than it says": b"Content-Length: 5\r\n\r\n" + GOOD,
}


@pytest.mark.parametrize("piece", [None, 1, 7])
@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK)
def test_after_junk_the_next_frames_are_found(junk: bytes, piece: int | None) -> None:
    if len(junk) > 10_000 and piece == 1:
        piece = 100
    # What is shorter than its header says takes the next frame with it, but no more.
    found = bodies(junk + frame(GOOD) + frame(b"{}") + frame(b"[]"), piece)
    assert found[-2:] == [b"{}", b"[]"]


@pytest.mark.parametrize("junk", [j for name, j in JUNK.items() if name not in ("blank lines",)])
def test_junk_is_told_once(junk: bytes) -> None:
    found = decoded(junk + frame(GOOD) + frame(b"{}"))
    assert sum(isinstance(each, BadFrame) for each in found) == 1 or b"Content-Length: 60" in junk


def test_blank_lines_between_frames_are_nothing() -> None:
    assert decoded(b"\r\n" + frame(b"1") + b"\r\n\n" + frame(b"2")) == [b"1", b"2"]


def test_a_frame_of_no_bytes_is_an_empty_body() -> None:
    assert decoded(frame(b"") + frame(b"1")) == [b"", b"1"]


def test_the_name_of_the_header_may_have_any_case_and_company() -> None:
    header = b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\ncontent-LENGTH :\t 2 \r\n\r\n"
    assert decoded(header + b"{}") == [b"{}"]
    assert decoded(b"Content-Length: 2\n\n{}") == [b"{}"]
    assert decoded(b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}") == [b"{}"]


def test_a_length_that_nobody_sends_reserves_nothing() -> None:
    decoder = FrameDecoder(10**9)
    tracemalloc.start()
    try:
        assert list(decoder.feed(b"Content-Length: 900000000\r\n\r\nabc")) == []
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_lost_bytes_are_not_kept() -> None:
    decoder = FrameDecoder()
    tracemalloc.start()
    try:
        for _ in range(500):
            assert len(list(decoder.feed(b"x" * 65_536))) <= 1
        assert tracemalloc.get_traced_memory()[1] < 500_000
    finally:
        tracemalloc.stop()


def test_a_header_inside_a_text_is_text() -> None:
    tricky = b'"a\\r\\nContent-Length: 2\\r\\n\\r\\n{}"'
    assert bodies(HUGE + tricky + frame(b"1")) == [b"1"]


@given(st.lists(st.binary(max_size=50), max_size=8), st.data())
def test_frames_come_out_as_they_went_in_however_the_stream_is_cut(
    sent: list[bytes], data: st.DataObject
) -> None:
    stream = b"".join(frame(body) for body in sent)
    decoder = FrameDecoder()
    found: list[bytes | BadFrame] = []
    while stream:
        cut = data.draw(st.integers(1, len(stream)))
        found += decoder.feed(stream[:cut])
        stream = stream[cut:]
    assert found == sent


@given(st.binary(max_size=300))
def test_no_bytes_raise_or_hang(junk: bytes) -> None:
    decoder = FrameDecoder(100)
    assert len(list(decoder.feed(junk))) <= len(junk)
    # Enough to end any body that the junk began, then a frame that must be seen.
    assert list(decoder.feed(b" " * 200 + b"\r\n\r\n" + frame(GOOD)))[-1] == GOOD
