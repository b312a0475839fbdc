"""The request for a summary: the same prefix as the conversation's, each retry an event, its cost told."""

from __future__ import annotations

from contextlib import aclosing

import msgspec

from steersman.context.tokens import estimate
from steersman.domain import events as ev
from steersman.domain.reply import ReplyAssembler
from steersman.domain.usage import Usage
from steersman.errors import Aborted, ModelFailed
from steersman.loop.abort import AbortSignal
from steersman.loop.journal import Journal
from steersman.loop.reply import Tell, retry_code, retry_delay
from steersman.loop.services import Services
from steersman.ports.model import Finish, ModelRequest


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """A summary, or – where `text` is None – why there is none. `usage` is what no event tells yet.

    `stopped`: a person wants nothing more of it. `too_long`: the model cannot take what is to be summed up.
    """

    text: str | None
    usage: Usage
    problem: str = ""
    stopped: bool = False
    too_long: bool = False


class Summariser:
    """Asks for one summary, for the open step or for maintenance. It never acts on what the model says."""

    def __init__(self, journal: Journal, services: Services, abort: AbortSignal, tell: Tell) -> None:
        self._journal = journal
        self._services = services
        self._abort = abort
        self._tell = tell

    async def ask(self, body: bytes) -> Summary:
        """One summary, with the retries of any request. Raises StorageFailed."""
        limit = self._services.settings.model.max_retries
        attempt = 1
        while True:
            self._tell("model")
            asked = _Attempt(self._services, body)
            try:
                text = await self._abort.race(asked.run())
            except Aborted:
                return _stopped(asked.usage())
            except ModelFailed as failure:
                if self._abort.is_set():
                    return _stopped(asked.usage())
                if not failure.retryable or attempt > limit:
                    full = failure.code == "context-limit"
                    return Summary(text=None, usage=asked.usage(), problem=str(failure), too_long=full)
                if not await self._wait(failure, asked, attempt):
                    return _stopped(Usage())
                attempt += 1
            else:
                return Summary(text=text, usage=asked.usage())

    async def _wait(self, failure: ModelFailed, asked: _Attempt, attempt: int) -> bool:
        """Log the retry, then wait. False if no further attempt is wanted."""
        settings, state = self._services.settings.model, self._journal.state
        seconds = retry_delay(settings, attempt, failure.retry_after, self._services.jitter())
        retry = ev.ModelRetry(
            turn=state.turn.number if state.turn else None,
            step=state.turn.step if state.turn else None,
            attempt=attempt,
            code=retry_code(failure.code),
            delay_ms=round(seconds * 1000),
            message=str(failure),
            usage=asked.usage(),
            purpose="summary",
        )
        await self._journal.append(retry)
        self._tell("retry")
        try:
            return await self._abort.sleep(self._services.clock, seconds)
        except Aborted:
            return False


def _stopped(usage: Usage) -> Summary:
    return Summary(text=None, usage=usage, problem="it was stopped", stopped=True)


class _Attempt:
    """One request for a summary on the wire."""

    def __init__(self, services: Services, body: bytes) -> None:
        self._services = services
        self._body = body
        self._reply = ReplyAssembler()
        self._sent = False
        self._told: Usage | None = None

    async def run(self) -> str:
        """The text. Raises ModelFailed, also where the answer is cut or no text at all."""
        finish: Finish | None = None
        request = ModelRequest(body=self._body, purpose="summary")
        async with aclosing(self._services.models.model().stream(request)) as items:  # type: ignore[type-var]
            self._sent = True
            async for item in items:
                if isinstance(item, Finish):
                    finish = item
                else:
                    self._reply.feed(item)
        if finish is None:
            raise ModelFailed("transport", "The model's answer broke off.", retryable=True)
        self._told = finish.usage
        text = self._reply.text.strip()
        if finish.finish_reason == "length":
            raise ModelFailed("output-limit", "The summary was cut by the output limit.")
        if not text:
            raise ModelFailed("empty", "The model gave no summary.", retryable=True)
        return text

    def usage(self) -> Usage:
        """What the model told that it cost, or an estimate; nothing if it was never sent."""
        if self._told is not None:
            return self._told
        if not self._sent:
            return Usage()
        said = len(self._reply.text) + len(self._reply.reasoning)
        if not said:
            return Usage(requests=1, estimated=True)
        return estimate(self._body, said, self._services.settings.model.prices)
