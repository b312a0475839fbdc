"""The scripted model: what each member of a line does, through the port that a real model has."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from steersman.domain.messages import Delta
from steersman.domain.reply import ReplyAssembler
from steersman.domain.settings import ModelSettings, Prices, Settings
from steersman.errors import ModelFailed
from steersman.models.provider import Provider
from steersman.ports.model import Finish, ModelRequest, Purpose

GOAL = {"goal.id": "g1", "goal.revision": "3"}


class Script:
    """A script file and the provider that serves it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "script.jsonl"
        self.settings = ModelSettings(idle_timeout_seconds=5.0)

    def lines(self, *lines: Any, **settings: Any) -> Provider:
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        self.path.write_text("\n".join(texts), "utf-8")
        model = ModelSettings(**settings) if settings else self.settings
        return Provider(Settings(scripted_model=str(self.path), model=model), {})


@pytest.fixture
def script(tmp_path: Path) -> Script:
    return Script(tmp_path)


async def items_of(
    models: Provider, purpose: Purpose = "turn", substitutions: dict[str, str] | None = None
) -> list[Delta | Finish]:
    request = ModelRequest(body=b"{}", purpose=purpose, substitutions=substitutions or {})
    async with aclosing(models.model().stream(request)) as items:
        return [item async for item in items]


async def reply_of(models: Provider, purpose: Purpose = "turn") -> tuple[ReplyAssembler, Finish]:
    *deltas, finish = await items_of(models, purpose, GOAL)
    assert isinstance(finish, Finish)
    return ReplyAssembler(delta for delta in deltas if isinstance(delta, Delta)), finish


async def failure_of(models: Provider, purpose: Purpose = "turn") -> ModelFailed:
    with pytest.raises(ModelFailed) as caught:
        await items_of(models, purpose)
    return caught.value


async def test_text_comes_word_by_word_and_whole(script: Script) -> None:
    models = script.lines({"reasoning": "hm  so", "text": " Hello,\n\tworld \n"})
    items = await items_of(models)
    texts = [item.text for item in items if isinstance(item, Delta) and item.text]
    assert "".join(texts) == " Hello,\n\tworld \n"
    assert len(texts) >= 2
    assert "".join(item.reasoning or "" for item in items if isinstance(item, Delta)) == "hm  so"
    assert items[-1] == Finish(finish_reason="stop", usage=None)


async def test_each_request_takes_the_next_line_and_retries_take_one_too(script: Script) -> None:
    models = script.lines({"text": "one"}, {"error": {"status": 500}}, "", {"text": "two"})
    assert (await reply_of(models))[0].text == "one"
    assert (await failure_of(models)).code == "server"
    assert (await reply_of(models))[0].text == "two"


async def test_a_script_that_is_used_up_says_so(script: Script) -> None:
    models = script.lines({"text": "one"})
    await reply_of(models)
    for _ in range(2):
        failure = await failure_of(models)
        assert (failure.code, failure.retryable) == ("script", False)
        assert "no line left" in str(failure)


async def test_lines_for_a_purpose_serve_only_that_purpose(script: Script) -> None:
    models = script.lines(
        {"for": "judge", "text": "yes"}, {"text": "one"}, {"for": "summary", "text": "short"}, {"text": "two"}
    )
    assert (await reply_of(models))[0].text == "one"
    assert (await reply_of(models, "summary"))[0].text == "short"
    assert (await reply_of(models, "judge"))[0].text == "yes"
    assert (await reply_of(models, "judge"))[0].text == "two"
    assert (await failure_of(models)).code == "script"


