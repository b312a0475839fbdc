"""The agent of one session: idle, running, under maintenance – and the verbs that move it.

There is no other way in.
"""

from __future__ import annotations

import asyncio
import logging
from asyncio import Future
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from steersman.context.request import RequestBuilder
from steersman.domain import events as ev
from steersman.domain.ids import new_id
from steersman.domain.state import SessionState
from steersman.domain.views import RunState, WaitingOn
from steersman.errors import StorageFailed
from steersman.loop.abort import AbortSignal, Cause
from steersman.loop.boundary import StepOutcome, decide_boundary
from steersman.loop.closing import close_turn
from steersman.loop.compaction import Compactor, Shorter, by_hand
from steersman.loop.header import request_header
from steersman.loop.inbox import (
    Receipt,
    Words,
    check_turn,
    decide_notice,
    decide_prompt,
    decide_release,
    decide_remove,
    decide_steer,
    decide_stop,
    decide_update,
)
from steersman.loop.journal import Decide, Decision, Into, Journal
from steersman.loop.maintenance import Job, Maintenance
from steersman.loop.rounds import (
    Judge,
    RoundText,
    decide_admit_round,
    decide_claim_round,
    decide_queue_round,
)
from steersman.loop.services import Services
from steersman.loop.step import StepRunner
from steersman.policies.seam import Verdict, judge

log = logging.getLogger(__name__)
R = TypeVar("R")


class Stopped(msgspec.Struct, frozen=True, kw_only=True):
    """What a stop met: a turn, or a maintenance job (`turn` is None), or nothing."""

    anything: bool
    turn: int | None = None


