"""One connection from its first byte to the ordered stop, with our own main coroutine, reader and writer.

End of input, `exit`, SIGTERM, SIGINT, a dead parent and a stalled client all end in the same way: stop the
sessions in order, let the last answers leave, give the exit code of the LSP specification.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import threading
from typing import BinaryIO, Final, Protocol

from steersman.lsp.decoding import PARSE_ERROR
from steersman.lsp.framing import BadFrame, FrameDecoder
from steersman.lsp.protocol import SteersmanProtocol
from steersman.lsp.server import Build, SteersmanServer
from steersman.lsp.stdio import StdinSource, StdoutSink
from steersman.lsp.writer import STALL_BYTES, STALL_SECONDS, FrameWriter, Sink

log = logging.getLogger(__name__)
HARD_END_SECONDS: Final = 1.95
"""After an ordered stop has begun, the process is gone after so long, whatever hangs."""
_READ: Final = 64 * 1024


class Source(Protocol):
    """Where bytes come from; an `asyncio.StreamReader` is one."""

    async def read(self, limit: int, /) -> bytes:
        """Up to `limit` bytes, none at the end. Raises OSError."""
        ...


async def serve(
    build: Build,
    source: Source,
    sink: Sink,
    *,
    stall_bytes: int = STALL_BYTES,
    stall_seconds: float = STALL_SECONDS,
    hard_end: bool = False,
) -> int:
    """Serve one client; the exit code: 0 after `shutdown`, else 1.

    `hard_end` arms the last resort, which ends this very process.
    """
    ended = asyncio.Event()
    server = SteersmanServer(build, ended.set)
    writer = FrameWriter(sink, ended.set, stall_bytes=stall_bytes, stall_seconds=stall_seconds)
    server.protocol.attach(writer)
    reading = asyncio.create_task(_read(source, server.protocol), name="lsp-reader")
    ending = asyncio.create_task(ended.wait())
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(number, ended.set)
    await asyncio.wait({reading, ending}, return_when=asyncio.FIRST_COMPLETED)
    code = reading.result() if reading.done() and not reading.cancelled() else 1
    if hard_end:
        _arm_hard_end(code)
    # Still reading: the client may answer what the sessions need for their last words.
    await asyncio.wait({server.stop()})
    for task in (reading, ending):
        task.cancel()
    await writer.aclose()
    return code


async def _read(source: Source, protocol: SteersmanProtocol) -> int:
    """Take messages until the input ends or `exit` comes; the exit code."""
    decoder = FrameDecoder()
    with contextlib.suppress(OSError):
        while data := await source.read(_READ):
            for found in decoder.feed(data):
                try:
                    _take(found, protocol)
                except SystemExit as end:
                    return int(end.code or 0)
                # A burst of messages must not keep everything else from running.
                await asyncio.sleep(0)
    return 0 if protocol.is_shut_down else 1


def _take(found: bytes | BadFrame, protocol: SteersmanProtocol) -> None:
    if isinstance(found, BadFrame):
        protocol.send_error(None, PARSE_ERROR, f"A malformed frame: {found.reason}.")
    else:
        protocol.receive(found)


def _arm_hard_end(code: int) -> None:
    timer = threading.Timer(HARD_END_SECONDS, os._exit, [code])
    timer.daemon = True
    timer.start()


def log_to_stderr() -> None:
    """Warnings and errors of the process go to stderr, which editors show as the server's log."""
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s"
    )


def serve_stdio(build: Build, source: BinaryIO, sink: BinaryIO) -> int:
    """Serve on the claimed stdin and stdout until the client is gone; the exit code of the process."""
    log_to_stderr()

    async def main() -> int:
        return await serve(build, StdinSource(source), StdoutSink(sink), hard_end=True)

    return asyncio.run(main())
