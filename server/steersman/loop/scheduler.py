"""The tools of a batch: parallel calls share a rolling pool, an exclusive call is a barrier, and results are
committed in the model's order whatever the order of execution (loop.md, "Tools in a batch")."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from steersman.domain import events as ev
from steersman.domain.messages import ToolError
from steersman.loop.abort import AbortSignal
from steersman.loop.approve import Approver, Denied
from steersman.loop.call import Caller, Planned, error_text, result_event
from steersman.loop.journal import Journal
from steersman.loop.question import Questioner
from steersman.ports.clock import Clock
from steersman.tools.base import Allow, Ask, Inquire, Refuse, Reply

GROUP_SECONDS: Final = 0.04
"""How long a finished result waits for others before it is committed alone."""
NEVER_STARTED: Final = (
    "The turn was stopped before this call started. Nothing happened; it is safe to repeat."
)


def groups(calls: Sequence[Planned]) -> Iterator[list[Planned]]:
    """Maximal runs of parallel calls, and each exclusive call alone, in the model's order."""
    for (mode, _), run in groupby(enumerate(calls), key=lambda item: _key(*item)):
        members = [planned for _, planned in run]
        assert mode == "parallel" or len(members) == 1  # noqa: S101 - what the key says
        yield members


def _key(index: int, planned: Planned) -> tuple[str, int]:
    return (planned.mode, index if planned.mode == "exclusive" else -1)


class Scheduler:
    """Runs one batch. What it returns are the events that are not committed yet: the batch's last results."""

    def __init__(
        self,
        journal: Journal,
        caller: Caller,
        approver: Approver,
        questioner: Questioner,
        abort: AbortSignal,
        clock: Clock,
        place: tuple[int, int],
        pool: int,
    ) -> None:
        self._journal = journal
        self._caller = caller
        self._approver = approver
        self._questioner = questioner
        self._abort = abort
        self._clock = clock
        self._turn, self._step = place
        self._pool = asyncio.Semaphore(pool)
        self._pool_size = pool

    async def run(self, calls: Sequence[Planned], lead: Sequence[ev.EventData]) -> list[ev.EventData]:
        """Run all calls. `lead` is committed together with the first starts. Raises StorageFailed."""
        pending = list(lead)
        for group in groups(calls):
            if self._abort.is_set():
                pending += [self._never_started(planned) for planned in group]
                continue
            ready = [planned for planned in group if self._runs_at_once(planned)][: self._pool_size]
            pending += [self._start(planned) for planned in ready]
            await self._journal.append(*pending)
            pending = await self._run_group(group, {planned.call.call_id for planned in ready})
        return pending

    def _runs_at_once(self, planned: Planned) -> bool:
        return planned.rejected is None and isinstance(self._caller.permit(planned), Allow)

    async def _run_group(self, group: list[Planned], started: set[str]) -> list[ev.EventData]:
        """Run a group and return its results that are not committed, in order."""
        tasks = [asyncio.create_task(self._one(p, started=p.call.call_id in started)) for p in group]
        try:
            first = 0
            while not all(task.done() for task in tasks):
                waiting = {task for task in tasks if not task.done()}
                prefix = _finished(tasks, first)
                timeout = GROUP_SECONDS if prefix > first else None
                done, _ = await asyncio.wait(waiting, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
                if not done and prefix > first:
                    await self._journal.append(*(task.result() for task in tasks[first:prefix]))
                    first = prefix
            return [task.result() for task in tasks[first:]]
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _one(self, planned: Planned, *, started: bool) -> ev.ToolResult:
        """One call to its result. Raises StorageFailed."""
        if planned.rejected is not None:
            return self._error(planned, planned.rejected)
        approved = False
        reply: Reply | None = None
        if not started:
            permit = self._caller.permit(planned)
            if isinstance(permit, Refuse):
                return self._error(planned, ToolError(code=permit.code, message=permit.message))
            if isinstance(permit, Ask):
                denied = await self._approver.ask(planned, permit, self._turn)
                if denied is not None:
                    return self._denied(planned, denied)
                approved = True
            elif isinstance(permit, Inquire):
                answered = await self._questioner.ask(planned, permit, self._turn)
                if isinstance(answered, Denied):
                    return self._denied(planned, answered)
                if isinstance(answered, ToolError):
                    return self._error(planned, answered)
                reply = answered
        async with self._pool:
            if not started:
                if self._abort.is_set():
                    return self._never_started(planned)
                await self._journal.append(self._start(planned))
            return await self._body(planned, approved=approved, reply=reply)

    async def _body(self, planned: Planned, *, approved: bool, reply: Reply | None) -> ev.ToolResult:
        if self._abort.is_set():
            return self._result(planned, "aborted", "Stopped by the user before it did anything.")
        begun = self._clock.monotonic()
        outcome = await self._caller.run(planned, approved=approved, reply=reply)
        duration = round((self._clock.monotonic() - begun) * 1000)
        return result_event(self._turn, self._step, planned.call.call_id, outcome, duration)

    def _start(self, planned: Planned) -> ev.ToolStart:
        return ev.ToolStart(turn=self._turn, step=self._step, call_id=planned.call.call_id)

    def _never_started(self, planned: Planned) -> ev.ToolResult:
        return self._result(planned, "aborted-before-dispatch", NEVER_STARTED)

    def _denied(self, planned: Planned, denied: Denied) -> ev.ToolResult:
        if denied.withdrawn:
            return self._never_started(planned)
        return self._result(planned, "denied", error_text(denied.error), denied.error)

    def _error(self, planned: Planned, error: ToolError) -> ev.ToolResult:
        return self._result(planned, "error", error_text(error), error)

    def _result(
        self, planned: Planned, outcome: ev.CallOutcome, content: str, error: ToolError | None = None
    ) -> ev.ToolResult:
        return ev.ToolResult(
            turn=self._turn,
            step=self._step,
            call_id=planned.call.call_id,
            outcome=outcome,
            content=content,
            error=error,
        )


def _finished(tasks: Sequence[asyncio.Task[ev.ToolResult]], first: int) -> int:
    """The end of the run of finished tasks that starts at `first`."""
    end = first
    while end < len(tasks) and tasks[end].done():
        end += 1
    return end
