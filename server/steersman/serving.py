"""The server's process: a connection, and behind it sessions that are put together when first needed.

An editor waits for the answer to `initialize`; what only the work needs is imported after it.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, BinaryIO, cast

from steersman.domain.settings import Settings
from steersman.lsp import tcp, transport
from steersman.sessions.api import SessionApi
from steersman.sessions.client_ports import ClientPorts


def serve_stdio(source: BinaryIO, sink: BinaryIO) -> int:
    """Serve one client on the process's claimed stdin and stdout; the exit code of the process."""
    return transport.serve_stdio(build_late, source, sink)


def serve_tcp(listener: socket.socket, announce: Callable[[str], None]) -> int:
    """Serve the first client that connects; the exit code of the process."""
    return tcp.serve_tcp(build_late, listener, announce)


def build_late(settings: Settings, client: ClientPorts) -> SessionApi:
    """The sessions of one client, made by the first verb that is called."""
    return cast("SessionApi", _LateSessions(partial(_build, settings, client)))


def _build(settings: Settings, client: ClientPorts) -> SessionApi:
    from steersman import composition

    return composition.build(settings, client)


class _LateSessions:
    """Stands for sessions until one of their verbs is called; `warm`, once the client is there, is one."""

    def __init__(self, make: Callable[[], SessionApi]) -> None:
        self._make = make

    @cached_property
    def _made(self) -> SessionApi:
        return self._make()

    def __getattr__(self, verb: str) -> Any:
        return getattr(self._made, verb)

    async def stop(self) -> None:
        """What was never made has nothing to stop."""
        if "_made" in self.__dict__:
            await self._made.stop()
