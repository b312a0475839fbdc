"""What a refusal of a provider means: its code, whether to try again, and when."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import pytest

from steersman.errors import ModelFailed
from steersman.models.failures import http_failure, retry_after, stream_failure
from tests.unit.models.corpus import ROOT, needs_corpus


def failure(status: int, error: Any = None, headers: dict[str, str] | None = None) -> ModelFailed:
    body = error if isinstance(error, bytes) else json.dumps({"error": error}).encode()
    return http_failure(status, body, headers or {})


@pytest.mark.parametrize(
    ("status", "error", "code"),
    [
        (429, {"message": "Too many requests"}, "rate-limit"),
        (429, {"code": "insufficient_quota", "message": "You exceeded your current quota"}, "quota"),
        (429, {"type": "insufficient_quota", "message": "try again in 3 s"}, "quota"),
        (429, {"message": "You exceeded your quota, check your plan and billing details"}, "quota"),
        (429, {"message": "Quota exceeded for requests per minute"}, "rate-limit"),
        (402, {"message": "Insufficient Balance"}, "quota"),
        (403, {"code": "billing_not_active", "message": "x"}, "quota"),
        (500, {}, "server"),
        (502, b"<html>Bad gateway</html>", "server"),
        (503, {"message": "Loading model"}, "server"),
        (529, b"overloaded", "server"),
        (408, {}, "timeout"),
        (409, {}, "server"),
        (401, {"message": "no"}, "auth"),
        (403, {"message": "no"}, "auth"),
        (404, {"code": "model_not_found"}, "not-found"),
        (400, {"message": "Expected 'messages' to be an array"}, "bad-request"),
        (400, {"message": "max_tokens is too large: 9. This model supports at most 4 tokens"}, "bad-request"),
        (422, {"message": "unknown field"}, "bad-request"),
        (418, {}, "bad-request"),
        (413, b"", "context-limit"),
        (400, {"code": "context_length_exceeded", "message": "no"}, "context-limit"),
        (400, "context_length_exceeded", "context-limit"),
        (400, b"context_length_exceeded", "context-limit"),
        (400, {"message": "This model's maximum context length is 8 tokens"}, "context-limit"),
        (400, {"message": "prompt is too long: 9 tokens > 8 maximum"}, "context-limit"),
        (400, {"message": "Input is too long for requested model."}, "context-limit"),
        (
            400,
            {"message": "The input token count (9) exceeds the maximum number of tokens allowed (8)."},
            "context-limit",
        ),
        (400, {"message": "Please reduce the length of the messages."}, "context-limit"),
        (500, {"message": "the request exceeds the available context size"}, "context-limit"),
        (502, {"message": "upstream: context_length_exceeded"}, "context-limit"),
    ],
)
def test_a_status_and_its_words_give_the_code(status: int, error: Any, code: str) -> None:
    told = failure(status, error)
    assert told.code == code
    assert told.retryable == (code in ("rate-limit", "server", "timeout"))
    assert str(status) in str(told)


@needs_corpus
def test_recorded_refusals_are_told_apart() -> None:
    recorded = json.loads((ROOT / "http-errors.json").read_text("utf-8"))
    for entry in recorded:
        label, status = entry["label"].lower(), entry["status"]
        told = http_failure(status, entry["body"].encode(), entry["headers"])
        wanted = {401: "auth", 404: "not-found", 429: "rate-limit", 400: "bad-request"}[status]
        if "context" in label or "too long" in label:
            wanted = "context-limit"
        assert told.code == wanted, label
    for name, status, code in (
        ("http-context-overflow.sse", 400, "context-limit"),
        ("http-503-loading.json", 503, "server"),
        ("http-401.sse", 401, "auth"),
        ("http-bad-request.json", 400, "bad-request"),
    ):
        assert http_failure(status, (ROOT / "local" / name).read_bytes(), {}).code == code


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": {"message": "the words"}}, "the words"),
        ({"detail": "the words"}, "the words"),
        ({"message": "the words"}, "the words"),
        ({"error": "the words"}, "the words"),
        ([{"error": {"message": "the words"}}], "the words"),
        ({"error": {"message": "outer", "metadata": {"raw": "the words"}}}, "outer – the words"),
        ({"type": "error", "error": {"type": "x", "message": "the words"}}, "the words"),
    ],
)
def test_the_providers_words_are_found_in_every_shape(body: Any, words: str) -> None:
    told = http_failure(400, json.dumps(body).encode(), {})
    assert str(told).startswith(f"The provider answered 400: {words}.")


@pytest.mark.parametrize(
    "body", [b"", b"null", b"[]", b"3", b"\xff\xfe", b'{"error": {}}', b'{"error": [1]}', b"{"]
)
def test_a_refusal_without_words_still_says_what_happened(body: bytes) -> None:
    assert "The provider answered 500" in str(http_failure(500, body, {}))


def test_a_web_page_is_told_without_its_markup_and_shortened() -> None:
    told = str(http_failure(500, b"<html><b>Oops</b>" + b" word" * 1000, {}))
    assert "Oops word" in told
    assert "<" not in told
    assert len(told) < 800


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": " 0.5 "}, 0.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "1e18"}, 60.0),
        ({"retry-after": "inf"}, 60.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "x", "retry-after": "9"}, 9.0),
        ({"retry-after": format_datetime(datetime.fromtimestamp(1_000_007, UTC), usegmt=True)}, 7.0),
        ({"retry-after": format_datetime(datetime.fromtimestamp(1, UTC), usegmt=True)}, 0.0),
        ({"retry-after": "Fri, 99 Foo 2026 00:00:00 GMT"}, None),
    ],
)
def test_a_wish_to_wait_is_read_in_all_its_forms(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, now_seconds=1_000_000.0) == seconds


def test_a_wish_to_wait_is_nothing_where_trying_again_is_useless() -> None:
    assert failure(401, {}, {"retry-after": "3"}).retry_after is None
    assert failure(503, {}, {"retry-after": "3"}).retry_after == 3.0


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ({"message": "prompt is too long"}, "context-limit"),
        ({"code": "insufficient_quota"}, "quota"),
        ({"code": 500, "message": "died"}, "transport"),
        ("died", "transport"),
        (True, "transport"),
    ],
)
def test_an_error_inside_a_stream_is_a_cut_unless_trying_again_is_useless(error: Any, code: str) -> None:
    told = stream_failure(error)
    assert (told.code, told.retryable) == (code, code == "transport")
