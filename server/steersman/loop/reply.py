"""One model call: stream, log the pieces, and give the whole reply – or retry, or say why there is none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import aclosing
from typing import Final, cast, get_args

import msgspec
from pyrsistent import PMap

from steersman.context.tokens import estimate
from steersman.domain import events as ev
from steersman.domain.ids import new_id
from steersman.domain.messages import ToolCall
from steersman.domain.reply import ReplyAssembler
from steersman.domain.settings import ModelSettings
from steersman.domain.usage import Usage
from steersman.domain.views import WaitingOn
from steersman.errors import Aborted, ModelFailed, RetryCode
from steersman.loop.abort import AbortSignal
from steersman.loop.chunks import ChunkWriter
from steersman.loop.journal import Journal
from steersman.loop.services import Services
from steersman.policies.budget import budget
from steersman.ports.model import Finish, ModelRequest

RETRY_AFTER_LIMIT: Final = 60.0
"""Seconds: a provider's wish to wait is obeyed up to here."""

Tell = Callable[[WaitingOn | None], None]


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """A finished reply: `events` (last chunk and message) wait for the commit that follows from them."""

    events: tuple[ev.EventData, ...]
    message: ev.AssistantMessage


class NoReply(msgspec.Struct, frozen=True, kw_only=True):
    """The model was stopped (`end` is None) or failed for good. `usage` is what no event tells yet."""

    events: tuple[ev.EventData, ...] = ()
    end: ev.EndReason | None = None
    usage: Usage = Usage()


class Asker:
    """Asks the model for the open step, with retries that are events."""

    def __init__(self, journal: Journal, services: Services, abort: AbortSignal, tell: Tell) -> None:
        self._journal = journal
        self._services = services
        self._abort = abort
        self._tell = tell

    async def ask(self, body: bytes, turn: int, step: int) -> Reply | NoReply:
        """One reply to `body`. Raises StorageFailed."""
        open_step = self._journal.state.step
        attempt = 1 + (open_step.retries if open_step else 0)
        limit = attempt - 1 + self._services.settings.model.max_retries
        while True:
            self._tell("model")
            call = Attempt(self._journal, self._services, self._abort, body, (turn, step, attempt))
            try:
                return await call.run()
            except Aborted:
                return call.interrupted()
            except ModelFailed as failure:
                if self._abort.is_set():
                    return call.interrupted()
                if not failure.retryable or attempt > limit:
                    end = ev.ErrorReason(code=failure.code, message=str(failure))
                    return NoReply(end=end, usage=call.usage_so_far())
                if not await self._wait(failure, call, (turn, step, attempt)):
                    return self._given_up()
            attempt += 1

    def _given_up(self) -> NoReply:
        """No further attempt: the turn was stopped, or nothing is left to pay one with."""
        verdict = budget(self._journal.state, self._services.settings)
        if verdict is None:
            return NoReply()
        return NoReply(events=(verdict.event(),), end=ev.Exit(policy=verdict.policy))

    async def _wait(self, failure: ModelFailed, call: Attempt, place: tuple[int, int, int]) -> bool:
        """Log the retry, then wait. False if the turn was stopped meanwhile, or a budget is used up."""
        turn, step, attempt = place
        settings = self._services.settings.model
        seconds = retry_delay(settings, attempt, failure.retry_after, self._services.jitter())
        await self._journal.append(
            ev.ModelRetry(
                turn=turn,
                step=step,
                attempt=attempt,
                code=retry_code(failure.code),
                delay_ms=round(seconds * 1000),
                message=str(failure),
                usage=call.usage_so_far(),
            )
        )
        if budget(self._journal.state, self._services.settings) is not None:
            return False
        self._tell("retry")
        try:
            return await self._abort.sleep(self._services.clock, seconds)
        except Aborted:
            return False


