"""The test double of the model port: replies from a list, each of which can be held open at any piece."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import msgspec

from steersman.domain.messages import Delta, ToolCallDelta
from steersman.domain.usage import Usage
from steersman.errors import ModelFailed
from steersman.ports.model import Finish, ModelInfo, ModelRequest


class Gate:
    """A piece of a reply at which the stream waits: `reached` is set there, `open()` lets it go on."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self._go = asyncio.Event()

    def open(self) -> None:
        self._go.set()

    async def wait(self) -> None:
        self.reached.set()
        await self._go.wait()


Piece = Delta | Finish | Gate | ModelFailed
USAGE = Usage(requests=1, input_tokens=100, output_tokens=10)


def text(words: str) -> Delta:
    return Delta(text=words)


def call(name: str, arguments: dict[str, Any] | str, *, index: int = 0, call_id: str = "") -> Delta:
    raw = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
    return Delta(tool_call=ToolCallDelta(index=index, id=call_id or f"c{index}", name=name, arguments=raw))


def done(reason: str | None = "stop") -> Finish:
    return Finish(finish_reason=reason, usage=USAGE)


def says(words: str) -> list[Piece]:
    """A whole reply of text."""
    return [text(words), done()]


def calls(*wanted: tuple[str, dict[str, Any] | str]) -> list[Piece]:
    """A whole reply that calls tools, with ids c0, c1…"""
    pieces: list[Piece] = [call(name, args, index=n) for n, (name, args) in enumerate(wanted)]
    return [*pieces, done("tool_calls")]


class ScriptedReplies:
    """A Model and its ModelProvider in one. `requests` are decoded bodies, `closed` counts ended streams."""

    def __init__(
        self, replies: Sequence[Sequence[Piece]], name: str = "double", window: int | None = None
    ) -> None:
        self.replies = [list(reply) for reply in replies]
        self.summaries: list[list[Piece]] = []
        """Replies to requests for a summary; where there is none left, those come from `replies` too."""
        self.requests: list[Any] = []
        self.bodies: list[ModelRequest] = []
        self.window = window
        self.closed = 0
        self.name = name
        self.configured = True
        self.key: str | None = None
        self.warmed = False

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | Finish]:
        self.bodies.append(request)
        self.requests.append(msgspec.json.decode(request.body))
        replies = self.summaries if request.purpose == "summary" and self.summaries else self.replies
        if not replies:
            raise ModelFailed("script", "The double has no reply left.")
        try:
            for piece in replies.pop(0):
                if isinstance(piece, Gate):
                    await piece.wait()
                elif isinstance(piece, ModelFailed):
                    raise piece
                else:
                    yield piece
        finally:
            self.closed += 1

    async def close(self) -> None:
        return None

    def info(self, name: str | None = None) -> ModelInfo:
        return ModelInfo(
            name=name or self.name, base_url=None, configured=self.configured, context_window=self.window
        )

    def params(self) -> dict[str, object]:
        return {}

    def model(self) -> ScriptedReplies:
        return self

    async def warm(self) -> None:
        self.warmed = True

    def set_key(self, api_key: str) -> None:
        self.key = api_key

    def redact(self, text: str) -> str:
        return text.replace(self.key, "***") if self.key else text
