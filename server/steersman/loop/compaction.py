"""Making a conversation shorter: results first, then a summary of the oldest exchanges (context.md).

Nothing is changed here: what is found to pay becomes an event, and requests are built from it from then on.
"""

from __future__ import annotations

import math
from typing import Final

import msgspec
from msgspec.structs import replace
from pyrsistent import pvector

from steersman.context.condensed import ASK_SUMMARY, LEFT_OUT
from steersman.context.plan import GAIN, KEPT, WORDS, cut, shares
from steersman.context.request import RequestBuilder
from steersman.context.shortened import is_long
from steersman.domain import events as ev
from steersman.domain.digest import digest
from steersman.domain.fold_context import condensed
from steersman.domain.messages import Notice
from steersman.domain.state import Compaction, GoalRecord, ResultEntry, SessionState, UserEntry
from steersman.domain.usage import Usage
from steersman.loop.abort import AbortSignal
from steersman.loop.journal import Decide, Decision, Journal
from steersman.loop.reply import Tell
from steersman.loop.services import Services
from steersman.loop.summary import Summariser

Found = ev.ContextCompacted | ev.CompactionFailed
ENOUGH: Final = 0.6
"""Shortened results alone are enough if the request then takes less than this part of what is allowed."""


class Weighed(msgspec.Struct, frozen=True):
    """A conversation on the scales: tokens and bytes of its next request, and where it would be cut."""

    state: SessionState
    tokens: int
    body_bytes: int
    sizes: list[int]
    cut: int

    @property
    def through_seq(self) -> int:
        """The last event of what would be summarised, 0 if there is nothing before the cut."""
        return self.state.history[self.cut - 1].seq if self.cut else 0


class Compactor:
    """Looks for a shorter form of the conversation as it is now."""

    def __init__(self, journal: Journal, services: Services, abort: AbortSignal, tell: Tell) -> None:
        self._journal = journal
        self._services = services
        self._summariser = Summariser(journal, services, abort, tell)

    def limit(self) -> float | None:
        """The tokens that a request may take before it is made shorter; None where no window is known."""
        window = self._window()
        return None if window is None else window * self._services.settings.context.compact_at

    async def find(self, trigger: ev.Trigger, builder: RequestBuilder, spent: Usage) -> Found:
        """What to do, as the event that does it. `spent` is what a refused request cost.

        Raises:
            StorageFailed: a retry, or the whole text of a result, could not be recorded.
        """
        weighed = weigh(self._journal.state, builder)
        # A request that was refused may hold a giant in its newest part: then all results are shortened.
        results = weighed.state.history[-1].seq if trigger == "overflow" else weighed.through_seq
        short = self._shorter(weighed, trigger, results_through=results)
        limit = self.limit()
        if trigger == "pressure" and short is not None and limit and short.tokens_after < ENOUGH * limit:
            return await self._kept_whole(weighed.state, short, spent)
        if not weighed.through_seq or sum(weighed.sizes[: weighed.cut]) < GAIN * weighed.body_bytes:
            found, problem = short, "only the instructions and the newest messages are left"
        else:
            body = _summary_body(weighed, results if trigger == "overflow" else 0)
            summary = await self._summariser.ask(body)
            spent, problem = spent + summary.usage, summary.problem
            found = None if summary.stopped else short
            text = LEFT_OUT if summary.too_long else summary.text
            if text is not None:
                problem = "the summary is not shorter than what it stands for"
                found = self._shorter(weighed, trigger, results_through=results, summary=text) or short
        if found is None:
            return ev.CompactionFailed(trigger=trigger, reason=_reason(weighed, problem), usage=spent)
        return await self._kept_whole(weighed.state, found, spent)

    def _shorter(
        self, weighed: Weighed, trigger: ev.Trigger, *, results_through: int, summary: str | None = None
    ) -> ev.ContextCompacted | None:
        """The compaction to these ends, if it is valid and saves enough."""
        state = weighed.state
        before = state.compaction or Compaction()
        through = before.through_seq if summary is None else weighed.through_seq
        data = ev.ContextCompacted(
            through_seq=through,
            summary=before.summary if summary is None else summary,
            tokens_before=weighed.tokens,
            tokens_after=0,
            trigger=trigger,
            results_through_seq=max(results_through, through, before.results_through_seq),
            words_limit=self._words_limit(weighed),
        )
        if (data.through_seq, data.results_through_seq) == (before.through_seq, before.results_through_seq):
            return None
        body = RequestBuilder().build(condensed(state, data))
        tokens_after = math.ceil(weighed.tokens * len(body) / weighed.body_bytes)
        if tokens_after > (1 - GAIN) * weighed.tokens:
            return None
        return replace(data, tokens_after=tokens_after)

    async def _kept_whole(self, state: SessionState, found: ev.ContextCompacted, spent: Usage) -> Found:
        """The event, once the whole text of each result that it shortens can be read by its handle."""
        before = state.compaction.results_through_seq if state.compaction else 0
        whole = {
            digest(entry.content): entry.content.encode("utf-8", "replace")
            for entry in state.history
            if isinstance(entry, ResultEntry)
            and before < entry.seq <= found.results_through_seq
            and entry.seq > found.through_seq
            and is_long(entry.content)
        }
        if whole:
            await self._journal.append(blobs=whole)
        return replace(found, usage=spent)

    def _words_limit(self, weighed: Weighed) -> int:
        """Bytes: a part of the window, or – where none is known – of the request as it is."""
        tokens = self._window() or weighed.tokens
        return int(WORDS * tokens * weighed.body_bytes / weighed.tokens)

    def _window(self) -> int | None:
        return self._services.models.info(self._journal.state.model).context_window


