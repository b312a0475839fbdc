"""From the bytes of an answer to deltas and one finish. No network here: any cut of the bytes gives the same.

An answer is an event stream, or one whole completion as JSON from servers that do not stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from steersman.domain.messages import Delta
from steersman.domain.settings import Prices
from steersman.models.calls import CallPieces
from steersman.models.chunks import (
    Body,
    CallPiece,
    Choice,
    Chunk,
    Malformed,
    WrongShape,
    decode_chunk,
    words_of,
)
from steersman.models.failures import (
    cut_failure,
    empty_failure,
    event_failure,
    protocol_failure,
    size_failure,
    stream_failure,
)
from steersman.models.sse import MAX_EVENT_BYTES, EventReader, EventTooLarge, ServerEvent
from steersman.models.surrogates import Halves
from steersman.models.usage import normal_usage
from steersman.ports.model import Finish

MAX_REPLY_BYTES: Final = 64 * 1024 * 1024
_FOREIGN: Final = ("message_", "content_block_", "response.")
"""How the event types of other protocols begin (Anthropic Messages, OpenAI Responses)."""
_BOM: Final = b"\xef\xbb\xbf"


class ReplyReader:
    """Reads one answer. `progress` grows with everything that is content: comments and empty chunks are not.

    `done` is set by `[DONE]`; `finish_reason` is the last one told. Both methods raise ModelFailed.
    """

    def __init__(self, prices: Prices | None = None, max_reply_bytes: int = MAX_REPLY_BYTES) -> None:
        self.progress = 0
        self.done = False
        self.finish_reason: str | None = None
        self._prices = prices
        self._limit = max_reply_bytes
        self._size = 0
        self._head = b""
        self._whole: list[bytes] | None = None
        self._events: EventReader | None = None
        self._calls = CallPieces()
        self._halves = Halves()
        self._said_something = False
        self._saw_choices = False
        self._saw_chunk = False
        self._usage: Any = None
        self._vendor_usage: Any = None
        self._reasoning_member: str | None = None

    def feed(self, piece: bytes) -> Iterator[Delta]:
        """The deltas that this piece completes."""
        self._size += len(piece)
        if self._size > self._limit:
            raise size_failure(self._limit)
        if self._events is None and self._whole is None:
            self._head += piece
            piece = self._recognise()
        if self._whole is not None:
            self._whole.append(piece)
            self.progress += bool(piece.strip())
        elif self._events is not None:
            try:
                for event in self._events.feed(piece):
                    yield from self._take(event)
            except EventTooLarge:
                raise size_failure(MAX_EVENT_BYTES) from None

    def end(self) -> Iterator[Delta | Finish]:
        """What the end of the answer completes; its last item is the finish."""
        if self._whole is not None:
            yield from self._take_whole(b"".join(self._whole))
        elif self._events is not None and not self.done:
            for event in self._events.end():
                yield from self._take(event)
        yield self._finish()

    def _recognise(self) -> bytes:
        """Decide by the first byte that is no white space what the answer is; give what was held back."""
        head = self._head.removeprefix(_BOM).lstrip()
        if not head or _BOM.startswith(head):
            return b""
        if head.startswith(b"<"):
            raise protocol_failure("it answers with a web page")
        if head.startswith((b"{", b"[")):
            self._whole = []
        else:
            self._events = EventReader()
        return self._head

    def _take(self, event: ServerEvent) -> Iterator[Delta]:
        if self.done or not event.data:
            return
        if event.data.strip() == b"[DONE]":
            self.done = True
            self.progress += 1
            return
        if event.name == b"error":
            raise event_failure(event.data)
        try:
            chunk = decode_chunk(event.data)
        except Malformed:
            raise cut_failure("a part of it is not JSON") from None
        except WrongShape as problem:
            raise protocol_failure(str(problem)) from None
        if chunk.type is not None and chunk.choices is None and chunk.type.startswith(_FOREIGN):
            raise protocol_failure(f"it sends events of type {chunk.type}")
        yield from self._take_chunk(chunk)

    def _take_whole(self, body: bytes) -> Iterator[Delta]:
        try:
            chunk = decode_chunk(body.strip().removeprefix(_BOM))
        except Malformed:
            if _is_lines(body):
                raise protocol_failure("it sends lines of JSON instead of events") from None
            raise cut_failure("it is no whole JSON") from None
        except WrongShape as problem:
            raise protocol_failure(str(problem)) from None
        yield from self._take_chunk(chunk)
        self.done = True

    def _take_chunk(self, chunk: Chunk) -> Iterator[Delta]:
        if chunk.error:
            raise stream_failure(chunk.error)
        self._saw_chunk = True
        if chunk.usage:
            self._usage = chunk.usage
            self.progress += 1
        if chunk.x_groq is not None and chunk.x_groq.usage:
            self._vendor_usage = chunk.x_groq.usage
        if chunk.choices is None:
            return
        self._saw_choices = True
        for choice in chunk.choices:
            if not choice.index:  # only the first of several alternatives
                yield from self._take_choice(choice)

    def _take_choice(self, choice: Choice) -> Iterator[Delta]:
        body = choice.message if self._whole is not None else choice.delta
        if body is not None:
            for delta in self._deltas(body):
                self.progress += 1
                self._said_something = True
                yield delta
        if choice.finish_reason:
            if choice.finish_reason == "error":
                raise cut_failure("the provider ended it with an error")
            self.finish_reason = choice.finish_reason
            self.progress += 1

    def _deltas(self, body: Body) -> Iterator[Delta]:
        words, member = words_of(body)
        self._reasoning_member = self._reasoning_member or member
        pieces = body.tool_calls or ()
        if body.function_call is not None:
            pieces = (*pieces, CallPiece(index=0, function=body.function_call))
        for delta in (*words, *self._calls.feed(pieces)):
            mended = self._mended(delta)
            if mended is not None:
                yield mended

    def _mended(self, delta: Delta) -> Delta | None:
        if delta.text is not None:
            text = self._halves.mend("text", delta.text)
            return (delta if text is delta.text else Delta(text=text)) if text else None
        if delta.reasoning is not None:
            reasoning = self._halves.mend("reasoning", delta.reasoning)
            return (
                (delta if reasoning is delta.reasoning else Delta(reasoning=reasoning)) if reasoning else None
            )
        call = delta.tool_call
        if call is None or call.arguments is None:
            return delta
        arguments = self._halves.mend(call.index, call.arguments)
        if arguments is call.arguments:
            return delta
        return Delta(tool_call=replace(call, arguments=arguments))

    def _finish(self) -> Finish:
        if not self._saw_choices and self._saw_chunk:
            raise protocol_failure("its answer holds no choices")
        if not self._said_something:
            raise empty_failure()
        if self.finish_reason is None and not self.done:
            raise cut_failure()
        return Finish(
            finish_reason=self.finish_reason,
            usage=normal_usage(self._usage or self._vendor_usage, self._prices),
            reasoning_field="reasoning_content" if self._reasoning_member == "reasoning_content" else None,
        )


def _is_lines(body: bytes) -> bool:
    """Whether the body is one JSON value a line."""
    first, _, rest = body.strip().partition(b"\n")
    if not rest:
        return False
    try:
        decode_chunk(first)
    except Malformed:
        return False
    except WrongShape:
        return True
    return True
