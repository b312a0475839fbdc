"""Work on a session while no turn runs: one job at a time, abortable, and people's messages right behind it.

That a job runs is known to the process only: after a crash there is nothing to continue.
"""

from __future__ import annotations

import asyncio
import logging
from asyncio import Future
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Final, TypeVar

from steersman.domain import events as ev
from steersman.domain.state import SessionState
from steersman.errors import Aborted, RequestRefused, SessionBusy, StorageFailed
from steersman.loop.abort import AbortSignal, Cause
from steersman.loop.closing import hold_queue
from steersman.loop.inbox import HeaderSource, decide_stop, open_turn
from steersman.loop.journal import Decide, Decision, Into, Journal
from steersman.loop.stale import people_in_turn_queue, stale_round

log = logging.getLogger(__name__)
R = TypeVar("R")
Job = Callable[[AbortSignal], Coroutine[Any, Any, Decide[R]]]
"""The work. It honours the signal, and gives the decision that is committed as it ends."""
WHY: Final = "maintenance of the session goes first"


class Maintenance:
    """The jobs of one session. `changed` is called when one begins and when it has ended."""

    def __init__(self, journal: Journal, header: HeaderSource, changed: Callable[[], None]) -> None:
        self._journal = journal
        self._header = header
        self._changed = changed
        self._task: asyncio.Task[None] | None = None
        self.abort: AbortSignal | None = None
        """The signal of the job that runs, None while none does."""

    @property
    def runs(self) -> bool:
        return self.abort is not None

    def start(self, job: Job[R], into: Into[R] | None = None) -> Future[Any]:
        """Run a job if the session is idle. Cancelling the future stops it.

        Fails with SessionBusy, Aborted (it was stopped), StorageFailed, and whatever the job raises.
        """
        into = into or Into(asyncio.get_running_loop().create_future(), lambda result: result)
        future, abort = into.future, AbortSignal()

        def decide(state: SessionState) -> Decision[None]:
            if state.turn is not None or self.runs:
                what = "running" if state.turn is not None else "under maintenance"
                raise SessionBusy(f"The session is {what}: wait until it is idle, or stop it first.")
            # Now and not after the commit: whatever is decided next must find it.
            self.abort = abort
            return Decision(stale_round(state, WHY), None)

        def begin(begun: Future[None]) -> None:
            if (error := begun.exception()) is not None:
                self._over(abort)
                _fail(future, error)
                return
            self._task = asyncio.create_task(self._run(job, abort, into), name="maintenance")
            self._changed()

        future.add_done_callback(lambda done: abort.set("human") if done.cancelled() else None)
        self._journal.submit(decide).add_done_callback(begin)
        return future

    def decide_stop(self, state: SessionState, *, drop: bool) -> Decision[None]:
        """What a stop does to the queue: what waited is dropped, or held with the steers in front."""
        return decide_stop(state, drop=True) if drop else Decision(hold_queue(state, "cancelled", WHY), None)

    async def settle(self, seconds: float) -> bool:
        """Wait until no job runs, at most so long. Returns whether it is so."""
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=seconds)
        return self._task is None or self._task.done()

    def kill(self) -> None:
        """Leave a job that does not end."""
        if self._task is not None:
            self._task.cancel()

    async def _run(self, job: Job[R], abort: AbortSignal, into: Into[R]) -> None:
        """The job, then – in one commit – what it came to and the turn that waited behind it."""
        try:
            if abort.is_set():
                raise Aborted(abort.cause)
            await self._end(await job(abort), abort, into)
        except Exception as error:
            if not isinstance(error, Aborted | RequestRefused):
                log.error("maintenance failed", exc_info=error)
            nothing: Into[None] = Into(into.future, lambda result: result)
            with suppress(StorageFailed):
                await self._end(lambda state: Decision((), None), abort, nothing, error)
            _fail(into.future, error)
        finally:
            self._over(abort)

    async def _end(
        self, decide: Decide[R], abort: AbortSignal, into: Into[R], error: Exception | None = None
    ) -> None:
        """Commit a decision with what waits, and answer in the same tick. Raises what `decide` raises."""

        def ended(state: SessionState) -> Decision[R]:
            decision = decide(state)
            return Decision([*decision.events, *self._next(state, abort.cause)], decision.result)

        def finish(result: R) -> None:
            self._over(abort)
            if error is not None:
                _fail(into.future, error)
            elif not into.future.done():
                into.future.set_result(into.finish(result))

        committed: Future[None] = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._journal.submit(ended, into=Into(committed, finish)))

    def _next(self, state: SessionState, cause: Cause | None) -> list[ev.EventData]:
        """The turn of whoever waits: steers as if they had come now, else the first prompt."""
        if cause in ("trust", "shutdown"):
            return hold_queue(state, "restart" if cause == "shutdown" else "cancelled", WHY)
        people = people_in_turn_queue(state) if state.inbox.held is None else ()
        if state.inbox.human_steers:
            return open_turn(state, state.inbox.next_step, self._header)
        return open_turn(state, (people[0], *state.inbox.next_step), self._header) if people else []

    def _over(self, abort: AbortSignal) -> None:
        if self.abort is abort:
            self.abort = None
            self._changed()


def _fail(future: Future[Any], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
        future.exception()  # an answer that nobody awaits is not an accident
