"""The pieces of a streaming reply on their way to the log: the first at once, then one group every 40 ms."""

from __future__ import annotations

import asyncio
from typing import Final

from msgspec.structs import replace

from steersman.domain import events as ev
from steersman.domain.messages import Delta, ToolCallDelta
from steersman.loop.journal import Decision, Journal

GROUP_SECONDS: Final = 0.04


class ChunkWriter:
    """Groups the deltas of one attempt. What was not yet written when the stream ends is `take`n."""

    def __init__(self, journal: Journal, turn: int, step: int, attempt: int) -> None:
        self._journal = journal
        self._place = (turn, step, attempt)
        self._pending: list[Delta] = []
        self._timer: asyncio.TimerHandle | None = None
        self._written: asyncio.Future[None] | None = None

    def add(self, delta: Delta) -> None:
        """Take one more delta. Raises StorageFailed if the log has been suspended."""
        if self._journal.suspended is not None:
            raise self._journal.suspended
        merge(self._pending, delta)
        if self._timer is None:
            self._flush()

    def take(self) -> ev.AssistantChunk | None:
        """What is not written yet, as an event for the commit that ends the attempt; then nothing is left."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        deltas, self._pending = self._pending, []
        return self._chunk(deltas) if deltas else None

    def _flush(self) -> None:
        """Write what waits, unless the last group is still being written; look again in 40 ms."""
        self._timer = None
        if not self._pending:
            return
        if self._written is None or self._written.done():
            deltas, self._pending = self._pending, []
            chunk = self._chunk(deltas)
            self._written = self._journal.submit(lambda state: Decision((chunk,), None))
        self._timer = asyncio.get_running_loop().call_later(GROUP_SECONDS, self._flush)

    def _chunk(self, deltas: list[Delta]) -> ev.AssistantChunk:
        turn, step, attempt = self._place
        return ev.AssistantChunk(turn=turn, step=step, attempt=attempt, deltas=deltas)


def merge(deltas: list[Delta], delta: Delta) -> None:
    """Append a delta, joined to the last one where both continue the same thing."""
    last = deltas[-1] if deltas else None
    joined = _join(last, delta) if last is not None else None
    if joined is None:
        deltas.append(delta)
    else:
        deltas[-1] = joined


def _join(last: Delta, delta: Delta) -> Delta | None:
    kinds = [_kind(last), _kind(delta)]
    if kinds == ["text", "text"]:
        return replace(last, text=(last.text or "") + (delta.text or ""))
    if kinds == ["reasoning", "reasoning"]:
        return replace(last, reasoning=(last.reasoning or "") + (delta.reasoning or ""))
    a, b = last.tool_call, delta.tool_call
    if kinds == ["call", "call"] and a is not None and b is not None:
        same = a.index == b.index and b.id is None and b.name is None
        if same and b.arguments is not None:
            arguments = (a.arguments or "") + b.arguments
            return Delta(tool_call=ToolCallDelta(index=a.index, id=a.id, name=a.name, arguments=arguments))
    return None


def _kind(delta: Delta) -> str:
    parts = (delta.text, delta.reasoning, delta.tool_call)
    names = [
        name for name, part in zip(("text", "reasoning", "call"), parts, strict=True) if part is not None
    ]
    return names[0] if len(names) == 1 else "mixed"