class Agent:
    """Runs turns while the log says that one is open. Verbs return futures, resolved after their commit."""

    def __init__(self, journal: Journal, services: Services) -> None:
        self._journal = journal
        self._services = services
        self._builder = RequestBuilder()
        self._abort: AbortSignal | None = None
        self._abort_turn = 0
        self._running: asyncio.Task[None] | None = None
        self._dead = False
        self.waiting_on: WaitingOn | None = None
        self.rested: Callable[[], None] = lambda: None
        """Called in the tick of a commit that leaves no turn open: the goal's driver may go on."""
        self.touched: Callable[[], None] = lambda: None
        """Called when something that is not in the log changes (`waiting_on`)."""
        self._maintenance = Maintenance(journal, self.header, self._rest)
        journal.committed = self._after_commit

    @property
    def phase(self) -> RunState:
        """A session whose storage failed does not run, whatever its last state says."""
        if self._maintenance.runs:
            return "maintenance"
        running = self._journal.state.turn is not None and self._journal.suspended is None
        return "running" if running else "idle"

    @property
    def at_rest(self) -> bool:
        """Whether a turn may be opened now."""
        return self._journal.state.turn is None and not self._maintenance.runs

    @property
    def stopped(self) -> bool:
        """Whether the running turn has been told to stop."""
        return self._journal.state.turn is not None and self._abort is not None and self._abort.is_set()

    def prompt(self, words: Words, into: Into[Receipt] | None = None) -> Future[Receipt]:
        """`followup`: a turn of its own. Fails with InvalidParams for a reused message id."""

        def decide(state: SessionState) -> Decision[Receipt]:
            decision = decide_prompt(state, words, self.header, busy=self._maintenance.runs)
            # A repeated message id decides nothing: it is no new word.
            if decision.events and words.after_stop and self._abort is not None and self.stopped:
                self._abort.words_after = True
            return decision

        return self._journal.submit(decide, into=into)

    def steer(self, words: Words, into: Into[Receipt] | None = None) -> Future[Receipt]:
        """Join the running turn at its next step, or start one. Fails with TurnMismatch, InvalidParams."""

        def decide(state: SessionState) -> Decision[Receipt]:
            late = words.after_stop and self.stopped
            words_now = replace(words, after_stop=late)
            return decide_steer(state, words_now, self.header, busy=self._maintenance.runs)

        return self._journal.submit(decide, into=into)

    def inject(self, name: str, text: str) -> Future[None]:
        """A notice of the host; it wakes nobody."""
        return self._journal.submit(lambda state: decide_notice(new_id("n"), name, text))

    def cancel(
        self, *, drop: bool, expected_turn: int | None, into: Into[Stopped] | None = None
    ) -> Future[Stopped]:
        """Stop the running turn or maintenance job. Fails with TurnMismatch.

        The signal is set in this very call if one runs, whatever decisions are still queued.
        """
        running = self._journal.state.turn
        if expected_turn is None or (running is not None and expected_turn == running.number):
            self.abort("human")

        def decide(state: SessionState) -> Decision[Stopped]:
            number = state.turn.number if state.turn else None
            check_turn(expected_turn, number)
            self.abort("human")
            if number is not None:
                return Decision(decide_stop(state, drop=drop).events, Stopped(anything=True, turn=number))
            if self._maintenance.runs:
                events = self._maintenance.decide_stop(state, drop=drop).events
                return Decision(events, Stopped(anything=True))
            return Decision((), Stopped(anything=False))

        return self._journal.submit(decide, into=into)

    def abort(self, cause: Cause) -> None:
        """Set the signal of the running turn or job. Nothing happens when idle, or the second time."""
        if self._abort is not None and self._journal.state.turn is not None:
            self._abort.set(cause)
        elif self._maintenance.abort is not None:
            self._maintenance.abort.set(cause)

    def maintain(self, job: Job[R], into: Into[R] | None = None) -> Future[Any]:
        """Run a job while no turn does; what people send meanwhile runs right behind it.

        Fails with SessionBusy, Aborted, StorageFailed, and what the job raises. Cancelling the future stops
        the job.
        """
        return self._maintenance.start(job, into)

    def compact(self, into: Into[Shorter]) -> Future[Any]:
        """Make the conversation shorter, as maintenance. Fails with SessionBusy, StorageFailed."""

        async def job(abort: AbortSignal) -> Decide[Shorter]:
            compactor = Compactor(self._journal, self._services, abort, self._tell)
            try:
                return await by_hand(compactor, self._journal.state, self._builder)
            finally:
                self._tell(None)

        return self._maintenance.start(job, into)

    def remove(self, message_id: str, into: Into[bool] | None = None) -> Future[bool]:
        return self._journal.submit(lambda state: decide_remove(state, message_id), into=into)

    def update(self, message_id: str, text: str, into: Into[bool] | None = None) -> Future[bool]:
        return self._journal.submit(lambda state: decide_update(state, message_id, text), into=into)

    def release(self, into: Into[int] | None = None) -> Future[int]:
        return self._journal.submit(lambda state: self._decide_release(state), into=into)

    def queue_round(self, text: RoundText, judge: Judge) -> Future[bool]:
        """`followup` of the goal's driver: a round that waits behind every person."""
        return self._journal.submit(lambda state: decide_queue_round(state, text, self._judged(judge)))

    def claim_round(self, judge: Judge) -> Future[bool]:
        return self._journal.submit(lambda state: decide_claim_round(state, self._judged(judge)))

    def admit_round(self, judge: Judge) -> Future[bool]:
        """Open the claimed round's turn, unless something has come between."""
        return self._journal.submit(lambda state: decide_admit_round(state, self._judged(judge), self.header))

    def let_finish(self) -> None:
        """The goal was taken from its round: the step in work may end, but no retry and no step follows."""
        turn = self._journal.state.turn
        if self._abort is not None and turn is not None and turn.round is not None:
            self._abort.no_more.set()

    async def settle(self, seconds: float) -> bool:
        """Wait until no turn and no job runs, at most so long. Returns whether it is so."""
        if not await self._maintenance.settle(seconds):
            return False
        if self._running is not None:
            await asyncio.wait({self._running}, timeout=seconds)
        return self._running is None or self._running.done()

    def kill(self) -> None:
        """Leave a turn that does not end: recovery will close it when the session is opened again."""
        self._dead = True
        self._maintenance.kill()
        if self._running is not None:
            self._running.cancel()

    def header(self, state: SessionState, turn: int, step: int) -> ev.RequestHeader:
        """The request header of a step, as the settings are now."""
        return request_header(self._services, state, turn, step)

    def _decide_release(self, state: SessionState) -> Decision[int]:
        return decide_release(state, self.header, busy=self._maintenance.runs)

    def _judged(self, judge: Judge) -> Judge:
        """A round's judge that knows of maintenance too."""
        return lambda state: "maintenance runs" if self._maintenance.runs else judge(state)

    def _rest(self) -> None:
        """Maintenance began or ended."""
        self.touched()
        if self.at_rest and not self._dead:
            self.rested()

    def _tell(self, waiting_on: WaitingOn | None) -> None:
        if self.waiting_on != waiting_on:
            self.waiting_on = waiting_on
            self.touched()

    def _after_commit(self) -> None:
        """Called in the tick of every commit: an open turn has its own signal and a task that runs it."""
        turn = self._journal.state.turn
        if self._dead or self._journal.suspended is not None:
            return
        if turn is None:
            self.rested()
            return
        if self._abort is None or self._abort_turn != turn.number:
            self._abort, self._abort_turn = AbortSignal(), turn.number
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._run(), name=f"agent {self._journal.state.session_id}")
            self._running.add_done_callback(lambda task: self._after_commit())

    async def _run(self) -> None:
        """Step after step, turn after turn, until the log says that nothing is open."""
        try:
            while self._journal.state.turn is not None and self._abort is not None:
                abort = self._abort
                outcome = await StepRunner(
                    self._journal, self._services, self._builder, abort, self._tell
                ).run()
                await self._journal.commit(lambda state: self._boundary(state, outcome, abort))  # noqa: B023
        except StorageFailed as error:
            log.error("session %s is suspended: %s", self._journal.state.session_id, error)
        except Exception:
            log.exception("the turn of session %s failed", self._journal.state.session_id)
            await self._close_broken_turn()
        finally:
            self._tell(None)

    def _boundary(self, state: SessionState, outcome: StepOutcome, abort: AbortSignal) -> Decision[None]:
        verdict: Verdict | None = None
        if outcome.goes_on:
            verdict = judge(self._services.policies, state, self._services.settings)
        return decide_boundary(state, outcome, verdict, abort, self.header)

    async def _close_broken_turn(self) -> None:
        """An error of our own must not leave the session running for ever: close what is open."""
        message = "Steersman itself failed in this turn. The log of the server says more; you can go on."
        reason = ev.ErrorReason(code="internal", message=message)
        try:
            await self._journal.commit(lambda state: Decision(close_turn(state, reason), None))
        except Exception:
            self._dead = True
            log.exception("session %s cannot be closed properly", self._journal.state.session_id)
