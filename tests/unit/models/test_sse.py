"""Event streams by the letter of their specification, wherever they are cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.models.sse import EventReader, EventTooLarge, ServerEvent


def read(pieces: list[bytes], limit: int = 1000) -> list[ServerEvent]:
    reader = EventReader(limit)
    events = [event for piece in pieces for event in reader.feed(piece)]
    return [*events, *reader.end()]


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: a\n\n", [(b"", b"a")]),
        (b"data:a\r\n\r\n", [(b"", b"a")]),
        (b"data:  a\r\r", [(b"", b" a")]),
        (b"\xef\xbb\xbfdata: a\n\n", [(b"", b"a")]),
        (b"data: a\ndata: b\n\n", [(b"", b"a\nb")]),
        (b"data: a\r\ndata: b\r\n\r\n", [(b"", b"a\nb")]),
        (b"data\n\n", [(b"", b"")]),
        (b": comment\n\ndata: a\n\n", [(b"", b"a")]),
        (b"event: error\ndata: a\n\ndata: b\n\n", [(b"error", b"a"), (b"", b"b")]),
        (b"event: ping\n\ndata: a\n\n", [(b"", b"a")]),
        (b"id: 1\nretry: 5\nnonsense\ndata: a\n\n", [(b"", b"a")]),
        (b'error: {"code": 500}\n\n', [(b"error", b'{"code": 500}')]),
        (b"data: a", [(b"", b"a")]),
        (b"data: a\n", [(b"", b"a")]),
        (b"\n\n\r\n", []),
        (b"", []),
        ("data: a\u2028b\u0085c\x0b\x0c\n\n".encode(), [(b"", "a\u2028b\u0085c\x0b\x0c".encode())]),
    ],
)
def test_a_stream_holds_the_events_that_the_specification_finds(
    stream: bytes, events: list[tuple[bytes, bytes]]
) -> None:
    assert read([stream]) == events
    assert read([stream[i : i + 1] for i in range(len(stream))]) == events


fragments = st.sampled_from(
    [b"data", b":", b" ", b"x", b"\n", b"\r", b"\r\n", b"event: e", b"\xef\xbb\xbf", b"\xc3\xa9", b"error"]
)


@given(st.lists(fragments, max_size=40), st.lists(st.integers(0, 200), max_size=8))
def test_where_a_stream_is_cut_makes_no_difference(parts: list[bytes], offsets: list[int]) -> None:
    stream = b"".join(parts)
    cuts = sorted({0, len(stream), *(offset for offset in offsets if offset < len(stream))})
    pieces = [stream[a:b] for a, b in pairwise(cuts)]
    assert read(pieces) == read([stream])


@pytest.mark.parametrize("stream", [b"data: " + b"x" * 2000, b"data: xxxxxxxxxx\n" * 200, b":" * 2000])
def test_an_endless_event_is_refused_before_it_fills_the_memory(stream: bytes) -> None:
    for size in (1, 64):
        with pytest.raises(EventTooLarge):
            read([stream[i : i + size] for i in range(0, len(stream), size)])


def test_many_events_together_may_be_larger_than_the_limit_of_one() -> None:
    assert len(read([b"data: " + b"x" * 400 + b"\n\n"] * 20)) == 20
