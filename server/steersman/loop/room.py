"""Room for the next request of a step: a conversation that fills the window is made shorter before it is
sent, and once more if the model refuses it as too long. What does not help ends the turn, never loops.
"""

from __future__ import annotations

from typing import Final, TypeGuard

from msgspec.structs import replace

from steersman.context.request import RequestBuilder
from steersman.domain import events as ev
from steersman.domain.usage import Usage
from steersman.loop.abort import AbortSignal
from steersman.loop.boundary import StepOutcome
from steersman.loop.compaction import Compactor
from steersman.loop.journal import Journal
from steersman.loop.reply import NoReply, Reply, Tell
from steersman.loop.services import Services
from steersman.policies.budget import budget

FAILED: Final = 2
"""So many compactions in a row that did not help, and the turn ends."""
WORTH_TELLING: Final = 24_000
"""Tokens from which on it matters that the size of the window is not known."""
_ADVICE: Final = (
    "Start a new session, send less at once, or use a model with a larger window (model.contextWindow)."
)


class Room:
    """For one step."""

    def __init__(
        self,
        journal: Journal,
        services: Services,
        builder: RequestBuilder,
        abort: AbortSignal,
        tell: Tell,
    ) -> None:
        self._journal = journal
        self._services = services
        self._builder = builder
        self._abort = abort
        self._compactor = Compactor(journal, services, abort, tell)

    async def before_request(self) -> StepOutcome | None:
        """Make room if need be. What the step comes to if there is no request to make any more.

        Raises:
            StorageFailed: an event could not be written.
        """
        state, limit = self._journal.state, self._compactor.limit()
        tokens = self._builder.tokens(state)
        if limit is None:
            if tokens >= WORTH_TELLING and not state.window_told:
                await self._journal.append(_window_unknown(tokens))
            return None
        if tokens <= limit:
            return None
        found = await self._compact("pressure", Usage())
        if isinstance(found, ev.CompactionFailed) and self._failures() >= FAILED:
            return StepOutcome(tail=(), usage=Usage(), end=_full(found.reason))
        return self._enough()

    async def after(self, reply: NoReply) -> StepOutcome | None:
        """Make room after a refusal as too long. None: ask once more. Raises StorageFailed."""
        found = await self._compact("overflow", reply.usage)
        if isinstance(found, ev.CompactionFailed):
            end = None if self._abort.is_set() else _full(found.reason)
            return StepOutcome(tail=(), usage=Usage(), end=end)
        return self._enough()

    async def _compact(self, trigger: ev.Trigger, spent: Usage) -> ev.ContextCompacted | ev.CompactionFailed:
        found = await self._compactor.find(trigger, self._builder, spent)
        await self._journal.append(found)
        return found

    def _failures(self) -> int:
        turn = self._journal.state.turn
        return turn.failed_compactions if turn is not None else 0

    def _enough(self) -> StepOutcome | None:
        """Whether, while room was made, a stop came or a budget was used up by it."""
        if self._abort.is_set() or self._abort.no_more.is_set():
            return StepOutcome(tail=(), usage=Usage())
        verdict = budget(self._journal.state, self._services.settings)
        if verdict is None:
            return None
        end = ev.Exit(policy=verdict.policy)
        return StepOutcome(tail=(verdict.event(),), usage=Usage(), end=end)


def too_long(reply: Reply | NoReply) -> TypeGuard[NoReply]:
    """Whether the model refused the request because the context is too long for it."""
    return (
        isinstance(reply, NoReply)
        and isinstance(reply.end, ev.ErrorReason)
        and reply.end.code == "context-limit"
    )


def still_too_long(reply: NoReply) -> NoReply:
    """The refusal of what had been made shorter, in words that say what to do."""
    words = reply.end.message if isinstance(reply.end, ev.ErrorReason) else ""
    return replace(reply, end=_full(f"It was made shorter and is still too long. {words}"))


def _full(reason: str) -> ev.ErrorReason:
    return ev.ErrorReason(code="context-limit", message=f"{reason} {_ADVICE}")


def _window_unknown(tokens: int) -> ev.ExitVerdict:
    return ev.ExitVerdict(
        policy="context-window",
        class_="safety",
        severity="info",
        action="continue",
        message="The size of the model's context window is not known, so a long conversation is made shorter "
        "only when the model refuses it. Set model.contextWindow.",
        evidence=f"the conversation takes about {tokens} tokens",
    )
