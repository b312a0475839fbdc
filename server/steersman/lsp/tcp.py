"""A TCP connection instead of stdin and stdout: for one client, and on this machine unless told otherwise.

Whoever connects first is the client, and it can do what the person can: that is why the address is checked.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
from collections.abc import Callable

from steersman.lsp.server import Build
from steersman.lsp.transport import log_to_stderr, serve


def parse_address(text: str) -> tuple[str, int]:
    """`HOST:PORT`, an IPv6 host in brackets; port 0 lets the system choose. Raises ValueError."""
    host, colon, port = text.rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not colon or not bare or (":" in bare and bare == host):
        raise ValueError(f"{text!r} is not HOST:PORT, such as 127.0.0.1:7000 or [::1]:7000")
    if not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise ValueError(f"{port!r} is not a port: it must be a number from 0 to 65535")
    return bare, int(port)


def listen(host: str, port: int, *, remote: bool = False) -> socket.socket:
    """A socket that waits for a client.

    Raises:
        ValueError: the host is not only this machine, and `remote` was not set.
        OSError: there is no such host, or the port is taken.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    addresses = [str(info[4][0]) for info in found]
    if not remote and not all(ipaddress.ip_address(a.partition("%")[0]).is_loopback for a in addresses):
        raise ValueError(
            f"{host} can be reached from other machines, and whoever connects can run commands here: "
            "use 127.0.0.1, or add --remote if you mean it"
        )
    family, kind, protocol, _, address = found[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(1)
    except OSError:
        listener.close()
        raise
    return listener


def serve_tcp(build: Build, listener: socket.socket, announce: Callable[[str], None]) -> int:
    """Tell where it listens, serve the first client that connects, and end with it; the exit code.

    From the first connection on the port is closed: the system refuses everybody else.
    """
    log_to_stderr()
    host, port = listener.getsockname()[:2]
    announce(f"steersman: listening on {f'[{host}]' if ':' in host else host}:{port}")
    return asyncio.run(_serve_first(build, listener))


async def _serve_first(build: Build, listener: socket.socket) -> int:
    with listener:
        listener.setblocking(False)
        connection, _ = await asyncio.get_running_loop().sock_accept(listener)
    reader, writer = await asyncio.open_connection(sock=connection)
    # What counts as written has left: else a client that reads nothing would look like one that does.
    writer.transport.set_write_buffer_limits(high=0)
    code = await serve(build, reader, writer, hard_end=True)
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(0.2):
            await writer.wait_closed()
    return code
