"""The goal of one session: the verbs by which people, the model and the driver change it, and its activation.

Everyone goes through here. A verb is one decision; what it does in memory happens in the tick of its commit.
"""

from __future__ import annotations

import asyncio
from asyncio import Future
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from steersman.domain import events as ev
from steersman.domain.checks import Check
from steersman.domain.goal import BlockedReason, By, GoalRef
from steersman.domain.state import SessionState
from steersman.domain.views import GoalView, WaitingOn
from steersman.errors import GoalInvalid, NotVerified, Untrusted
from steersman.goals import decisions
from steersman.goals.checkable import problem_of
from steersman.goals.decisions import Wishes
from steersman.goals.view import Activation, goal_view
from steersman.loop.abort import AbortSignal
from steersman.loop.agent import Agent, Stopped
from steersman.loop.call import CallContext
from steersman.loop.inbox import decide_stop, open_turn
from steersman.loop.journal import Decide, Decision, Into, Journal
from steersman.loop.question import Questioner
from steersman.loop.services import Services, Verification
from steersman.loop.stale import people_in_turn_queue, stale_round
from steersman.tools.base import ToolContext

PERSON: Final = "A person paused it."
STOP: Final = "A person pressed Stop."
Change = Callable[[SessionState], ev.GoalChanged]


