"""`serve --tcp` as a process: one client, and the end of it is the end of the server."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from pathlib import Path

import pytest

from tests.e2e.conftest import Steersman
from tests.e2e.editor import listening
from tests.e2e.test_process_life import GONE_SECONDS, Server, none_left, sleeping
from tests.lsp.wire import Wire


async def connected(env: dict[str, str], folder: Path, tmp_path: Path) -> tuple[Server, int]:
    """A server whose one client is here, initialized."""
    process, port = await listening(env)
    server = Server(process, Wire(*await asyncio.open_connection("127.0.0.1", port)))
    params = {"processId": None, "capabilities": {}, "rootUri": folder.as_uri()}
    asked = server.wire.ask("initialize", params | {"initializationOptions": sleeping(tmp_path)})
    async with asyncio.timeout(20):
        await server.wire.answer(asked)
    server.wire.tell("initialized", {})
    return server, port


async def test_a_second_client_is_refused_and_the_first_stays(
    tmp_path: Path, clean_env: dict[str, str]
) -> None:
    server, port = await connected(clean_env, tmp_path, tmp_path)
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)
    status = await server.wire.answer(server.wire.ask("steersman/status", {}))
    assert status["result"]["protocolVersion"] == 1
    server.wire.writer.close()
    assert await server.code() == 1


async def test_a_client_that_waits_behind_the_first_is_refused_too(
    tmp_path: Path, clean_env: dict[str, str]
) -> None:
    process, port = await listening(clean_env)
    first = socket.create_connection(("127.0.0.1", port))
    # Where the port is closed already this is refused; else the system lets it in, and the server drops it.
    with contextlib.suppress(ConnectionError), socket.create_connection(("127.0.0.1", port)) as second:
        second.settimeout(GONE_SECONDS)
        assert second.recv(1) == b""
    first.close()
    assert await asyncio.wait_for(process.wait(), GONE_SECONDS) == 1


@pytest.mark.parametrize("way", ["shutdown and exit", "closed", "broken", "SIGTERM"])
async def test_when_the_client_goes_the_server_goes_and_leaves_no_process(
    tmp_path: Path, clean_env: dict[str, str], way: str
) -> None:
    server, _ = await connected(clean_env, tmp_path, tmp_path)
    family = await server.running_a_command(tmp_path)
    match way:
        case "shutdown and exit":
            await server.wire.answer(server.wire.ask("shutdown"))
            server.wire.tell("exit")
        case "closed":
            server.wire.writer.close()
        case "broken":
            server.wire.writer.transport.abort()
        case _:
            server.process.send_signal(signal.SIGTERM)
    assert await server.code() == (0 if way == "shutdown and exit" else 1)
    none_left(family)
    server.wire.writer.close()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--tcp", "nowhere"), "such as 127.0.0.1:7000"),
        (("--tcp", "0.0.0.0:0"), "add --remote if you mean it"),
        (("--tcp", "no.such.host.invalid:1"), "cannot listen on no.such.host.invalid:1"),
        (("--remote",), "--remote goes with --tcp"),
    ],
)
def test_an_address_that_cannot_be_used_is_told(
    steersman: Steersman, words: tuple[str, ...], says: str
) -> None:
    ended = steersman("serve", *words)
    assert ended.returncode == 2
    assert says in ended.stderr
    assert "Traceback" not in ended.stderr
