"""What goes to the client: a queue bounded in bytes and one task that drains it. Writing never blocks."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from steersman.lsp.framing import frame

STALL_BYTES: Final = 32 * 1024 * 1024
STALL_SECONDS: Final = 30.0


class FrameWriter:
    """Queues frames in order. A client that reads nothing is told of by `stalled`, once.

    Stalled means: more than `stall_bytes` wait, or nothing moved for `stall_seconds` while something waits.
    """

    def __init__(
        self,
        sink: asyncio.StreamWriter,
        stalled: Callable[[], None],
        *,
        stall_bytes: int = STALL_BYTES,
        stall_seconds: float = STALL_SECONDS,
    ) -> None:
        self._sink = sink
        self._stalled = stalled
        self._stall_bytes = stall_bytes
        self._stall_seconds = stall_seconds
        self._frames: deque[bytes] = deque()
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._closed = False
        self.waiting_bytes = 0
        self._pump = asyncio.create_task(self._run(), name="lsp-writer")

    def send(self, body: bytes) -> None:
        """Queue one message. After the end of the connection it is dropped."""
        if self._closed:
            return
        data = frame(body)
        self._frames.append(data)
        self.waiting_bytes += len(data)
        self._idle.clear()
        self._wake.set()
        if self.waiting_bytes > self._stall_bytes:
            self._end()

    def write(self, data: bytes) -> None:
        """The writer interface of pygls, which frames nothing when told not to: `data` is a body."""
        self.send(data)

    def close(self) -> None:
        """pygls closes its writer on `exit`; the ordered stop does it instead (`aclose`)."""

    async def aclose(self, seconds: float = 0.5) -> None:
        """Give what is queued so long to leave, then end."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._idle.wait()
        self._closed = True
        self._pump.cancel()
        with suppress(asyncio.CancelledError):
            await self._pump
        self._sink.close()

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            batch = b"".join(self._frames)
            self._frames.clear()
            try:
                self._sink.write(batch)
                async with asyncio.timeout(self._stall_seconds):
                    await self._sink.drain()
            except (TimeoutError, OSError):
                self._end()
                return
            self.waiting_bytes -= len(batch)
            if not self._frames:
                self._idle.set()

    def _end(self) -> None:
        if not self._closed:
            self._closed = True
            self._idle.set()
            self._stalled()