class Goals:
    """`changed` is called when activation changed, which no event tells; `wake` when a round may be due."""

    def __init__(self, journal: Journal, agent: Agent, services: Services) -> None:
        self._journal = journal
        self._agent = agent
        self._services = services
        self.activation = Activation()
        self.changed: Callable[[], None] = lambda: None
        self.wake: Callable[[], None] = lambda: None
        self.committed: Callable[[], None] = lambda: None
        """Called in the tick of every commit, before the agent goes on."""
        self._then = journal.committed
        journal.committed = self._committed

    @property
    def state(self) -> SessionState:
        return self._journal.state

    @property
    def blocked_after(self) -> int:
        """In so many rounds in a row the model must report the same obstacle before it counts."""
        return self._services.settings.goal.blocked_after_rounds

    @property
    def armed(self) -> bool:
        goal = self.state.goal
        return self.activation.armed and goal is not None and goal.phase == "active"

    def view(self) -> GoalView | None:
        return goal_view(self.state, self.activation)

    def create(self, wishes: Wishes, by: By, into: Into[None] | None = None) -> Future[None]:
        """A new goal, armed. Fails with GoalExists, GoalInvalid, Untrusted."""

        def change(state: SessionState) -> ev.GoalChanged:
            self._require_possible(wishes)
            rounds = self._services.settings.goal.max_rounds
            return decisions.create(state, wishes, by, self._now(), rounds)

        return self._submit(change, into, arm=True)

    def edit(
        self, ref: GoalRef | None, wishes: Wishes, by: By, into: Into[None] | None = None
    ) -> Future[None]:
        """Fails with GoalNotFound, GoalStale, GoalTransition, GoalInvalid."""

        def change(state: SessionState) -> ev.GoalChanged:
            self._require_checkable(wishes)
            return decisions.edit(state, ref, wishes, by, self._now())

        return self._submit(change, into)

    def pause(
        self, ref: GoalRef | None, by: By, why: str = PERSON, into: Into[None] | None = None
    ) -> Future[None]:
        """Fails with GoalNotFound, GoalStale, GoalTransition."""
        return self._submit(lambda s: decisions.pause(s, ref, by, self._now(), why), into, disarm=why)

    def resume(self, ref: GoalRef | None, by: By, into: Into[None] | None = None) -> Future[None]:
        """Active and armed again. Fails with GoalTransition without room in a budget, Untrusted."""

        def change(state: SessionState) -> ev.GoalChanged:
            self._require_trust()
            return decisions.resume(state, ref, by, self._now(), armed=self.armed)

        return self._submit(change, into, arm=True)

    def clear(self, ref: GoalRef | None, by: By, into: Into[None] | None = None) -> Future[None]:
        return self._submit(lambda s: decisions.clear(s, ref, by), into, disarm="It was cleared.")

    def block(self, ref: GoalRef, why: BlockedReason, by: By = "driver") -> Future[None]:
        return self._submit(
            lambda s: decisions.block(s, ref, by, self._now(), why), None, disarm=f"Blocked: {why.message}"
        )

    def accept(self, ref: GoalRef | None, into: Into[None] | None = None) -> Future[None]:
        """A person ends it, over all checks, and the record says so."""
        said = "A person accepted it without checks."
        return self._submit(
            lambda s: decisions.complete(s, ref, "human", self._now(), said), into, disarm="It is complete."
        )

    async def complete(self, ref: GoalRef | None) -> None:
        """A person ends it after its checks, while no turn runs. A cancelled caller stops the checks.

        Raises:
            SessionBusy, NotVerified, Aborted (a stop), GoalNotFound, GoalStale, GoalTransition.
        """
        goal = decisions.permitted(self.state, ref, "complete")

        async def work(abort: AbortSignal) -> Decide[Verification]:
            asking = Questioner(self._journal, self._services, abort, self._waits)
            context = CallContext(self._journal, self._services, "goal/complete", asking.confirm)
            try:
                found = await abort.race(self.verify(goal.checks, context))
            finally:
                self._waits(None)
            return self._claim(goal.ref, found, "human", None)

        found: Verification = await self._agent.maintain(work)
        if found.verdict == "fail":
            raise NotVerified("The checks do not pass.", results=msgspec.to_builtins(found.results))
        self.disarm("It is complete.")

    async def verify(self, checks: Sequence[Check], context: ToolContext) -> Verification:
        """Run checks; what they find is not yet recorded."""
        return await self._services.checks.run(checks, context)

    async def settle_claim(self, ref: GoalRef, found: Verification, by: By, evidence: str | None) -> None:
        """Record what a claim's checks found and – unless they failed – complete the goal, in one commit.

        Raises:
            GoalStale, GoalTransition: the goal changed while the checks ran; nothing is recorded.
        """

        await asyncio.shield(self._journal.submit(self._claim(ref, found, by, evidence)))
        if found.verdict != "fail":
            self.disarm("It is complete.")

    def _claim(self, ref: GoalRef, found: Verification, by: By, evidence: str | None) -> Decide[Verification]:
        def decide(state: SessionState) -> Decision[Verification]:
            goal = decisions.current(state, ref)
            recorded = ev.GoalVerification(
                phase="claim",
                verdict=found.verdict,
                results=found.results,
                goal_id=goal.id,
                revision=goal.revision,
            )
            if found.verdict == "fail":
                return Decision([recorded], found)
            change = decisions.complete(state, ref, by, self._now(), evidence)
            return Decision([*stale_round(state, "the goal is complete"), recorded, change], found)

        return decide

    @property
    def between_rounds(self) -> bool:
        """Whether an armed goal waits for its next round: then a Stop is meant for it."""
        return self.armed and self.state.turn is None

    def stop_between_rounds(self, into: Into[Stopped] | None = None) -> None:
        """Stop while no turn runs: the armed goal is paused by the person.

        What was decided meanwhile does not outrun them: a round that was just admitted is stopped too.
        """

        def decide(state: SessionState) -> Decision[Stopped]:
            events = stale_round(state, "a person pressed Stop")
            if state.goal is not None and state.goal.phase == "active":
                events.append(decisions.pause(state, None, "human", self._now(), STOP))
            number = state.turn.number if state.turn is not None else None
            if number is not None:
                events += decide_stop(state, drop=False).events
            return Decision(events, Stopped(anything=True, turn=number))

        def finish(stopped: Stopped) -> object:
            self.disarm(STOP)
            if stopped.turn is not None:
                self._agent.abort("human")
            return into.finish(stopped) if into is not None else None

        future: Future[Any] = into.future if into is not None else _nobody_waits()
        self._journal.submit(decide, into=Into(future, finish))

    def _waits(self, waiting_on: WaitingOn | None) -> None:
        """What a claim outside a turn waits for is shown as a turn's is; it runs nothing that would be."""
        self._agent.waiting_on = waiting_on if waiting_on == "question" else None
        self.changed()

    def _committed(self) -> None:
        """Called in the tick of every commit, and when one failed: without a log nothing moves."""
        if self._journal.suspended is not None:
            self.disarm(f"The session cannot be written any more: {self._journal.suspended}")
        self.committed()
        self._then()

    def disarm(self, why: str) -> None:
        """Stop moving by itself; the phase stays."""
        self.activation.disarm(why)
        self.changed()

    def _submit(
        self, change: Change, into: Into[None] | None, *, arm: bool = False, disarm: str | None = None
    ) -> Future[None]:
        def decide(state: SessionState) -> Decision[None]:
            changed = change(state)
            events = [*stale_round(state, f"the goal was changed ({changed.operation})"), changed]
            if arm:
                events += self._release(state)
            return Decision(events, None)

        def finish(result: None) -> object:
            # In the tick of the commit: nothing can come between the change and what it means here.
            if arm:
                self.activation.arm()
            if disarm is not None:
                self.disarm(disarm)
                if self.state.goals.changed_by != "model" or self.state.goal is None:
                    # A model that ends or pauses the goal itself still has to say so.
                    self._agent.let_finish()
            self.changed()
            self.wake()
            return into.finish(result) if into is not None else None

        future: Future[None] = into.future if into is not None else _nobody_waits()
        return self._journal.submit(decide, into=Into(future, finish))

    def _release(self, state: SessionState) -> list[ev.EventData]:
        """Held messages of people run before the goal moves."""
        if state.inbox.held is None:
            return []
        events: list[ev.EventData] = [ev.InboxReleased()]
        people = people_in_turn_queue(state)
        if self._agent.at_rest and people:
            events += open_turn(state, (people[0], *state.inbox.next_step), self._agent.header)
        return events

    def _require_possible(self, wishes: Wishes) -> None:
        self._require_trust()
        self._require_checkable(wishes)

    def _require_trust(self) -> None:
        if not self._services.trusted:
            raise Untrusted("The workspace is not trusted: a goal cannot be armed in it.")

    def _require_checkable(self, wishes: Wishes) -> None:
        problem = problem_of(wishes.checks or (), self._services)
        if problem is not None:
            raise GoalInvalid(problem, member="checks")
        prices = self._services.settings.model.prices
        if wishes.budgets is not None and wishes.budgets.cost is not None and prices is None:
            raise GoalInvalid(
                "A cost budget needs the model's prices: set model.prices.", member="budgets.cost"
            )

    def _now(self) -> int:
        return self._services.clock.now_ms()


def _nobody_waits() -> Future[Any]:
    return asyncio.get_running_loop().create_future()
