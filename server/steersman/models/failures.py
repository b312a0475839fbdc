"""From what a provider answered to why the request failed, whether to try again, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, Final

import msgspec

from steersman.errors import ModelFailed

RETRY_AFTER_LIMIT: Final = 60.0
_WORDS_LIMIT: Final = 600

_CONTEXT: Final = re.compile(
    r"context[ _-]?(?:length|window|size|limit)"
    r"|(?:prompt|input|request|messages?|conversation)(?: \w+)? (?:is |are )?too (?:long|large)"
    r"|too[ _]many[ _](?:prompt|input)?[ _]?tokens"
    r"|input token count.*exceeds"
    r"|exceed\w* .{0,40}(?:maximum|max) (?:number of )?(?:input |prompt )?tokens"
    r"|reduce the length of (?:the|your) (?:messages|prompt|input)",
    re.IGNORECASE | re.DOTALL,
)
_QUOTA: Final = re.compile(
    r"quota|billing|insufficient[ _](?:credit|balance|fund)|out of credits", re.IGNORECASE
)
_QUOTA_CODES: Final = frozenset({"insufficient_quota", "billing_not_active", "billing_hard_limit_reached"})
_RATE: Final = re.compile(r"per[ _-]?(?:second|minute)|\b[rt]pm\b|retry in|try again in", re.IGNORECASE)

_ADVICE: Final = {
    "auth": "Check the API key and what it may use, then send your message again.",
    "quota": "Check the plan and the balance with the provider; trying again does not help.",
    "not-found": "Check model.name and model.baseUrl.",
    "context-limit": "The conversation is too long for this model: compact it, or start a new session.",
    "bad-request": "The provider does not accept this request; check the model settings.",
}


def http_failure(
    status: int, body: bytes, headers: Mapping[str, str], now_seconds: float = 0.0
) -> ModelFailed:
    """The failure that an answer other than 200 means.

    `headers` have lower-case names; `now_seconds` since the epoch is what dates in them are compared to.
    """
    told, code = _told(body)
    kind = _kind(status, told, code)
    retryable = kind in ("rate-limit", "server", "timeout")
    words = f"The provider answered {status}: {told}" if told else f"The provider answered {status}."
    return ModelFailed(
        kind,
        _with_advice(words, kind),
        retryable=retryable,
        retry_after=retry_after(headers, now_seconds) if retryable else None,
    )


def redirect_failure(status: int, location: str) -> ModelFailed:
    """Redirects are not followed: the key would go along to wherever they lead."""
    where = f" to {location[:200]}" if location else ""
    return ModelFailed(
        "protocol",
        f"The provider redirects ({status}){where}, which is not followed because the key would go along. "
        "If you trust that address, set it as model.baseUrl.",
    )


def stream_failure(error: Any) -> ModelFailed:
    """The failure that an error object inside a stream means: the answer is cut.

    Only a full context and a used-up quota are told apart, since trying again does not mend them.
    """
    return _broken_off(*_words(error))


def event_failure(data: bytes) -> ModelFailed:
    """The same for an event of the name `error`, whatever its data is."""
    return _broken_off(*_told(data))


def _broken_off(told: str, code: str) -> ModelFailed:
    kind = "transport"
    if _CONTEXT.search(f"{code} {told}"):
        kind = "context-limit"
    elif code in _QUOTA_CODES:
        kind = "quota"
    words = f"The provider broke off its answer: {told}" if told else "The provider broke off its answer."
    return ModelFailed(kind, _with_advice(words, kind), retryable=kind == "transport")


def empty_failure() -> ModelFailed:
    return ModelFailed("empty", "The provider gave an empty answer.", retryable=True)


def cut_failure(detail: str = "") -> ModelFailed:
    words = (
        f"The answer broke off before its end: {detail}" if detail else "The answer broke off before its end."
    )
    return ModelFailed("transport", words, retryable=True)


def size_failure(limit_bytes: int) -> ModelFailed:
    return ModelFailed(
        "protocol",
        f"The answer holds more than {limit_bytes // 2**20} MiB, which no model says; it was cut off.",
    )


def protocol_failure(detail: str) -> ModelFailed:
    return ModelFailed(
        "protocol",
        f"The endpoint does not speak the chat-completions protocol: {detail}. Check model.baseUrl.",
    )


def unreachable_failure(host: str, detail: str) -> ModelFailed:
    reason = f": {detail}" if detail else ""
    return ModelFailed(
        "transport",
        f"{host} could not be reached{reason}. Check the network, model.baseUrl and model.proxy.",
        retryable=True,
    )


def certificate_failure(host: str, detail: str) -> ModelFailed:
    return ModelFailed(
        "transport",
        f"The certificate of {host} is not trusted: {detail}. "
        "If an authority of your own signed it, give its file as model.caFile.",
    )


def setting_failure(setting: str, reason: str) -> ModelFailed:
    """`reason` is in our own words: those of libraries may quote the value, which may be a secret."""
    return ModelFailed("bad-request", f"No request can be made with {setting}: {reason}. Correct it.")


def retry_after(headers: Mapping[str, str], now_seconds: float) -> float | None:
    """The provider's wish in seconds, at most a minute; None for none, or one that makes no sense."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name, "").strip()
        if not value:
            continue
        try:
            seconds = float(value) * unit
        except ValueError:
            seconds = _until(value, now_seconds)
        if seconds >= 0:  # also false for NaN
            return min(seconds, RETRY_AFTER_LIMIT)
    return None


def _until(date: str, now_seconds: float) -> float:
    try:
        return max(0.0, parsedate_to_datetime(date).timestamp() - now_seconds)
    except (ValueError, TypeError, OverflowError):
        return -1.0


def _kind(status: int, told: str, code: str) -> str:
    if code in _QUOTA_CODES or status == 402:
        return "quota"
    if status == 429:
        return "quota" if _QUOTA.search(told) and not _RATE.search(told) else "rate-limit"
    may_be_context = status in (400, 422) or status >= 500
    if status == 413 or (may_be_context and _CONTEXT.search(f"{code} {told}")):
        return "context-limit"
    if status >= 500 or status == 409:
        return "server"
    return {401: "auth", 403: "auth", 404: "not-found", 408: "timeout", 410: "not-found"}.get(
        status, "bad-request"
    )


def _with_advice(words: str, kind: str) -> str:
    advice = _ADVICE.get(kind)
    if advice is None:
        return words
    return f"{words} {advice}" if words.endswith((".", "!", "?")) else f"{words}. {advice}"


def _told(body: bytes) -> tuple[str, str]:
    """The provider's words and its code, from any of the shapes that error bodies have."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeError):
        return _short(re.sub(r"<[^>]*>", " ", body.decode("utf-8", "replace"))), ""
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, dict) and value.get("error"):
        value = value["error"]
    return _words(value)


def _words(error: Any) -> tuple[str, str]:
    if not isinstance(error, dict):
        return _short(error if isinstance(error, str) else ""), ""
    inner = error.get("error")
    if isinstance(inner, dict):
        return _words(inner)
    codes = [error.get(name) for name in ("code", "type")]
    code = " ".join(code for code in codes if isinstance(code, str))
    texts = [error.get(name) for name in ("message", "detail", "error_description")]
    metadata = error.get("metadata")
    if isinstance(metadata, dict):
        texts.append(metadata.get("raw"))
    told = " – ".join(_short(text) for text in texts if isinstance(text, str) and text.strip())
    return told or code, next((c for c in codes if isinstance(c, str) and c in _QUOTA_CODES), code)


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _WORDS_LIMIT else words[:_WORDS_LIMIT] + "…"
