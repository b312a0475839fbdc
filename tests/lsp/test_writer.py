"""The way out: frames whole and in order, a client that lags, one that reads nothing, one that is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.lsp import writer as writer_module
from steersman.lsp.framing import FrameDecoder
from steersman.lsp.writer import FrameWriter


class Pipe:
    """A sink whose reader takes so many bytes as `room` lets it; `gone` makes the next drain fail."""

    def __init__(self, room: int | None = None) -> None:
        self.data = b""
        self.gone = False
        self.closed = False
        self._room = room
        self._read = asyncio.Event()

    def write(self, data: bytes) -> None:
        self.data += data

    async def drain(self) -> None:
        while self._room is not None and len(self.data) > self._room and not self.gone:
            await self._read.wait()
            self._read.clear()
        if self.gone:
            raise BrokenPipeError(32, "Broken pipe")

    def close(self) -> None:
        self.closed = True

    def read(self, size: int) -> None:
        """The reader takes so much more."""
        assert self._room is not None
        self._room += size
        self._read.set()

    def break_off(self) -> None:
        self.gone = True
        self._read.set()

    def bodies(self) -> list[bytes]:
        return [found for found in FrameDecoder().feed(self.data) if isinstance(found, bytes)]


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not true():
            await asyncio.sleep(0)


class Ended:
    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> None:
        self.times += 1


@given(st.lists(st.binary(max_size=200_000 // 8) | st.integers(0, 200_000).map(bytes), max_size=12))
def test_every_body_leaves_whole_and_in_order(sent: list[bytes]) -> None:
    async def scenario() -> None:
        pipe = Pipe()
        writer = FrameWriter(pipe, Ended())
        for body in sent:
            writer.send(body)
        await writer.aclose(5)
        assert pipe.bodies() == sent
        assert pipe.closed

    asyncio.run(scenario())


async def test_one_long_message_is_no_stall() -> None:
    pipe, ended = Pipe(), Ended()
    writer = FrameWriter(pipe, ended, stall_bytes=1000)
    writer.send(b"x" * 3_000_000)
    await writer.aclose(5)
    assert ended.times == 0
    assert len(pipe.bodies()[0]) == 3_000_000


async def test_too_much_unread_ends_it_once_and_what_comes_then_is_dropped() -> None:
    pipe, ended = Pipe(room=0), Ended()
    writer = FrameWriter(pipe, ended, stall_bytes=1000)
    for _ in range(10):
        writer.send(b"x" * 400)
    assert ended.times == 1
    writer.send(b"more")
    await writer.aclose(5)
    assert ended.times == 1


async def test_a_long_queue_that_does_not_move_ends_it_in_time() -> None:
    pipe, ended = Pipe(room=0), Ended()
    writer = FrameWriter(pipe, ended, stall_seconds=0.05)
    writer.send(b"x" * (writer_module.BUSY_BYTES + 1))
    await until(lambda: ended.times == 1)
    await writer.aclose(0.01)


async def test_a_short_queue_may_wait_as_long_as_it_likes() -> None:
    pipe, ended = Pipe(room=0), Ended()
    writer = FrameWriter(pipe, ended, stall_seconds=0.01)
    writer.send(b"x")
    await asyncio.sleep(0.05)  # five times the limit: nothing may happen, so there is nothing to poll
    assert ended.times == 0
    pipe.read(1000)
    await writer.aclose(5)
    assert pipe.bodies() == [b"x"]


async def test_a_slow_client_that_reads_on_is_no_stalled_one() -> None:
    pipe, ended = Pipe(room=0), Ended()
    writer = FrameWriter(pipe, ended, stall_seconds=0.2)
    body = b"x" * (writer_module.BUSY_BYTES + 20 * 65_536)
    writer.send(body)
    for _ in range(40):  # longer in all than the limit
        pipe.read(65_536)
        await asyncio.sleep(0.01)
    assert ended.times == 0
    pipe.read(len(body))
    await writer.aclose(5)
    assert pipe.bodies() == [body]


async def test_a_client_that_is_gone_ends_it(caplog: pytest.LogCaptureFixture) -> None:
    pipe, ended = Pipe(room=0), Ended()
    writer = FrameWriter(pipe, ended)
    writer.send(b"x")
    await asyncio.sleep(0)
    pipe.break_off()
    await until(lambda: ended.times == 1)
    await writer.aclose(5)
    assert "Broken pipe" in caplog.text


async def test_the_end_does_not_wait_for_a_client_that_reads_nothing() -> None:
    pipe = Pipe(room=0)
    writer = FrameWriter(pipe, Ended())
    writer.send(b"x" * 100)
    async with asyncio.timeout(1):
        await writer.aclose(0.01)
    assert pipe.closed


async def test_who_waits_for_a_free_queue_is_called_once_when_it_is_free() -> None:
    pipe = Pipe(room=0)
    writer = FrameWriter(pipe, Ended())
    calls: list[bool] = []
    writer.send(b"x" * (writer_module.BUSY_BYTES + 100_000))
    assert writer.busy
    writer.when_free(lambda: calls.append(writer.busy))
    pipe.read(65_536)
    await asyncio.sleep(0)
    assert calls == []
    pipe.read(10_000_000)
    await until(lambda: bool(calls))
    writer.send(b"y")
    await writer.aclose(5)
    assert calls == [False]