async def test_calls_have_the_arguments_of_the_script(script: Script) -> None:
    calls = [
        {"name": "read_file", "arguments": {"path": "a.py", "deep": [{"x": None}]}},
        {"name": "bad", "arguments": '{"path": '},
        {"name": "get_goal"},
    ]
    reply, finish = await reply_of(script.lines({"toolCalls": calls}))
    assert [call.name for call in reply.tool_calls] == ["read_file", "bad", "get_goal"]
    assert json.loads(reply.tool_calls[0].arguments) == {"path": "a.py", "deep": [{"x": None}]}
    assert [call.arguments for call in reply.tool_calls[1:]] == ['{"path": ', ""]
    assert finish.finish_reason == "tool_calls"


async def test_the_current_goal_is_put_into_arguments(script: Script) -> None:
    arguments = {
        "goal_id": "${goal.id}",
        "revision": "${goal.revision}",
        "note": ["r${goal.revision} of ${goal.id}", "${other}"],
    }
    raw = '{"goal_id": "${goal.id}"}'
    models = script.lines(
        {
            "text": "${goal.id}",
            "toolCalls": [{"name": "a", "arguments": arguments}, {"name": "b", "arguments": raw}],
        }
    )
    reply, _ = await reply_of(models)
    assert json.loads(reply.tool_calls[0].arguments) == {
        "goal_id": "g1",
        "revision": 3,
        "note": ["r3 of g1", "${other}"],
    }
    assert reply.tool_calls[1].arguments == '{"goal_id": "g1"}'
    assert reply.text == "${goal.id}"


async def test_without_a_goal_the_placeholder_stays(script: Script) -> None:
    models = script.lines({"toolCalls": [{"name": "a", "arguments": {"revision": "${goal.revision}"}}]})
    *deltas, _ = await items_of(models)
    [call] = ReplyAssembler(delta for delta in deltas if isinstance(delta, Delta)).tool_calls
    assert json.loads(call.arguments) == {"revision": "${goal.revision}"}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ({"text": "a"}, "stop"),
        ({"text": "a", "finishReason": "length"}, "length"),
        ({"text": "a", "finishReason": None}, None),
        ({"toolCalls": [{"name": "a"}], "finishReason": "stop"}, "stop"),
    ],
)
async def test_the_finish_reason_is_the_scripts_or_fits(
    script: Script, line: Any, reason: str | None
) -> None:
    assert (await reply_of(script.lines(line)))[1].finish_reason == reason


@pytest.mark.parametrize(
    "usage",
    [
        {"inputTokens": 100, "cachedInputTokens": 60, "outputTokens": 10, "reasoningTokens": 4},
        {
            "prompt_tokens": 100,
            "completion_tokens": 10,
            "prompt_tokens_details": {"cached_tokens": 60},
            "completion_tokens_details": {"reasoning_tokens": 4},
        },
    ],
)
async def test_usage_is_told_in_either_spelling_and_priced(script: Script, usage: dict[str, Any]) -> None:
    models = script.lines(
        {"text": "a", "usage": usage}, prices=Prices(input=1.0, cached_input=0.5, output=2.0)
    )
    told = (await reply_of(models))[1].usage
    assert told is not None
    assert (told.requests, told.input_tokens, told.cached_input_tokens) == (1, 100, 60)
    assert (told.output_tokens, told.reasoning_tokens, told.estimated) == (10, 4, False)
    assert told.cost == pytest.approx((40 + 60 * 0.5 + 10 * 2) / 1e6)


@pytest.mark.parametrize(
    ("error", "code", "retryable"),
    [
        ({"status": 429}, "rate-limit", True),
        ({"status": 429, "code": "insufficient_quota"}, "quota", False),
        ({"status": 500}, "server", True),
        ({"status": 401}, "auth", False),
        ({"status": 400}, "bad-request", False),
        ({"status": 400, "code": "context_length_exceeded"}, "context-limit", False),
        ({"status": 404, "code": "model_not_found"}, "not-found", False),
    ],
)
async def test_errors_mean_what_they_mean_over_http(
    script: Script, error: dict[str, Any], code: str, retryable: bool
) -> None:
    failure = await failure_of(script.lines({"error": error}))
    assert (failure.code, failure.retryable) == (code, retryable)


