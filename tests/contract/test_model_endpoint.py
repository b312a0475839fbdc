"""The chat-completions adapter against a real provider on loopback: what it sends, and how answers end."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest

from steersman.domain.messages import Delta
from steersman.domain.reply import ReplyAssembler
from steersman.domain.settings import ModelSettings, Prices, Settings
from steersman.errors import ModelFailed
from steersman.models.provider import Provider as Models
from steersman.ports.model import Finish, ModelRequest
from tests.fixtures.provider import (
    CUT,
    DONE,
    Provider,
    Script,
    chunk,
    event,
    fin,
    http,
    provider,
    raw,
    reply,
    rsn,
    stall,
    tc,
    txt,
    use,
)

KEY = "sk-canary-7f3a9c51e2"
BODY = b'{"model": "m",  "messages": [{"role":"user","content":"\xc3\xa9"}], "stream": true}'


class Asked:
    """What came of one request."""

    def __init__(self) -> None:
        self.deltas: list[Delta] = []
        self.finish: Finish | None = None

    @property
    def reply(self) -> ReplyAssembler:
        return ReplyAssembler(self.deltas)


async def ask(models: Models, body: bytes = BODY) -> Asked:
    asked = Asked()
    async with aclosing(models.model().stream(ModelRequest(body=body))) as items:
        async for item in items:
            if isinstance(item, Finish):
                asked.finish = item
            else:
                asked.deltas.append(item)
    return asked


async def failure_of(models: Models) -> ModelFailed:
    with pytest.raises(ModelFailed) as caught:
        await ask(models)
    assert KEY not in str(caught.value)
    assert KEY not in repr(caught.value)
    return caught.value


@asynccontextmanager
async def serving(*script: Script, **settings: Any) -> AsyncIterator[tuple[Provider, Models]]:
    async with provider(*script) as endpoint:
        settings = {"base_url": endpoint.base_url, "name": "m", "idle_timeout_seconds": 5.0, **settings}
        models = Models(Settings(model=ModelSettings(**settings)), {"OPENAI_API_KEY": KEY})
        try:
            yield endpoint, models
        finally:
            await models.close()


HELLO = reply(txt("Hel"), txt("lo"), fin("stop"), use(12, 3, 8), DONE)


async def test_the_body_goes_out_byte_for_byte_with_the_key_and_nothing_is_followed_up() -> None:
    async with serving(HELLO, headers={"X-Team": "blue"}, query={"api-version": "1"}) as (endpoint, models):
        asked = await ask(models)
    assert asked.reply.text == "Hello"
    assert asked.finish is not None
    assert asked.finish.finish_reason == "stop"
    [request] = endpoint.requests
    assert request.raw == BODY
    assert request.target == "/v1/chat/completions?api-version=1"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["x-team"] == "blue"


async def test_usage_is_priced_by_its_parts() -> None:
    prices = Prices(input=1.0, cached_input=0.25, output=4.0)
    async with serving(HELLO, prices=prices) as (_, models):
        finish = (await ask(models)).finish
    assert finish is not None
    assert finish.usage is not None
    assert (finish.usage.input_tokens, finish.usage.cached_input_tokens) == (12, 8)
    assert finish.usage.cost == pytest.approx((4 * 1.0 + 8 * 0.25 + 3 * 4.0) / 1e6)


async def test_a_connection_is_used_again_after_a_whole_answer() -> None:
    async with serving(HELLO, HELLO) as (endpoint, models):
        await ask(models)
        await ask(models)
    assert endpoint.connections == 1


async def test_a_new_key_counts_from_the_next_request_on() -> None:
    async with serving(HELLO, HELLO) as (endpoint, models):
        await ask(models)
        models.set_key("  sk-another-key\n")
        await ask(models)
    assert [r.headers["authorization"] for r in endpoint.requests] == [
        f"Bearer {KEY}",
        "Bearer sk-another-key",
    ]


async def test_an_endpoint_without_a_key_gets_no_authorization() -> None:
    async with provider(HELLO) as endpoint:
        models = Models(Settings(model=ModelSettings(base_url=endpoint.base_url, name="m")), {})
        await ask(models)
        await models.close()
    assert "authorization" not in endpoint.requests[0].headers


async def test_parallel_calls_stay_apart_when_their_pieces_are_mixed() -> None:
    script = reply(
        tc(0, "a", "read_file", ""),
        tc(1, "b", "read_file", ""),
        tc(0, None, None, '{"path":'),
        txt("meanwhile"),
        tc(1, None, None, '{"path":"two.py"}'),
        tc(0, None, None, '"one.py"}'),
        fin("tool_calls"),
        DONE,
    )
    async with serving(script) as (_, models):
        calls = (await ask(models)).reply.tool_calls
    assert [(c.call_id, c.name, json.loads(c.arguments)) for c in calls] == [
        ("a", "read_file", {"path": "one.py"}),
        ("b", "read_file", {"path": "two.py"}),
    ]


async def test_keep_alive_comments_pings_and_empty_frames_are_passed_over() -> None:
    noise = [raw(": PROCESSING\n\n")] * 5 + [raw("data:\n\n"), raw("event: ping\n\n"), raw("id: 4\r\n\r\n")]
    async with serving(reply(raw(b"\xef\xbb\xbf"), *noise, *HELLO.pieces)) as (_, models):
        assert (await ask(models)).reply.text == "Hello"


async def test_odd_chunks_do_no_harm() -> None:
    script = reply(
        event({"choices": []}),
        event({"choices": None}),
        event({"id": "x"}),
        chunk(None),
        chunk({"content": None, "tool_calls": None}),
        chunk({"role": "assistant", "content": ""}, ""),
        txt("ok"),
        chunk({}, "stop", usage={"prompt_tokens": 5, "completion_tokens": 1}),
        event({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}),
    )
    async with serving(script) as (_, models):
        asked = await ask(models)
    assert asked.reply.text == "ok"
    assert asked.finish is not None
    assert asked.finish.usage is not None
    assert asked.finish.usage.input_tokens == 10


async def test_done_without_a_reason_finishes_the_answer() -> None:
    async with serving(reply(txt("ok"), DONE)) as (_, models):
        asked = await ask(models)
    assert asked.finish == Finish(finish_reason=None, usage=None)


async def test_a_whole_completion_as_json_is_a_normal_answer() -> None:
    message = {
        "content": "done",
        "reasoning_content": "hm",
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "get_goal", "arguments": "{}"}}],
    }
    body = {
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 2},
    }
    async with serving(http(200, body)) as (_, models):
        asked = await ask(models)
    assert (asked.reply.text, asked.reply.reasoning) == ("done", "hm")
    assert asked.reply.tool_calls[0].name == "get_goal"
    assert asked.finish is not None
    assert asked.finish.reasoning_field == "reasoning_content"
    assert asked.finish.usage is not None


@pytest.mark.parametrize(
    ("script", "code", "retryable"),
    [
        (reply(txt("I will"), tc(0, "a", "write_file", '{"path":"x"'), CUT), "transport", True),
        (reply(CUT), "transport", True),
        (reply(tc(0, "a", "write_file", "{}"), CUT), "transport", True),
        (reply(tc(0, "a", "write_file", "{}")), "transport", True),
        (
            reply(txt("x"), event({"error": {"message": "upstream died"}}), fin("stop"), DONE),
            "transport",
            True,
        ),
        (reply(txt("x"), raw('event: error\ndata: "boom"\n\n')), "transport", True),
        (reply(txt("x"), raw('error: {"code": 500}\n\n')), "transport", True),
        (reply(txt("x"), raw("data: {not json\n\n"), DONE), "transport", True),
        (reply(txt("x"), fin("error"), DONE), "transport", True),
        (reply(event({"error": {"code": "context_length_exceeded"}})), "context-limit", False),
        (reply(raw(": nothing\n\n")), "empty", True),
        (reply(), "empty", True),
        (reply(fin("stop"), DONE), "empty", True),
        (reply(DONE), "empty", True),
        (http(200, b"", {"content-type": "text/event-stream"}), "empty", True),
        (http(200, "<html><body>Sign in</body></html>"), "protocol", False),
        (http(200, {"hello": "world"}), "protocol", False),
        (http(200, [1, 2]), "protocol", False),
        (http(200, '{"message":{"content":"a"}}\n{"message":{"content":"b"}}\n'), "protocol", False),
        (http(200, '{"choices": [{"message": {"cont'), "transport", True),
        (http(200, {"error": {"message": "no such engine"}}), "transport", True),
        (reply(event({"choices": "many"})), "protocol", False),
        (reply(event([1])), "protocol", False),
        (http(200, b"x", {"content-encoding": "br"}), "protocol", False),
        (http(302, b"", {"location": "http://127.0.0.1:1/other"}), "protocol", False),
        (http(401, {"error": {"message": f"Incorrect API key provided: {KEY}"}}), "auth", False),
        (http(500, f"<h1>Oops</h1> {KEY}"), "server", True),
    ],
)
async def test_what_is_no_finished_answer_fails_with_its_reason(
    script: Script, code: str, retryable: bool
) -> None:
    async with serving(script) as (endpoint, models):
        failure = await failure_of(models)
    assert (failure.code, failure.retryable) == (code, retryable)
    assert len(endpoint.requests) == 1, "attempts are the loop's"


async def test_an_answer_cut_after_its_finish_reason_is_finished() -> None:
    async with serving(reply(txt("ok"), fin("stop"), CUT)) as (_, models):
        asked = await ask(models)
    assert asked.finish is not None
    assert asked.finish.finish_reason == "stop"


async def test_a_provider_that_goes_silent_after_its_finish_reason_is_finished(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("steersman.models.watch.FINISHED_GRACE_SECONDS", 0.1)
    async with serving(reply(txt("ok"), fin("stop"), stall()), idle_timeout_seconds=30.0) as (_, models):
        started = time.monotonic()
        asked = await ask(models)
    assert asked.finish is not None
    assert time.monotonic() - started < 15


@pytest.mark.parametrize("finish", [True, False])
async def test_a_connection_left_open_after_done_does_not_hold_up_the_answer(finish: bool) -> None:
    pieces = [txt("ok"), *([fin("stop")] if finish else []), DONE, stall()]
    async with serving(reply(*pieces)) as (_, models):
        started = time.monotonic()
        await ask(models)
        assert time.monotonic() - started < 4


@pytest.mark.parametrize(
    "pieces",
    [
        [stall()],
        [txt("a"), stall()],
        [txt("a"), *[raw(": still here\n\n"), stall(0.1)] * 60],
        [txt("a"), *[chunk({"content": ""}), stall(0.1)] * 60],
        [*[raw("d"), stall(0.2)] * 30],
    ],
    ids=["before the first byte", "after some text", "comments", "empty chunks", "single bytes"],
)
async def test_no_content_for_the_idle_limit_is_a_timeout(pieces: list[Any]) -> None:
    async with serving(reply(*pieces), idle_timeout_seconds=0.4) as (endpoint, models):
        failure = await failure_of(models)
        assert (failure.code, failure.retryable) == ("timeout", True)
        async with asyncio.timeout(1):
            await endpoint.requests[0].disconnected.wait()


async def test_a_stream_that_goes_on_is_not_idle_but_ends_at_the_total_limit() -> None:
    pieces = [txt("a"), stall(0.1)] * 60
    limits = {"idle_timeout_seconds": 0.5, "total_timeout_seconds": 1.0}
    async with serving(reply(*pieces), **limits) as (_, models):
        started = time.monotonic()
        failure = await failure_of(models)
    assert failure.code == "timeout"
    assert "totalTimeoutSeconds" in str(failure)
    assert time.monotonic() - started >= 0.99


async def test_closing_the_iterator_closes_the_connection_at_once() -> None:
    async with serving(reply(txt("a"), stall())) as (endpoint, models):
        items = models.model().stream(ModelRequest(body=BODY))
        assert await anext(items) == Delta(text="a")
        closed = time.monotonic()
        await items.aclose()  # type: ignore[attr-defined]
        async with asyncio.timeout(1):
            await endpoint.requests[0].disconnected.wait()
        assert endpoint.requests[0].disconnected_at is not None
        assert endpoint.requests[0].disconnected_at - closed < 0.25


@pytest.mark.parametrize(
    "pieces", [[stall()], [txt("a"), stall()]], ids=["before the first byte", "mid-stream"]
)
async def test_cancelling_the_task_closes_the_connection_at_once(pieces: list[Any]) -> None:
    async with serving(reply(*pieces)) as (endpoint, models):
        task = asyncio.create_task(ask(models))
        request = await endpoint.asked(1)
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.timeout(1):
            await request.disconnected.wait()


async def test_a_failed_answer_gives_its_connection_up_while_its_failure_is_still_held() -> None:
    async with serving(reply(txt("a"), event({"error": "died"}), stall())) as (endpoint, models):
        failure = await failure_of(models)
        async with asyncio.timeout(1):
            await endpoint.requests[0].disconnected.wait()
    assert failure.__traceback__ is not None


async def test_a_redirect_is_not_followed_and_the_key_stays_home() -> None:
    async with provider(HELLO) as elsewhere:
        target = f"{elsewhere.base_url}/chat/completions?token=secret"
        for status in (301, 302, 307, 308):
            async with serving(http(status, b"", {"location": target})) as (_, models):
                failure = await failure_of(models)
            assert "127.0.0.1" in str(failure)
            assert "secret" not in str(failure)
    assert elsewhere.requests == []


async def test_gzip_that_nobody_asked_for_is_unpacked() -> None:
    packed = gzip.compress(b"".join(p for p in HELLO.pieces if isinstance(p, bytes)))
    pieces = [packed[i : i + 9] for i in range(0, len(packed), 9)]
    async with serving(reply(*pieces, headers={"content-encoding": "gzip"})) as (endpoint, models):
        assert (await ask(models)).reply.text == "Hello"
    assert endpoint.requests[0].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize("beginning", [b"x", b": c", b'{"a":1'], ids=["line", "comments", "json"])
async def test_a_gzip_bomb_ends_in_a_clear_failure_not_in_gigabytes(beginning: bytes) -> None:
    end = b"\n" if beginning.startswith(b":") else b""
    bomb = gzip.compress((beginning + b"1" * (1 << 20) + end) * 80, compresslevel=1)
    async with serving(reply(bomb, headers={"content-encoding": "gzip"})) as (_, models):
        failure = await failure_of(models)
    assert failure.code == "protocol"
    assert "MiB" in str(failure)


async def test_damaged_gzip_is_a_cut_answer() -> None:
    async with serving(reply(raw("not gzip"), headers={"content-encoding": "gzip"})) as (_, models):
        assert (await failure_of(models)).code == "transport"


async def test_a_huge_error_body_is_read_only_at_its_beginning() -> None:
    async with serving(reply(*[b"word " * 1000] * 20, stall(), status=500)) as (_, models):
        failure = await failure_of(models)
    assert failure.code == "server", "an endless one would end in a timeout"
    assert len(str(failure)) < 1000


async def test_retry_after_reaches_the_loop() -> None:
    async with serving(http(429, {"error": {"message": "slow down"}}, {"retry-after": "3"})) as (_, models):
        failure = await failure_of(models)
    assert (failure.code, failure.retryable, failure.retry_after) == ("rate-limit", True, 3.0)


async def test_an_endpoint_that_is_not_there_is_a_transport_failure_that_names_it() -> None:
    async with provider() as gone:
        url = gone.base_url
    models = Models(Settings(model=ModelSettings(base_url=url, name="m")), {})
    failure = await failure_of(models)
    await models.close()
    assert (failure.code, failure.retryable) == ("transport", True)
    assert "127.0.0.1" in str(failure)


async def test_the_key_is_in_no_log_even_at_the_most_talkative_level(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    async with serving(HELLO, http(401, f"bad key {KEY}"), reply(txt("a"), CUT)) as (_, models):
        await ask(models)
        await failure_of(models)
        await failure_of(models)
        shown = [repr(vars(thing)) for thing in (models, models.model())] + [repr(models.info())]
    assert KEY not in caplog.text
    assert not any(KEY in text for text in shown)


async def test_a_secret_in_headers_or_proxy_is_masked_in_messages_too() -> None:
    secret = "0123456789abcdef-other"
    async with serving(http(400, f"header api-key: {secret}"), headers={"api-key": secret}) as (_, models):
        failure = await failure_of(models)
    assert secret not in str(failure)
    assert "***" in str(failure)


def script_of_many(count: int) -> Callable[[Any], Any]:
    return lambda _: reply(*[txt("x")] * count, fin("stop"), DONE)


async def test_sessions_stream_side_by_side_over_one_client() -> None:
    async with serving(*[script_of_many(20)] * 8) as (_, models):
        replies = await asyncio.gather(*(ask(models) for _ in range(8)))
    assert [asked.reply.text for asked in replies] == ["x" * 20] * 8


async def test_a_reasoning_only_answer_is_told_with_its_member() -> None:
    async with serving(reply(rsn("let me think"), fin("stop"), DONE)) as (_, models):
        asked = await ask(models)
    assert asked.finish is not None
    assert asked.reply.reasoning == "let me think"
    assert asked.finish.reasoning_field == "reasoning_content"


def test_nothing_imports_the_client_library_before_a_request() -> None:
    code = (
        "import sys; from steersman.domain.settings import ModelSettings, Settings\n"
        "from steersman.models.provider import Provider\n"
        "p = Provider(Settings(model=ModelSettings(name='m')), {'OPENAI_API_KEY': 'k'})\n"
        "p.info(); p.params(); p.model(); p.set_key('other')\n"
        "print([m for m in ('openai', 'httpx2', 'httpx', 'ssl') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() in ("[]", "['ssl']")
