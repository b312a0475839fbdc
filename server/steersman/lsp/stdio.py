"""The process's own stdin and stdout as the connection. Standard library only: it runs first."""

from __future__ import annotations

import asyncio
import os
from typing import BinaryIO

BUFFER = 1 << 20


def claim() -> tuple[BinaryIO, BinaryIO]:
    """Take fds 0 and 1 for the protocol. What anything prints from now on goes to stderr.

    Child processes inherit neither: fd 0 becomes the null device, fd 1 stderr.
    """
    source = os.fdopen(os.dup(0), "rb", 0)
    sink = os.fdopen(os.dup(1), "wb", 0)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return source, sink


async def streams(source: BinaryIO, sink: BinaryIO) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """asyncio streams over pipes, sockets or a terminal. Raises ValueError for a plain file."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=BUFFER)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), source)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, sink)
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)
