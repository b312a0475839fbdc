"""The driver: it puts the next round into the loop when the session is idle, and executes nothing itself.

It uses the same verbs as a person, and judges anew at each: queued, claimed, admitted. It never gets ahead
of a person, and it stops with a reason that a person can read.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from steersman.context.goal_text import round_text
from steersman.domain.goal import BlockedReason, Goal
from steersman.domain.state import EndedTurn, SessionState
from steersman.errors import RequestRefused
from steersman.goals.outcome import Block, Disarm, Pause, no_room, outcome_of
from steersman.goals.service import Goals
from steersman.loop.agent import Agent
from steersman.loop.services import Services
from steersman.policies.budget import left

log = logging.getLogger(__name__)


class Driver:
    """Drives one session's goal. `pausing` says whether it waits on purpose between two rounds."""

    def __init__(self, goals: Goals, agent: Agent, services: Services) -> None:
        self._goals = goals
        self._agent = agent
        self._services = services
        self._seen_turn = goals.state.turns
        self._advancing: asyncio.Task[None] | None = None
        self._news = asyncio.Event()
        self.pausing = False
        self.changed: Callable[[], None] = lambda: None
        agent.rested = self.consider
        goals.wake = self.consider
        goals.committed = self._look

    def _look(self) -> None:
        """How a turn has ended, in the tick of its commit: the next turn may stand in the same one."""
        last = self._goals.state.last_turn
        if last is not None and last.number > self._seen_turn:
            self._seen_turn = last.number
            self._after(last)

    def consider(self) -> None:
        """Start a round if one is due. Safe to call at any time, as often as one likes."""
        self._news.set()
        if self._advancing is not None and not self._advancing.done():
            return
        if self._ready():
            self._advancing = asyncio.create_task(self._advance(), name="goal driver")
            self._advancing.add_done_callback(self._advanced)

    def stop(self) -> None:
        """Never again in this process."""
        self._goals.disarm("The session is closed.")
        if self._advancing is not None:
            self._advancing.cancel()

    def _advanced(self, task: asyncio.Task[None]) -> None:
        if task.cancelled():
            return
        error = task.exception()
        if error is not None and not isinstance(error, RequestRefused):
            log.error("the goal driver failed", exc_info=error)
            self._goals.disarm("The driver itself failed; the server's log says more.")
            return
        # What was refused came too late: a person changed the goal in this moment. Judge anew.
        self.consider()

    def _ready(self) -> bool:
        return self._goals.armed and self._agent.at_rest and not self._goals.state.inbox.people_wait

    def _judge(self, state: SessionState) -> str | None:
        """Why no round may move, as things are in this very decision; None if one may."""
        goal = state.goal
        if not self._goals.armed or goal is None:
            return "the goal is disarmed"
        return "no room is left" if no_room(state, goal) is not None else None

    async def _advance(self) -> None:
        """One round on its way, as far as it comes. All is judged again after each await."""
        goal = self._goals.state.goal
        if goal is None:
            return
        full = no_room(self._goals.state, goal)
        if full is not None:
            await self._goals.block(goal.ref, BlockedReason(code=full.code, message=full.message))
            return
        await self._pace()
        if not self._ready() or not await self._agent.queue_round(self._text, self._judge):
            return
        if await self._agent.claim_round(self._judge):
            await self._agent.admit_round(self._judge)

    async def _pace(self) -> None:
        """A round after one that changed nothing waits: the first time 1 s, then 5 s (settings).

        News end the wait: a person's act may leave nothing to wait for.
        """
        idle = self._goals.state.goals.idle_rounds
        pauses = self._services.settings.goal.idle_pause_seconds
        if not idle or not pauses:
            return
        self._tell_pausing(True)
        sleep = asyncio.create_task(self._services.clock.sleep(pauses[min(idle, len(pauses)) - 1]))
        try:
            while not sleep.done() and self._ready() and self._goals.state.goals.idle_rounds == idle:
                self._news.clear()
                news = asyncio.create_task(self._news.wait())
                try:
                    await asyncio.wait({sleep, news}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    news.cancel()
        finally:
            sleep.cancel()
            self._tell_pausing(False)

    def _tell_pausing(self, pausing: bool) -> None:
        self.pausing = pausing
        self.changed()

    def _text(self, state: SessionState) -> str:
        goal = state.goal
        if goal is None:
            raise AssertionError("a round has a goal")
        found = state.goals.verification
        failures = (
            [r for r in found.results if r.status != "pass"] if found and found.verdict == "fail" else []
        )
        return round_text(
            goal, goal.rounds_started + 1, left(state, goal), failures, replaced=state.goals.edited
        )

    def _after(self, last: EndedTurn) -> None:
        """Carry out what the end of a turn means. Disarmed at once: no round slips in before the commit."""
        state, goals = self._goals.state, self._goals
        goal: Goal | None = state.goal
        if goal is None or goal.phase != "active":
            return
        match outcome_of(state, goal, last, self._services.settings.goal):
            case Disarm(why=why):
                goals.disarm(why)
            case Pause(why=why):
                goals.disarm(why)
                goals.pause(goal.ref, "driver", why)
            case Block(code=code, message=message, disarmed_by=disarmed_by):
                goals.disarm(disarmed_by or message)
                goals.block(goal.ref, BlockedReason(code=code, message=message))
            case None:
                pass
