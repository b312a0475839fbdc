"""One connection: malformed bytes, text of every kind, the ways to end, and clients that do not listen."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from steersman.domain.events import StoredEvent
from steersman.errors import StorageFailed
from steersman.lsp.framing import frame
from steersman.lsp.protocol import ClientError
from steersman.sessions import requests as rq
from tests.lsp.wire import EXPERIMENTAL, Served, served


def message(**members: Any) -> bytes:
    return frame(json.dumps({"jsonrpc": "2.0", **members}).encode())


PING = message(id="ping", method="steersman/nothing")


async def still_serves(desk: Served) -> None:
    desk.wire.send_bytes(PING)
    while True:
        answer = await desk.wire.receive()
        if answer.get("id") == "ping":
            assert answer["error"]["code"] == -32601
            return


@pytest.mark.parametrize(
    "junk",
    [
        b"\r\n\r\n",
        b"hello\r\n",
        b"Content-Length: x\r\n\r\n",
        b"Content-Length: -5\r\n\r\n",
        b"Content-Length: 999999999999999999999999\r\n\r\n",
        b"Content-Length: 3\r\nContent-Length: 4\r\n\r\n",
        b"Content-Type: application/json\r\n\r\n",
        b"x" * 3_000_000 + b"\r\n",
        frame(b""),
        frame(b"{"),
        frame(b"[]"),
        frame(b"null"),
        frame(b"5"),
        frame(b'"text"'),
        frame(b"{}"),
        frame(b"\xff\xfe"),
        frame(b"[" * 100_000),
        message(id=True, method="steersman/status"),
        message(id=1.5, method="steersman/status"),
        message(id={}, method="steersman/status"),
        message(id=7, method=7),
        message(id=7, result=1),
        message(id="s-unknown", result=1),
        message(id="s-unknown", error="odd"),
        message(method="textDocument/didOpen", params={"nonsense": True}),
        message(method="textDocument/didChange", params=None),
        message(method="workspace/didChangeWorkspaceFolders", params=[]),
    ],
    ids=lambda junk: repr(junk[:30]),
)
async def test_nothing_that_a_client_sends_ends_the_server(junk: bytes) -> None:
    async with served() as desk:
        await desk.wire.initialize()
        desk.wire.send_bytes(junk)
        await still_serves(desk)


async def test_a_length_that_nobody_sends_does_not_keep_the_server_waiting() -> None:
    async with served() as desk:
        await desk.wire.initialize()
        desk.wire.send_bytes(b"Content-Length: 999999999999\r\n\r\n" + PING)
        bad, answer = await desk.wire.receive(), await desk.wire.receive()
        assert (bad["id"], bad["error"]["code"]) == (None, -32700)
        assert answer["id"] == "ping"


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"1e999"])
async def test_a_number_that_json_does_not_have_is_refused(number: bytes) -> None:
    async with served() as desk:
        await desk.wire.initialize()
        body = b'{"jsonrpc":"2.0","id":1,"method":"steersman/status","params":{"x":%b}}' % number
        desk.wire.send_bytes(frame(body))
        assert (await desk.wire.receive())["error"]["code"] == -32700
        await still_serves(desk)


@pytest.mark.parametrize("depth", [100, 800, 990, 5000])
@pytest.mark.parametrize("method", ["steersman/status", "textDocument/hover", "workspace/executeCommand"])
async def test_params_of_any_depth_are_answered(depth: int, method: str) -> None:
    async with served() as desk:
        await desk.wire.initialize()
        deep = b"[" * depth + b'"\\ud800"' + b"]" * depth
        desk.wire.send_bytes(
            frame(b'{"jsonrpc":"2.0","id":1,"method":"%b","params":%b}' % (method.encode(), deep))
        )
        assert (await desk.wire.receive())["error"]["code"] in (-32700, -32602, -32601, -32603)
        await still_serves(desk)


async def test_halves_of_a_pair_that_are_typed_one_after_the_other_become_one_character(
    tmp_path: Path,
) -> None:
    async with served() as desk:
        await desk.wire.initialize()
        path = tmp_path / "a.txt"
        item = {"uri": path.as_uri(), "languageId": "x", "version": 1, "text": ""}
        desk.wire.tell("textDocument/didOpen", {"textDocument": item})
        for column, half in enumerate(("\ud83d", "\ude00")):
            place = {"line": 0, "character": column}
            change = {"range": {"start": place, "end": place}, "text": half}
            known = {"uri": path.as_uri(), "version": 2 + column}
            desk.wire.tell("textDocument/didChange", {"textDocument": known, "contentChanges": [change]})
        await still_serves(desk)
        assert desk.ports is not None
        document = await desk.ports.editor.read(path)
        assert document is not None
        assert document.text == "😀"


async def test_a_header_in_another_case_and_with_other_headers_is_a_header() -> None:
    async with served() as desk:
        await desk.wire.initialize()
        body = json.dumps({"jsonrpc": "2.0", "id": 5, "method": "steersman/nothing"}).encode()
        header = b"content-type: x; charset=utf-8\r\ncontent-LENGTH:%d\r\n\r\n" % len(body)
        desk.wire.send_bytes(header + body)
        assert (await desk.wire.receive())["error"]["code"] == -32601


async def test_a_message_may_come_in_any_pieces() -> None:
    async with served() as desk:
        await desk.wire.initialize()
        for cut in range(1, len(PING), 7):
            desk.wire.send_bytes(PING[:cut])
            await asyncio.sleep(0)
            desk.wire.send_bytes(PING[cut:])
            assert (await desk.wire.receive())["id"] == "ping"


async def test_a_message_of_8_mb_is_taken() -> None:
    async with served() as desk:
        await desk.wire.initialize()
        asked = desk.wire.ask("steersman/turn/prompt", {"sessionId": "s", "text": "é" * 4_000_000})
        while not desk.sessions.futures:
            await asyncio.sleep(0.001)
        desk.sessions.futures[0].set_result(rq.Accepted(message_id="m", outcome="started"))
        await desk.wire.answer(asked)
        assert len(desk.sessions.called[0][1].text) == 4_000_000


TEXTS = ["中文", "😀🏳️‍🌈", "e\u0301", "\u2028\u0085", "\x00\x1b[31m", "a\ud800b", "\udfff"]


WHOLE = [text for text in TEXTS if not any("\ud800" <= c <= "\udfff" for c in text)]


@pytest.mark.parametrize(
    ("text", "ascii_only"), [*((t, True) for t in TEXTS), *((t, False) for t in WHOLE)], ids=ascii
)
async def test_text_of_every_kind_passes_both_ways(text: str, ascii_only: bool) -> None:
    async with served() as desk:
        await desk.wire.initialize()
        request = {"jsonrpc": "2.0", "id": 9, "method": "steersman/session/rename"}
        desk.wire.send(request | {"params": {"sessionId": "s", "title": text}}, ascii_only=ascii_only)
        while not desk.sessions.futures:
            await asyncio.sleep(0)
        desk.sessions.futures[0].set_result(rq.RenameSession(session_id="s", title=text))
        echoed = (await desk.wire.answer(9))["result"]["title"]
        assert echoed == "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)


async def test_ten_thousand_mixed_messages_leave_both_ends_agreed() -> None:
    async with served() as desk:
        await desk.wire.initialize()
        for n in range(10_000):
            if n % 3 == 0:
                desk.wire.tell("$/setTrace", {"value": "off"})
            elif n % 3 == 1:
                desk.wire.send_bytes(message(id=n, method="steersman/nothing", params={"t": TEXTS[n % 5]}))
            else:
                desk.wire.send_bytes(b"garbage\r\n\r\n")
        seen = set()
        while len(seen) < 3333:
            answer = await desk.wire.receive()
            if answer["id"] is not None:
                seen.add(answer["id"])
        await still_serves(desk)


async def test_data_that_looks_like_a_message_is_data() -> None:
    async with served() as desk:
        await desk.wire.initialize()
        params = {"sessionId": "s", "text": "x", "messageId": "m", "extra": {"jsonrpc": "2.0", "id": 3}}
        asked = desk.wire.ask("steersman/turn/prompt", params)
        while not desk.sessions.futures:
            await asyncio.sleep(0)
        desk.sessions.futures[0].set_result(rq.Nothing())
        assert (await desk.wire.answer(asked))["result"] == {}


async def test_before_initialize_nothing_is_answered_but_initialize() -> None:
    async with served() as desk:
        assert (await desk.wire.error("steersman/status"))["code"] == -32002
        assert (await desk.wire.error("textDocument/hover", {}))["code"] == -32002
        desk.wire.tell("textDocument/didOpen", {})
        await desk.wire.initialize()
        assert (await desk.wire.error("initialize", {"capabilities": {}}))["code"] == -32600


async def test_bad_initialize_params_are_answered_and_can_be_corrected() -> None:
    async with served() as desk:
        assert (await desk.wire.error("initialize", {"capabilities": 5}))["code"] == -32602
        await desk.wire.initialize()


@pytest.mark.parametrize(
    ("failure", "code", "kind"),
    [
        (StorageFailed("The state folder is full."), -32803, "storage"),
        (ZeroDivisionError("secret path /home/me"), -32603, "internal"),
    ],
)
async def test_a_server_that_cannot_be_built_says_why_without_a_traceback_and_may_be_tried_again(
    failure: Exception, code: int, kind: str
) -> None:
    async with served() as desk:
        desk.build_fails = failure
        error = await desk.wire.error("initialize", {"capabilities": {}})
        assert (error["code"], error["data"]["kind"]) == (code, kind)
        assert "secret" not in str(error)
        assert "Traceback" not in str(error)
        desk.build_fails = None
        await desk.wire.initialize()
        await still_serves(desk)


async def test_what_the_server_offers_is_told_in_initialize() -> None:
    async with served() as desk:
        capabilities = {"general": {"positionEncodings": ["utf-8", "utf-16"]}}
        result = await desk.wire.initialize(capabilities)
        ours = result["capabilities"]["experimental"]["steersman"]
        assert ours["protocolVersion"] == 1
        assert {"sessions", "steer"} <= set(ours)
        assert "turn/start" in ours["eventTypes"]
        assert result["capabilities"]["positionEncoding"] == "utf-8"
        assert result["serverInfo"]["name"] == "steersman"


async def test_what_the_first_turn_needs_is_made_ready_once_the_client_is_initialized() -> None:
    async with served() as desk:
        await desk.wire.answer(desk.wire.ask("initialize", {"capabilities": {}}))
        assert desk.sessions.warmed == 0
        desk.wire.tell("initialized", {})
        await still_serves(desk)
        assert desk.sessions.warmed == 1


async def test_settings_that_do_not_fit_are_told_once_and_the_rest_holds() -> None:
    async with served() as desk:
        options = {
            "loop": {"maxParallelTools": 3, "maxStepsPerTurn": "many"},
            "colour": "red",
            "apiKey": "sk-1",
        }
        await desk.wire.initialize(options=options)
        told = await desk.wire.receive()
        assert told["method"] == "window/showMessage"
        text = told["params"]["message"]
        assert all(name in text for name in ("loop.maxStepsPerTurn", "colour", "apiKey"))
        assert "sk-1" not in text
        assert desk.settings is not None
        assert (desk.settings.loop.max_parallel_tools, desk.settings.loop.max_steps_per_turn) == (3, 200)
        await still_serves(desk)


async def test_shutdown_is_answered_when_the_sessions_have_stopped() -> None:
    async with served() as desk:
        await desk.wire.initialize(EXPERIMENTAL)
        assert desk.ports is not None
        desk.sessions.last_words = lambda: desk.ports.feed.appended(  # type: ignore[union-attr]
            "s", [StoredEvent(seq=9, time=1, type="turn/end", data=b"{}")]
        )
        ending = desk.wire.ask("shutdown")
        told, answer = await desk.wire.receive(), await desk.wire.receive()
        assert told["params"]["events"][0]["seq"] == 9
        assert answer["id"] == ending


async def test_shutdown_then_exit_ends_with_0_and_refuses_what_comes_between() -> None:
    async with served() as desk:
        await desk.wire.initialize()
        assert (await desk.wire.answer(desk.wire.ask("shutdown")))["result"] is None
        assert (await desk.wire.error("steersman/status"))["code"] == -32600
        desk.wire.tell("exit")
        assert await desk.code() == 0
        assert desk.sessions.stopped == 1


@pytest.mark.parametrize("before", ["nothing", "initialize"])
async def test_exit_without_shutdown_ends_with_1(before: str) -> None:
    async with served() as desk:
        if before == "initialize":
            await desk.wire.initialize()
        desk.wire.tell("exit")
        assert await desk.code() == 1
        assert desk.sessions.stopped == (1 if before == "initialize" else 0)


async def test_the_end_of_the_input_is_an_ordered_stop() -> None:
    async with served() as desk:
        await desk.wire.initialize()
        desk.wire.send_bytes(b"Content-Length: 50\r\n\r\n{half")
        desk.wire.writer.write_eof()
        assert await desk.code() == 1
        assert desk.sessions.stopped == 1


async def test_a_client_that_reads_nothing_ends_the_server_in_order() -> None:
    async with served(stall_bytes=200_000, stall_seconds=30) as desk:
        await desk.wire.initialize(EXPERIMENTAL)
        assert desk.ports is not None
        row = StoredEvent(seq=1, time=1, type="x", data=b'"' + b"x" * 50_000 + b'"')
        # The client's transport is paused: what the server sends stays with it.
        desk.wire.reader._transport.pause_reading()  # type: ignore[attr-defined]
        for _ in range(200):
            desk.ports.feed.appended("s", [row])
            await asyncio.sleep(0)
        assert await desk.code() == 1
        assert desk.sessions.stopped == 1


async def test_a_client_that_reads_nothing_does_not_stop_the_server_from_listening() -> None:
    async with served() as desk:
        await desk.wire.initialize(EXPERIMENTAL)
        assert desk.ports is not None
        row = StoredEvent(seq=1, time=1, type="x", data=b'"' + b"x" * 50_000 + b'"')
        desk.wire.reader._transport.pause_reading()  # type: ignore[attr-defined]
        for _ in range(100):
            desk.ports.feed.appended("s", [row])
        desk.wire.ask("steersman/turn/cancel", {"sessionId": "s"})
        async with asyncio.timeout(2):
            while not desk.sessions.called:
                await asyncio.sleep(0.001)
        desk.wire.reader._transport.resume_reading()  # type: ignore[attr-defined]


async def test_a_long_batch_is_told_in_frames_of_a_bearable_size() -> None:
    async with served() as desk:
        await desk.wire.initialize(EXPERIMENTAL)
        assert desk.ports is not None
        rows = [StoredEvent(seq=n, time=1, type="x", data=b'"' + b"x" * 60_000 + b'"') for n in range(20)]
        desk.ports.feed.appended("s", rows)
        seen: list[int] = []
        while len(seen) < 20:
            part = (await desk.wire.receive())["params"]["events"]
            assert sum(len(e["data"]) for e in part) < 256 * 1024
            seen += [e["seq"] for e in part]
        assert seen == list(range(20))


async def test_a_client_without_the_extension_gets_no_notification_of_it() -> None:
    async with served() as desk:
        await desk.wire.initialize()
        assert desk.ports is not None
        desk.ports.feed.appended("s", [StoredEvent(seq=1, time=1, type="x", data=b"{}")])
        desk.wire.send_bytes(PING)
        assert (await desk.wire.receive())["id"] == "ping"


async def asked_client(desk: Served, seconds: float = 5.0) -> tuple[asyncio.Task[Any], Any]:
    """A request of the server's to the client, and how it arrived there."""
    assert desk.ports is not None
    protocol = desk.ports.approvals._channel  # type: ignore[attr-defined]
    task = asyncio.create_task(protocol.call("client/thing", {"a": 1}, timeout=seconds))
    return task, await desk.wire.receive()


