"""A server's process and its three pipes. Its end is told at once, whoever else still holds its pipes."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

_STREAM_LIMIT: Final = 1 << 20
"""Bytes of one line. Longer ones are dropped by who reads lines."""


class ServerProcess(asyncio.SubprocessProtocol):
    """Made by `start`, ended by `close`. `stdout` and `stderr` are what it says."""

    def __init__(self) -> None:
        self.stdout = asyncio.StreamReader(limit=_STREAM_LIMIT)
        self.stderr = asyncio.StreamReader(limit=_STREAM_LIMIT)
        self.exited = asyncio.Event()
        self._transport: asyncio.SubprocessTransport | None = None

    @classmethod
    async def start(cls, command: Sequence[str], env: Mapping[str, str] | None) -> ServerProcess:
        """Start it, in a group that no key of the client's terminal reaches: Ctrl-C is the client's alone.

        Raises OSError where the program cannot be started.
        """
        _, process = await asyncio.get_running_loop().subprocess_exec(
            cls, *command, env=dict(env) if env is not None else None, **_own_group()
        )
        return process

    @property
    def pid(self) -> int:
        return self._started.get_pid()

    @property
    def exit_code(self) -> int | None:
        """None while it runs. Negative: the signal that ended it."""
        return self._started.get_returncode()

    def write(self, data: bytes) -> None:
        """Send to its stdin without waiting. What it no longer reads is lost."""
        stdin = self._started.get_pipe_transport(0)
        if isinstance(stdin, asyncio.WriteTransport) and not stdin.is_closing():
            stdin.write(data)

    def kill(self) -> None:
        if self.exit_code is None:
            with contextlib.suppress(ProcessLookupError):
                self._started.kill()

    async def close(self) -> None:
        """End it, if it has not ended, and let go of its pipes."""
        self.kill()
        await self.exited.wait()
        self._started.close()

    @property
    def _started(self) -> asyncio.SubprocessTransport:
        if self._transport is None:
            raise AssertionError("the process has not been started")
        return self._transport

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.SubprocessTransport):
            self._transport = transport

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        (self.stdout if fd == 1 else self.stderr).feed_data(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd > 0:
            (self.stdout if fd == 1 else self.stderr).feed_eof()

    def process_exited(self) -> None:
        self.exited.set()


def _own_group() -> dict[str, Any]:
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}
