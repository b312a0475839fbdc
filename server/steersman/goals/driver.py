"""The driver: it puts the next round into the loop when the session is idle, and executes nothing itself.

It uses the same verbs as a person, and judges anew at each: queued, claimed, admitted. It never gets ahead
of a person, and it stops with a reason that a person can read.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from steersman.context.goal_text import round_text
from steersman.domain import events as ev
from steersman.domain.goal import BlockCode, BlockedReason, Goal
from steersman.domain.state import EndedTurn, SessionState
from steersman.errors import RequestRefused
from steersman.goals.service import Goals
from steersman.loop.agent import Agent
from steersman.loop.services import Services
from steersman.policies.budget import left, used_up

log = logging.getLogger(__name__)


class Driver:
    """Drives one session's goal. `told_pause` says whether it waits on purpose between two rounds."""

    def __init__(self, goals: Goals, agent: Agent, services: Services) -> None:
        self._goals = goals
        self._agent = agent
        self._services = services
        self._seen_turn = goals.state.turns
        self._advancing: asyncio.Task[None] | None = None
        self.pausing = False
        self.changed: Callable[[], None] = lambda: None
        agent.rested = self.rested
        goals.wake = self.consider

    def rested(self) -> None:
        """No turn is open (called in the tick of a commit): look how the last one ended, then go on."""
        last = self._goals.state.last_turn
        if last is not None and last.number > self._seen_turn:
            self._seen_turn = last.number
            self._after(last)
        self.consider()

    def consider(self) -> None:
        """Start a round if one is due. Safe to call at any time, as often as one likes."""
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
        if not task.cancelled() and (error := task.exception()) is not None:
            self._goals.disarm("The driver itself failed; the server's log says more.")
            if not isinstance(error, RequestRefused):
                log.error("the goal driver failed", exc_info=error)
            return
        if not task.cancelled():
            self.consider()

    def _ready(self) -> bool:
        state = self._goals.state
        return self._goals.armed and self._agent.at_rest and not state.inbox.people_wait

    def _judge(self, state: SessionState) -> str | None:
        return None if self._goals.activation.armed else "the goal is disarmed"

    async def _advance(self) -> None:
        goal = self._goals.state.goal
        if goal is None:
            return
        if goal.rounds_started >= goal.max_rounds:
            text = f"All {goal.max_rounds} rounds were used. Raise maxRounds and resume, or complete it."
            await self._block(goal, "round-limit", text)
            return
        spent = used_up(self._goals.state, goal)
        if spent:
            await self._block(goal, "budget", f"Used up: {', '.join(spent)}. Raise it and resume.")
            return
        await self._pace()
        if not await self._agent.queue_round(self._text, self._judge):
            return
        if await self._agent.claim_round(self._judge):
            await self._agent.admit_round(self._judge)

    async def _pace(self) -> None:
        """A round after one that changed nothing waits: the first time 1 s, then 5 s (settings)."""
        idle = self._goals.state.goals.idle_rounds
        pauses = self._services.settings.goal.idle_pause_seconds
        if not idle or not pauses:
            return
        self.pausing = True
        self.changed()
        try:
            await self._services.clock.sleep(pauses[min(idle, len(pauses)) - 1])
        finally:
            self.pausing = False
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
        """What the end of a turn means for the goal (goal.md, the table in "Rounds")."""
        goal, goals = self._goals.state.goal, self._goals
        if goal is None or goal.phase != "active":
            return
        match last.reason:
            case ev.AbortedReason(by="human"):
                if last.round is not None:
                    goals.pause(goal.ref, "driver", "A person stopped its round.")
            case ev.AbortedReason(by=by):
                goals.disarm(f"The turn was ended ({by}).")
            case ev.ErrorReason(message=message):
                self._failed(goal, message)
            case ev.MaxTokens():
                self._failed(goal, "The model's output limit cut its answer.")
            case ev.Exit(policy="unanswered"):
                goals.pause(goal.ref, "driver", "A person was asked, and nobody answered in time.")
            case ev.Exit(policy=policy):
                if last.round is not None and policy != "goal-paused":
                    spent = ", ".join(used_up(goals.state, goal))
                    what = f"Used up: {spent}." if spent else f"The policy {policy!r} ended its round."
                    self._submit_block(goal, "budget", f"{what} Raise the limit and resume.")
            case _:
                limit = self._services.settings.goal.no_progress_rounds
                if last.round is not None and goals.state.goals.idle_rounds >= limit:
                    text = f"{limit} rounds in a row changed nothing: no file, and no call that was new."
                    self._submit_block(goal, "no-progress", text)

    def _failed(self, goal: Goal, message: str) -> None:
        """A failing turn disarms; the third failing round in a row blocks."""
        self._goals.disarm(f"A turn failed: {message}")
        limit = self._services.settings.goal.failing_rounds
        if self._goals.state.goals.failing_rounds >= limit:
            self._submit_block(goal, "failing", f"{limit} rounds in a row failed. The last: {message}")

    def _submit_block(self, goal: Goal, code: BlockCode, message: str) -> None:
        # Disarmed at once, so that no round slips in before the block is committed.
        self._goals.disarm(message)
        self._goals.block(goal.ref, BlockedReason(code=code, message=message))

    async def _block(self, goal: Goal, code: BlockCode, message: str) -> None:
        await self._goals.block(goal.ref, BlockedReason(code=code, message=message))