async def test_a_request_to_the_client_gets_its_plain_answer() -> None:
    async with served() as desk:
        await desk.wire.initialize()
        task, request = await asked_client(desk)
        desk.wire.send({"jsonrpc": "2.0", "id": request["id"], "result": {"fine": [1]}})
        assert await task == {"fine": [1]}


async def test_an_answer_without_a_result_is_null() -> None:
    async with served() as desk:
        await desk.wire.initialize()
        task, request = await asked_client(desk)
        desk.wire.send({"jsonrpc": "2.0", "id": request["id"]})
        assert await task is None


async def test_an_error_of_the_client_is_an_exception_with_its_code() -> None:
    async with served() as desk:
        await desk.wire.initialize()
        task, request = await asked_client(desk)
        desk.wire.send({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -1, "message": "no"}})
        with pytest.raises(ClientError, match="no"):
            await task


async def test_a_client_that_never_answers_is_told_to_forget_it(caplog: pytest.LogCaptureFixture) -> None:
    async with served() as desk:
        await desk.wire.initialize()
        task, request = await asked_client(desk, 0.02)
        with pytest.raises(TimeoutError):
            await task
        withdrawn = await desk.wire.receive()
        assert (withdrawn["method"], withdrawn["params"]) == ("$/cancelRequest", {"id": request["id"]})
        with caplog.at_level(logging.WARNING):
            for _ in range(2):
                desk.wire.send({"jsonrpc": "2.0", "id": request["id"], "result": 1})
            await still_serves(desk)
        assert caplog.records == []


async def test_a_withdrawn_request_is_told_to_the_client() -> None:
    async with served() as desk:
        await desk.wire.initialize()
        task, request = await asked_client(desk)
        task.cancel()
        withdrawn = await desk.wire.receive()
        assert withdrawn["params"] == {"id": request["id"]}
