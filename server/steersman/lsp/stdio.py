"""The process's own stdin and stdout as the connection. Standard library only: it runs first.

Each has a thread of its own: that works for every kind of descriptor, and leaves its blocking mode, which
other processes share, as it is.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import threading
from collections.abc import Callable
from typing import BinaryIO

_Job = tuple[Callable[[], bytes], "asyncio.Future[bytes]"]


def claim() -> tuple[BinaryIO, BinaryIO]:
    """Take fds 0 and 1 for the protocol. What anything prints from now on goes to stderr.

    Child processes inherit neither: fd 0 becomes the null device, fd 1 stderr. Raises OSError if the
    process was started without them.
    """
    source = os.fdopen(os.dup(0), "rb", 0)
    sink = os.fdopen(os.dup(1), "wb", 0)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return source, sink


class StdinSource:
    """Reads the claimed stdin, one piece at a time: what is not wanted yet stays with the client."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._thread = _Thread("lsp-stdin")

    async def read(self, limit: int) -> bytes:
        """Up to `limit` bytes; none at the end of the input. Raises OSError."""
        return await self._thread.run(lambda: os.read(self._source.fileno(), limit))


class StdoutSink:
    """Writes the claimed stdout. A client that does not read blocks this thread and nothing else."""

    def __init__(self, sink: BinaryIO) -> None:
        self._sink = sink
        self._thread = _Thread("lsp-stdout")
        self._written: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Take bytes for the next `drain`."""
        self._written.append(data)

    async def drain(self) -> None:
        """Wait until the operating system has what was written. Raises OSError when nobody reads any more."""
        data, self._written = b"".join(self._written), []
        await self._thread.run(lambda: self._write_all(data))

    def close(self) -> None:
        """The end of the process closes it: a write that blocks may use it until then."""

    def _write_all(self, data: bytes) -> bytes:
        fd = self._sink.fileno()
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(fd, rest) :]
        return b""


class _Thread:
    """Runs blocking jobs in order, on a daemon thread: a job that never ends does not hold the process."""

    def __init__(self, name: str) -> None:
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        threading.Thread(target=self._work, name=name, daemon=True).start()

    async def run(self, job: Callable[[], bytes]) -> bytes:
        done: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._jobs.put((job, done))
        return await done

    def _work(self) -> None:
        while True:
            job, done = self._jobs.get()
            result: bytes | OSError
            try:
                result = job()
            except OSError as error:
                result = error
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                done.get_loop().call_soon_threadsafe(_resolve, done, result)


def _resolve(done: asyncio.Future[bytes], result: bytes | OSError) -> None:
    if done.done():
        return
    if isinstance(result, OSError):
        done.set_exception(result)
    else:
        done.set_result(result)