@pytest.mark.parametrize(
    ("line", "text"), [({"cut": True}, ""), ({"text": "half of it", "cut": True}, "half of it")]
)
async def test_a_cut_ends_without_a_finish(script: Script, line: Any, text: str) -> None:
    models = script.lines(line)
    seen: list[Delta] = []

    async def collect() -> None:
        async for item in models.model().stream(ModelRequest(body=b"{}")):
            assert isinstance(item, Delta)
            seen.append(item)

    with pytest.raises(ModelFailed) as caught:
        await collect()
    assert (caught.value.code, caught.value.retryable) == ("transport", True)
    assert ReplyAssembler(seen).text == text


async def test_a_line_that_says_nothing_is_an_empty_answer(script: Script) -> None:
    for line in ({}, {"text": ""}):
        failure = await failure_of(script.lines(line))
        assert (failure.code, failure.retryable) == ("empty", True)


async def test_a_stall_beyond_the_idle_limit_is_a_timeout(script: Script) -> None:
    for line in (
        {"stallSeconds": 30},
        {"text": "a", "stallSeconds": 30},
        {"text": "a b", "chunkDelayMs": 30000},
    ):
        started = time.monotonic()
        failure = await failure_of(script.lines(line, idle_timeout_seconds=0.1))
        assert (failure.code, failure.retryable) == ("timeout", True)
        assert time.monotonic() - started < 5


async def test_a_short_stall_only_delays(script: Script) -> None:
    models = script.lines({"text": "a", "stallSeconds": 0.05}, {"stallSeconds": 0.01})
    assert (await reply_of(models))[0].text == "a"
    assert (await failure_of(models)).code == "transport"


async def test_the_delay_stands_between_the_chunks(script: Script) -> None:
    models = script.lines({"text": "a b c", "chunkDelayMs": 40})
    started = time.monotonic()
    await reply_of(models)
    assert 0.079 <= time.monotonic() - started < 2


async def test_a_total_limit_ends_a_slow_answer(script: Script) -> None:
    models = script.lines({"text": "a " * 50, "chunkDelayMs": 40}, total_timeout_seconds=0.2)
    assert "totalTimeoutSeconds" in str(await failure_of(models))


async def test_a_stalled_answer_can_be_cancelled_at_once(script: Script) -> None:
    models = script.lines({"text": "a", "stallSeconds": 30})
    items = models.model().stream(ModelRequest(body=b"{}"))
    assert await anext(items) == Delta(text="a")
    waiting = asyncio.ensure_future(anext(items))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


@pytest.mark.parametrize(
    "line",
    [
        "{not json",
        "[]",
        '"text"',
        '{"text": 3}',
        '{"toolCalls": [{"arguments": {}}]}',
        '{"toolCalls": [{"name": "a", "arguments": 3}]}',
        '{"error": {}}',
        '{"for": "nobody"}',
        '{"usage": {"inputTokens": "many"}}',
        '{"stallSeconds": "long"}',
    ],
)
async def test_a_bad_line_is_named_with_its_file_and_number(script: Script, line: str) -> None:
    failure = await failure_of(script.lines({"text": "fine"}, "", line))
    assert (failure.code, failure.retryable) == ("script", False)
    assert f"{script.path}, line 3" in str(failure)


async def test_a_script_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.jsonl", tmp_path):
        failure = await failure_of(Provider(Settings(scripted_model=str(path)), {}))
        assert failure.code == "script"
        assert str(path) in str(failure)


async def test_line_ends_a_byte_order_mark_and_odd_characters_are_fine(script: Script) -> None:
    models = script.lines()
    script.path.write_bytes(b'\xef\xbb\xbf{"text": "\xc3\xa9\\u2028"}\r\n\r\n{"text": "two"}\r\n')
    assert (await reply_of(models))[0].text == "\u00e9\u2028"
    assert (await reply_of(models))[0].text == "two"
