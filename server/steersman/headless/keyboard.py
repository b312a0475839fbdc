"""Reading a line that a person types, in a way that a withdrawn question or Ctrl-C can end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from typing import Final

_LINE_BYTES: Final = 4096


def forget_typed() -> None:
    """Throw away what was typed so far: it cannot have been meant for a question that is not yet asked."""
    try:
        import termios
    except ImportError:  # Windows
        return
    with contextlib.suppress(termios.error):
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


async def typed_line() -> str:
    """The next line typed at the terminal of stdin; empty at its end."""
    descriptor = sys.stdin.fileno()
    line = await (_in_thread(descriptor) if sys.platform == "win32" else _when_ready(descriptor))
    return line.decode("utf-8", "replace")


async def _when_ready(descriptor: int) -> bytes:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)
    return _read(descriptor)


async def _in_thread(descriptor: int) -> bytes:
    """For event loops that cannot wait for a terminal. A read that is given up eats the next line."""
    loop = asyncio.get_running_loop()
    read: asyncio.Future[bytes] = loop.create_future()

    def tell(line: bytes) -> None:
        if not read.done():
            read.set_result(line)

    def work() -> None:
        line = _read(descriptor)
        with contextlib.suppress(RuntimeError):  # the loop has ended: nobody waits any more
            loop.call_soon_threadsafe(tell, line)

    threading.Thread(target=work, name="keyboard", daemon=True).start()
    return await read


def _read(descriptor: int) -> bytes:
    """One line: a terminal gives no more at once. A terminal that is gone has come to its end."""
    try:
        return os.read(descriptor, _LINE_BYTES)
    except OSError:
        return b""
