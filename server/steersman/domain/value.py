"""The bases of all values: frozen, strict, camelCase on the wire and in the log."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

T = TypeVar("T")


class Value(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A value of the wire. Unknown members are ignored, so that the contract can grow."""


class Strict(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A value of the log. An unknown member is a violation: what is stored is what was meant."""


_encoder = msgspec.json.Encoder()


def encode(value: Any) -> bytes:
    """Encode a value as UTF-8 JSON. Lone surrogates, which UTF-8 cannot hold, become U+FFFD."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return _encoder.encode(clean_value(msgspec.to_builtins(value)))


def clean_text(text: str) -> str:
    """Replace each lone surrogate, which no UTF-8 frame can carry, by one U+FFFD; join halves that meet."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def clean_value(value: Any) -> Any:
    """Plain JSON with lone surrogates replaced in every text."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [clean_value(item) for item in value]
    if isinstance(value, dict):
        return {clean_value(key): clean_value(item) for key, item in value.items()}
    return value
