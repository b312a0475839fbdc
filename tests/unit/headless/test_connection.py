"""The client's end of JSON-RPC against real processes that misbehave: nobody is left waiting."""

from __future__ import annotations

import asyncio
import logging
import os
from typing import Any

import psutil
import pytest

from steersman.headless.connection import Connection, RequestFailed, ServerGone
from tests.unit.headless.servers import connected

ECHO = """
while True:
    message = read()
    if "id" in message and "method" in message:
        answer(message, message["params"])
"""


async def test_each_request_gets_its_own_answer() -> None:
    script = """
    first, second = read(), read()
    answer(second, "second")
    answer(first, "first")
    read()
    """
    async with connected(script) as server:
        assert await asyncio.gather(server.request("a"), server.request("b")) == ["first", "second"]


async def test_an_error_tells_its_kind() -> None:
    script = """
    error = {"code": -32803, "message": "not now", "data": {"kind": "sessionBusy", "retryable": True}}
    send(id=read()["id"], error=error)
    read()
    """
    async with connected(script) as server:
        with pytest.raises(RequestFailed, match="not now") as raised:
            await server.request("a")
        assert (raised.value.code, raised.value.kind) == (-32803, "sessionBusy")


@pytest.mark.parametrize(
    "nonsense",
    [
        'raw(b"a print that went astray\\n")',
        'raw(b"x" * 3_000_000 + b"\\n")',
        'raw(b"Content-Length: many\\r\\n\\r\\n")',
        'raw(b"Content-Length: " + b"9" * 30 + b"\\r\\n\\r\\n")',
        'body(b"{")',
        'body(b"\\xff\\xfe")',
        'body(b"[" * 100_000)',
        'body(b"[]")',
        "send(id=[1], result=1)",
        "send(id=99, result=1)",
        'send(id=None, method="window/showMessage")',
        'send(id={}, method="workspace/applyEdit")',
        'send(method="$/cancelRequest", params={"id": []})',
        'send(method="no/listener", params=None)',
    ],
)
async def test_nonsense_is_passed_over_and_the_next_message_is_read(nonsense: str) -> None:
    async with connected(f"{nonsense}\n{ECHO}") as server:
        assert await server.request("echo", {"text": "\ud800é😀"}, 10) == {"text": "\ud800é😀"}


async def test_a_request_that_the_client_does_not_know_is_refused() -> None:
    script = """
    start = read()
    send(id="q", method="workspace/nothing")
    answer(start, read()["error"])
    read()
    """
    async with connected(script) as server:
        error = await server.request("start")
        assert error["code"] == -32601
        assert "workspace/nothing" in error["message"]


async def test_a_handler_that_fails_is_answered_with_an_error(caplog: pytest.LogCaptureFixture) -> None:
    script = """
    start = read()
    send(id=7, method="ask")
    answer(start, read()["error"])
    read()
    """

    async def ask(params: Any) -> Any:
        raise OSError("the disk is full")

    async with connected(script) as server:
        server.handlers["ask"] = ask
        with caplog.at_level(logging.CRITICAL):
            error = await server.request("start")
        assert error == {"code": -32603, "message": "the disk is full"}


async def test_a_request_that_the_server_withdraws_is_given_up_and_answered() -> None:
    script = """
    start = read()
    send(id=7, method="ask")
    read()
    send(method="$/cancelRequest", params={"id": 7})
    answer(start, read()["error"]["code"])
    read()
    """
    gave_up = asyncio.Event()

    async with connected(script) as server:

        async def ask(params: Any) -> Any:
            server.notify("asked")
            try:
                await asyncio.Event().wait()
            finally:
                gave_up.set()

        server.handlers["ask"] = ask
        assert await server.request("start") == -32800
        assert gave_up.is_set()


async def test_a_request_without_an_answer_ends_in_time_and_is_withdrawn() -> None:
    script = """
    stuck, cancelled = read(), read()
    answer(read(), [cancelled["method"], cancelled["params"]["id"] == stuck["id"]])
    read()
    """
    async with connected(script) as server:
        with pytest.raises(TimeoutError):
            await server.request("stuck", seconds=0.05)
        assert await server.request("next") == ["$/cancelRequest", True]


async def test_notifications_are_heard_in_order_even_after_one_that_fails(
    caplog: pytest.LogCaptureFixture,
) -> None:
    script = """
    start = read()
    for number in range(200):
        send(method="told", params=number)
    answer(start)
    read()
    """
    heard: list[int] = []

    def listen(number: int) -> None:
        heard.append(number)
        if number == 3:
            raise KeyError("a listener with a defect")

    async with connected(script) as server:
        server.listeners["told"] = listen
        with caplog.at_level(logging.CRITICAL):
            await server.request("start")
        assert heard == list(range(200))


async def test_a_death_fails_what_waits_and_tells_the_last_words() -> None:
    script = """
    read()
    print("the disk is full", file=sys.stderr)
    sys.exit(3)
    """
    async with connected(script) as server:
        with pytest.raises(ServerGone, match=r"(?s)exit code is 3.*the disk is full"):
            await server.request("a")
        with pytest.raises(ServerGone):
            await server.request("b")
        server.notify("c")


async def test_a_death_in_the_middle_of_a_message_is_a_death() -> None:
    script = """
    read()
    raw(b"Content-Length: 1000\\r\\n\\r\\n{")
    os._exit(1)
    """
    async with connected(script) as server:
        with pytest.raises(ServerGone):
            await server.request("a")


async def test_a_server_that_closes_its_output_and_stays_is_ended() -> None:
    script = """
    read()
    os.close(1)
    time.sleep(600)
    """
    async with connected(script) as server:
        with pytest.raises(ServerGone):
            await server.request("a", seconds=20)


async def test_a_process_that_outlives_the_server_and_holds_its_pipes_keeps_nobody_waiting() -> None:
    script = """
    start = read()
    orphan = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    answer(start, orphan.pid)
    read()
    os._exit(1)
    """
    async with connected(script) as server:
        orphan = psutil.Process(await server.request("start"))
        try:
            with pytest.raises(ServerGone):
                await server.request("a", seconds=20)
            assert orphan.is_running()
        finally:
            orphan.kill()


async def test_closing_fails_what_still_waits() -> None:
    async with connected("read(); time.sleep(600)") as server:
        waiting = asyncio.create_task(server.request("a"))
        await asyncio.sleep(0)
        await server.close()
        with pytest.raises(ServerGone):
            await waiting


async def test_a_program_that_is_not_there_is_told() -> None:
    with pytest.raises(FileNotFoundError):
        await Connection.start(["/no/such/program"])


@pytest.mark.skipif(os.name != "posix", reason="process groups are those of POSIX")
async def test_the_server_is_in_no_process_group_of_the_terminal() -> None:
    async with connected(ECHO) as server:
        assert os.getpgid(server.pid) != os.getpgid(0)
