"""Frames out of any stream of bytes, however it is cut."""

from __future__ import annotations

import asyncio
import itertools

from hypothesis import given
from hypothesis import strategies as st

from steersman.headless.frames import frame, next_body

JUNK = st.sampled_from([b"", b"stray print\n", b"\r\n", b"Content-Length: x\r\n\r\n", b"X-Other: 1\r\n"])


async def bodies_of(data: bytes, cuts: list[int], **options: int) -> list[bytes]:
    stream = asyncio.StreamReader(limit=1 << 12)
    found: list[bytes] = []

    async def read() -> None:
        while (body := await next_body(stream, **options)) is not None:
            found.append(body)

    reading = asyncio.create_task(read())
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    for start, end in itertools.pairwise(places):
        stream.feed_data(data[start:end])
        await asyncio.sleep(0)
    stream.feed_eof()
    await reading
    return found


@given(
    bodies=st.lists(st.binary(max_size=60), max_size=6),
    junk=st.lists(JUNK, min_size=7, max_size=7),
    cuts=st.lists(st.integers(0, 1000), max_size=8),
)
def test_every_whole_message_is_read_once_whatever_stands_between(
    bodies: list[bytes], junk: list[bytes], cuts: list[int]
) -> None:
    data = b"".join(before + frame(body) for before, body in zip(junk, bodies, strict=False)) + junk[-1]
    assert asyncio.run(bodies_of(data, cuts)) == bodies


async def test_a_message_that_is_too_long_is_passed_over() -> None:
    data = frame(b"a" * 200_000) + frame(b"next")
    assert await bodies_of(data, [7, 100, 150_000], max_bytes=1000) == [b"next"]


async def test_a_stream_that_ends_in_a_message_has_ended() -> None:
    assert await bodies_of(frame(b"whole") + frame(b"half")[:-2], []) == [b"whole"]
    assert await bodies_of(frame(b"whole") + frame(b"x" * 2000)[:-2], [], max_bytes=1000) == [b"whole"]
