"""The chunks of a streamed chat completion, as real providers send them: anything may be missing or null.

Decoding is typed and fast; what strict JSON refuses but providers send anyway (halves of surrogate pairs,
NaN, stray bytes) takes a slower way.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from steersman.domain.messages import Delta


class Function(msgspec.Struct, frozen=True):
    name: str | None = None
    arguments: Any = None


class CallPiece(msgspec.Struct, frozen=True):
    """A piece of a tool call. `index` and `id` may each be missing."""

    index: int | None = None
    id: str | None = None
    function: Function | None = None


class Body(msgspec.Struct, frozen=True):
    """What a choice adds (`delta`), or its whole message. `content` is text or a list of parts."""

    content: Any = None
    refusal: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    reasoning_details: Any = None
    tool_calls: list[CallPiece] | None = None
    function_call: Function | None = None


class Choice(msgspec.Struct, frozen=True):
    index: int | None = None
    delta: Body | None = None
    message: Body | None = None
    finish_reason: str | None = None


class VendorUsage(msgspec.Struct, frozen=True):
    usage: Any = None


class Chunk(msgspec.Struct, frozen=True):
    """A chunk, or a whole completion. `type` is there in the streams of other protocols only."""

    choices: list[Choice] | None = None
    usage: Any = None
    error: Any = None
    x_groq: VendorUsage | None = None
    type: str | None = None


class Malformed(ValueError):
    """Not JSON at all."""


class WrongShape(ValueError):
    """JSON, but no chunk of a chat completion."""


_decode = msgspec.json.Decoder(Chunk, strict=False).decode


def decode_chunk(data: bytes) -> Chunk:
    """Decode one chunk. Strings may hold halves of surrogate pairs.

    Raises:
        Malformed: the data is no JSON.
        WrongShape: it is JSON of another kind.
    """
    try:
        return _decode(data)
    except msgspec.DecodeError:
        return _decode_leniently(data)


def _decode_leniently(data: bytes) -> Chunk:
    try:
        value = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as problem:
        raise Malformed(str(problem)) from None
    try:
        return msgspec.convert(value, Chunk, strict=False)
    except msgspec.ValidationError as problem:
        raise WrongShape(str(problem)) from None


def words_of(body: Body) -> tuple[list[Delta], str | None]:
    """The text and reasoning of a body, and the member in which the reasoning stood.

    Providers that fill several reasoning members put the same words into each, so the first one counts.
    A refusal is text: it is what the model has to say.
    """
    deltas: list[Delta] = []
    reasoning, member = _reasoning(body)
    if reasoning:
        deltas.append(Delta(reasoning=reasoning))
    if isinstance(body.content, list):
        deltas.extend(delta for part in body.content if (delta := _part(part)) is not None)
    elif isinstance(body.content, str) and body.content:
        deltas.append(Delta(text=body.content))
    if isinstance(body.refusal, str) and body.refusal:
        deltas.append(Delta(text=body.refusal))
    return deltas, member


def _reasoning(body: Body) -> tuple[str, str | None]:
    if isinstance(body.reasoning_content, str) and body.reasoning_content:
        return body.reasoning_content, "reasoning_content"
    if isinstance(body.reasoning, str) and body.reasoning:
        return body.reasoning, "reasoning"
    details = _texts(body.reasoning_details)
    return details, "reasoning_details" if details else None


def _part(part: Any) -> Delta | None:
    if isinstance(part, str):
        return Delta(text=part) if part else None
    if not isinstance(part, dict):
        return None
    if part.get("type") == "thinking":
        thinking = part.get("thinking")
        words = thinking if isinstance(thinking, str) else _texts(thinking)
        return Delta(reasoning=words) if words else None
    text = part.get("text")
    return Delta(text=text) if isinstance(text, str) and text else None


def _texts(parts: Any) -> str:
    """The joined `text` members of a list of parts."""
    if not isinstance(parts, list):
        return ""
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return "".join(text for text in texts if isinstance(text, str))
