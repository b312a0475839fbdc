"""The model: one request in, a stream of deltas out, one finish."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Literal, Protocol

import msgspec

from steersman.domain.messages import Delta
from steersman.domain.usage import Usage

Purpose = Literal["turn", "judge", "summary"]


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A whole request. `body` is the encoded JSON of a chat-completions request, sent as it stands."""

    body: bytes
    purpose: Purpose = "turn"
    substitutions: dict[str, str] = {}
    """What a scripted model puts for `${goal.id}` and `${goal.revision}`; real models ignore it."""


class Finish(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a stream that ended well: with a finish reason, or with `[DONE]`.

    `usage` is None where the provider told none. `reasoning_field` is the member in which the provider
    streamed reasoning and wants it back on messages with tool calls (`reasoning_content`), else None.
    """

    finish_reason: str | None
    usage: Usage | None
    reasoning_field: str | None = None


class ModelInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the model. `context_window` and `max_output_tokens` are in tokens."""

    name: str
    base_url: str | None
    configured: bool
    context_window: int | None = None
    problem: str | None = None
    """When not configured: what is missing and what to do about it."""


class Model(Protocol):
    """A model adapter. It never retries: attempts are the loop's, so that each is an event."""

    def stream(self, request: ModelRequest) -> AsyncIterator[Delta | Finish]:
        """Stream one reply. The last item is a Finish. Closing the iterator closes the connection.

        Raises:
            ModelFailed: no answer, a cut stream, an error of the provider; with its retry code.
        """
        ...

    async def close(self) -> None: ...


class ModelProvider(Protocol):
    """Gives the model that is configured now."""

    def info(self, name: str | None = None) -> ModelInfo:
        """What would answer for model `name` (None: the default). Costs nothing, imports nothing."""
        ...

    def params(self) -> dict[str, object]:
        """Members that the settings add to every request (temperature, max tokens, extra body)."""
        ...

    def model(self) -> Model: ...

    async def warm(self) -> None:
        """Get ready what the first request needs (imports, certificates). Sends nothing."""
        ...

    def set_key(self, api_key: str) -> None:
        """Replace the key in memory."""
        ...

    def redact(self, text: str) -> str:
        """The text without the key and the other secrets of the settings."""
        ...