class Attempt:
    """One request on the wire and what came of it."""

    def __init__(
        self,
        journal: Journal,
        services: Services,
        abort: AbortSignal,
        body: bytes,
        place: tuple[int, int, int],
    ) -> None:
        self._journal = journal
        self._services = services
        self._abort = abort
        self._body = body
        self._turn, self._step, _ = place
        self._chunks = ChunkWriter(journal, *place)
        self._assembler = ReplyAssembler()
        self._sent = False
        self._characters = 0

    async def run(self) -> Reply:
        """The reply. Raises Aborted, ModelFailed, StorageFailed."""
        try:
            finish = await self._abort.race(self._stream())
        except ModelFailed:
            self._chunks.take()
            raise
        reply = self._assembler
        calls = identified(reply.tool_calls, self._journal.state.call_ids)
        _require_usable(finish, reply.text, calls)
        message = ev.AssistantMessage(
            turn=self._turn,
            step=self._step,
            text=reply.text,
            tool_calls=calls,
            finish_reason=finish.finish_reason,
            usage=finish.usage or self.usage_so_far(),
            reasoning=reply.reasoning or None,
            reasoning_field=finish.reasoning_field if reply.reasoning else None,
        )
        return Reply(events=self._with_last_chunk(message), message=message)

    def interrupted(self) -> NoReply:
        """What to keep of a reply that a person stopped: exactly the text and reasoning that streamed."""
        text, reasoning = self._assembler.text, self._assembler.reasoning
        if not text and not reasoning:
            self._chunks.take()
            return NoReply(usage=self.usage_so_far())
        message = ev.AssistantMessage(
            turn=self._turn,
            step=self._step,
            text=text,
            tool_calls=[],
            finish_reason=None,
            usage=self.usage_so_far(),
            reasoning=reasoning or None,
            interrupted=True,
        )
        return NoReply(events=self._with_last_chunk(message))

    def usage_so_far(self) -> Usage:
        """An estimate for a request whose usage nobody told; nothing if it was never sent."""
        if not self._sent:
            return Usage()
        if not self._characters:
            return Usage(requests=1, estimated=True)
        return estimate(self._body, self._characters, self._services.settings.model.prices)

    async def _stream(self) -> Finish:
        finish: Finish | None = None
        goal = self._journal.state.goal
        named = {"goal.id": goal.id, "goal.revision": str(goal.revision)} if goal is not None else {}
        request = ModelRequest(body=self._body, substitutions=named)
        async with aclosing(self._services.models.model().stream(request)) as items:  # type: ignore[type-var]
            self._sent = True
            async for item in items:
                if isinstance(item, Finish):
                    finish = item
                    continue
                self._assembler.feed(item)
                self._characters += _characters(item)
                self._chunks.add(item)
        if finish is None:
            raise ModelFailed("transport", "The model's answer broke off.", retryable=True)
        return finish

    def _with_last_chunk(self, message: ev.AssistantMessage) -> tuple[ev.EventData, ...]:
        chunk = self._chunks.take()
        return (message,) if chunk is None else (chunk, message)


def retry_delay(settings: ModelSettings, attempt: int, retry_after: float | None, jitter: float) -> float:
    """Seconds to wait after failed attempt number `attempt` (from 1).

    0.5 s doubling to 10 s (settings), shortened by up to half by `jitter` in [0, 1); a provider's own wish
    is obeyed instead, up to a minute.
    """
    if retry_after is not None:
        return min(max(retry_after, 0.0), RETRY_AFTER_LIMIT)
    full = min(settings.retry_base_seconds * 2 ** (attempt - 1), settings.retry_max_seconds)
    return float(full * (1 - jitter / 2))


def identified(calls: Sequence[ToolCall], used: PMap[str, bool]) -> list[ToolCall]:
    """The calls with ids that no other call of the session has: providers repeat them, or give none."""
    seen: set[str] = set()
    result = []
    for call in calls:
        call_id = call.call_id
        if not call_id or call_id in seen or call_id in used:
            call_id = new_id("call")
        seen.add(call_id)
        result.append(msgspec.structs.replace(call, call_id=call_id))
    return result


def _require_usable(finish: Finish, text: str, calls: Sequence[ToolCall]) -> None:
    if not text and not calls:
        raise ModelFailed("empty", "The model gave an empty answer.", retryable=True)
    if finish.finish_reason is None and not all(_is_object(call.arguments) for call in calls):
        words = "The model's answer ended without a reason in the middle of a tool call."
        raise ModelFailed("transport", words, retryable=True)


def _is_object(arguments: str) -> bool:
    if not arguments.strip():
        return True
    try:
        return isinstance(msgspec.json.decode(arguments), dict)
    except (msgspec.DecodeError, UnicodeError):
        return False


def _characters(delta: object) -> int:
    text = getattr(delta, "text", None) or ""
    reasoning = getattr(delta, "reasoning", None) or ""
    call = getattr(delta, "tool_call", None)
    return len(text) + len(reasoning) + len((call.arguments or "") + (call.name or "") if call else "")


def retry_code(code: str) -> RetryCode:
    """The code of a failure that is retried, as `model/retry` tells it."""
    return cast(RetryCode, code) if code in get_args(RetryCode) else "transport"