class Shorter(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a compaction by hand. Tokens are those of the next request."""

    compacted: bool
    tokens_before: int
    tokens_after: int


async def by_hand(compactor: Compactor, state: SessionState, builder: RequestBuilder) -> Decide[Shorter]:
    """The decision that makes an idle session's conversation shorter. Raises StorageFailed."""
    if state.header is None:
        nothing = Shorter(compacted=False, tokens_before=0, tokens_after=0)
        return lambda state: Decision((), nothing)
    found = await compactor.find("human", builder, Usage())
    tokens = builder.tokens(state)
    if isinstance(found, ev.CompactionFailed):
        answer = Shorter(compacted=False, tokens_before=tokens, tokens_after=tokens)
    else:
        answer = Shorter(compacted=True, tokens_before=tokens, tokens_after=found.tokens_after)
    return lambda state: Decision([found], answer)


def weigh(state: SessionState, builder: RequestBuilder) -> Weighed:
    """The conversation on the scales. Raises ValueError where no request was ever made."""
    body_bytes = len(builder.build(state))
    sizes = builder.sizes(state)
    return Weighed(
        state=state,
        tokens=max(builder.tokens(state), 1),
        body_bytes=body_bytes,
        sizes=sizes,
        cut=cut(state.history, sizes, KEPT * body_bytes),
    )


def _summary_body(weighed: Weighed, results_through: int) -> bytes:
    """The request for a summary: the conversation up to the cut as it was sent, and what is asked.

    `results_through` shortens results in it, for a request that the model would refuse as too long.
    """
    state = weighed.state
    asked = UserEntry(text=ASK_SUMMARY, source=Notice(name="summary"))
    compaction = state.compaction
    if results_through:
        compaction = replace(compaction or Compaction(), results_through_seq=results_through)
    history = state.history[: weighed.cut]
    shown = replace(state, history=pvector([*history, asked]), compaction=compaction, goals=GoalRecord())
    return RequestBuilder().build(shown)


def _reason(weighed: Weighed, problem: str) -> str:
    room = shares(weighed.state, weighed.sizes, weighed.body_bytes, weighed.tokens)
    return (
        f"The conversation could not be made shorter: {problem.rstrip('.')}. It takes about {weighed.tokens} "
        f"tokens ({room})."
    )
