"""What goes to the client: a queue bounded in bytes, and one task that drains it. Queueing never blocks."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from steersman.lsp.framing import frame

log = logging.getLogger(__name__)

BUSY_BYTES: Final = 1024 * 1024
"""More than this waiting, and what can be put together waits too (`when_free`)."""
STALL_BYTES: Final = 128 * 1024 * 1024
STALL_SECONDS: Final = 30.0
_PIECE: Final = 64 * 1024


class Sink(Protocol):
    """Where bytes go; an `asyncio.StreamWriter` is one."""

    def write(self, data: bytes) -> None: ...

    async def drain(self) -> None:
        """Wait until more can be written. Raises OSError when nobody reads any more."""
        ...

    def close(self) -> None: ...


class FrameWriter:
    """Sends bodies as frames, in order. A client that is gone or reads nothing is told of by `ended`, once.

    It reads nothing when a long queue (`BUSY_BYTES`) does not move for `stall_seconds`, and at once when
    more than `stall_bytes` wait.
    """

    def __init__(
        self,
        sink: Sink,
        ended: Callable[[], None],
        *,
        stall_bytes: int = STALL_BYTES,
        stall_seconds: float = STALL_SECONDS,
    ) -> None:
        self._sink = sink
        self._ended = ended
        self._stall_bytes = stall_bytes
        self._stall_seconds = stall_seconds
        self._busy_bytes = min(BUSY_BYTES, stall_bytes)
        self._frames: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._closed = False
        self._when_free: list[Callable[[], None]] = []
        self._stall: asyncio.TimerHandle | None = None
        self._pump = asyncio.create_task(self._run(), name="lsp-writer")

    @property
    def busy(self) -> bool:
        """Whether the client lags behind."""
        return self._waiting_bytes > self._busy_bytes

    def when_free(self, callback: Callable[[], None]) -> None:
        """Call once, as soon as the client has caught up."""
        self._when_free.append(callback)

    def send(self, body: bytes) -> None:
        """Queue one message. After the end of the connection it is dropped."""
        if self._closed:
            return
        # One long message is no stall: only what was waiting before it counts.
        stalled = self._waiting_bytes > self._stall_bytes
        data = frame(body)
        self._frames.append(data)
        self._waiting_bytes += len(data)
        self._idle.clear()
        self._wake.set()
        if stalled:
            self._end("it does not read what it is sent")
        elif self.busy and self._stall is None:
            self._expect_progress()

    async def aclose(self, seconds: float = 0.2) -> None:
        """Give what is queued so long to leave, then end."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._idle.wait()
        self._close()
        self._pump.cancel()
        await asyncio.wait({self._pump})
        self._sink.close()

    async def _run(self) -> None:
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                while self._frames:
                    await self._write(self._take())
                self._idle.set()
        except OSError as error:
            self._end(error.strerror or type(error).__name__)

    def _take(self) -> bytes:
        """The next frame, and with it the small ones behind it that fit one piece."""
        frames = [self._frames.popleft()]
        size = len(frames[0])
        while self._frames and size + len(self._frames[0]) <= _PIECE:
            frames.append(self._frames.popleft())
            size += len(frames[-1])
        return b"".join(frames)

    async def _write(self, data: bytes) -> None:
        for start in range(0, len(data), _PIECE):
            piece = data[start : start + _PIECE]
            self._sink.write(piece)
            await self._sink.drain()
            self._waiting_bytes -= len(piece)
            self._progressed()

    def _progressed(self) -> None:
        self._forget_stall()
        if self.busy:
            self._expect_progress()
            return
        callbacks, self._when_free = self._when_free, []
        for callback in callbacks:
            callback()

    def _expect_progress(self) -> None:
        reason = f"it read nothing for {self._stall_seconds:g} s"
        self._stall = asyncio.get_running_loop().call_later(self._stall_seconds, self._end, reason)

    def _forget_stall(self) -> None:
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    def _end(self, reason: str) -> None:
        if not self._closed:
            log.warning("The client is gone: %s", reason)
            self._close()
            self._ended()

    def _close(self) -> None:
        self._closed = True
        self._frames.clear()
        self._when_free.clear()
        self._idle.set()
        self._forget_stall()
