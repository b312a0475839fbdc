"""One step: ask the model, run the batch of tools it asks for, and – when it asks for none – the checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from steersman.context.request import RequestBuilder
from steersman.domain import events as ev
from steersman.domain.checks import CheckResult
from steersman.domain.messages import ToolError
from steersman.domain.usage import Usage
from steersman.errors import Aborted
from steersman.loop.abort import AbortSignal
from steersman.loop.approve import Approver
from steersman.loop.boundary import StepOutcome
from steersman.loop.call import Caller, Planned, error_text
from steersman.loop.journal import Journal
from steersman.loop.question import Questioner
from steersman.loop.reply import Asker, NoReply, Reply, Tell
from steersman.loop.room import Room, still_too_long, too_long
from steersman.loop.scheduler import Scheduler
from steersman.loop.services import Services

CUT_REPLIES: Final = 3
"""So many replies in a row that the output limit cut, and the turn ends `max-tokens`."""
FAILED_CHECKS: Final = 3
"""So many failures in a row of a prompt's checks, and the turn ends `exit {policy: "checks"}`."""
_CUT: Final = ToolError(
    code="OUTPUT_LIMIT",
    message="Your answer was cut by the output limit, so nothing was run. Make smaller calls, one at a time.",
)


class StepRunner:
    """Runs the open step of the open turn."""

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
        self._tell = tell
        self._approver = Approver(journal, services, abort, tell)
        self._questioner = Questioner(journal, services, abort, tell)
        self._caller = Caller(journal, services, abort, self._questioner.confirm)

    async def run(self) -> StepOutcome:
        """What the step came to; nothing of its `tail` is committed yet. Raises StorageFailed."""
        clock = self._services.clock
        begun = clock.monotonic()
        outcome = await self._run()
        waited = self._approver.waited + self._questioner.waited
        seconds = max(0.0, clock.monotonic() - begun - waited)
        return StepOutcome(
            tail=outcome.tail,
            usage=self._usage(outcome, seconds),
            goes_on=outcome.goes_on,
            end=outcome.end,
            notices=outcome.notices,
        )

    def _usage(self, outcome: StepOutcome, seconds: float) -> Usage:
        """The step's sum: what its committed events tell, what its last ones will, and the time."""
        step = self._journal.state.step
        total = step.usage if step else Usage()
        for event in outcome.tail:
            if isinstance(event, ev.AssistantMessage):
                total = total + event.usage
        return total + outcome.usage + Usage(seconds=round(seconds, 3))

    async def _run(self) -> StepOutcome:
        turn, step = self._place()
        if self._abort.is_set():
            return StepOutcome(tail=(), usage=Usage())
        reply = await self._ask(turn, step)
        if isinstance(reply, StepOutcome):
            return reply
        if isinstance(reply, NoReply):
            return StepOutcome(tail=reply.events, usage=reply.usage, end=reply.end)
        if not reply.message.tool_calls:
            return await self._last_words(reply)
        planned = [self._caller.prepare(call) for call in reply.message.tool_calls]
        lead = [*reply.events, *(self._called(p) for p in planned)]
        if reply.message.finish_reason == "length":
            return self._cut(planned, lead)
        self._tell("tool")
        scheduler = Scheduler(
            self._journal,
            self._caller,
            self._approver,
            self._questioner,
            self._abort,
            self._services.clock,
            (turn, step),
            self._services.settings.loop.max_parallel_tools,
        )
        tail = await scheduler.run(planned, lead)
        return StepOutcome(tail=tuple(tail), usage=Usage(), goes_on=True)

    async def _ask(self, turn: int, step: int) -> Reply | NoReply | StepOutcome:
        """The model's reply to a request that fits, or what the step comes to without one."""
        room = Room(self._journal, self._services, self._builder, self._abort, self._tell)
        if (full := await room.before_request()) is not None:
            return full
        asker = Asker(self._journal, self._services, self._abort, self._tell)
        reply = await asker.ask(self._builder.build(self._journal.state), turn, step)
        if not too_long(reply):
            return reply
        if (full := await room.after(reply)) is not None:
            return full
        reply = await asker.ask(self._builder.build(self._journal.state), turn, step)
        return still_too_long(reply) if too_long(reply) else reply

    def _place(self) -> tuple[int, int]:
        turn, step = self._journal.state.turn, self._journal.state.step
        if turn is None or step is None:
            raise AssertionError("a step runs while it is open")
        return turn.number, step.number

    def _called(self, planned: Planned) -> ev.ToolCalled:
        turn, step = self._place()
        return ev.ToolCalled(
            turn=turn,
            step=step,
            call_id=planned.call.call_id,
            name=planned.call.name,
            arguments=planned.call.arguments,
            mode=planned.mode,
        )

    def _cut(self, planned: Sequence[Planned], lead: Sequence[ev.EventData]) -> StepOutcome:
        """None of the calls of a cut reply runs, not even those that look whole."""
        turn, step = self._place()
        results = [
            ev.ToolResult(
                turn=turn,
                step=step,
                call_id=p.call.call_id,
                outcome="aborted-before-dispatch",
                content=error_text(_CUT),
                error=_CUT,
            )
            for p in planned
        ]
        open_turn = self._journal.state.turn
        cut = 1 + (open_turn.cut_replies if open_turn else 0)
        end = ev.MaxTokens() if cut >= CUT_REPLIES else None
        return StepOutcome(tail=(*lead, *results), usage=Usage(), goes_on=True, end=end)

    async def _last_words(self, reply: Reply) -> StepOutcome:
        """The model asked for no tool: the turn ends, unless the prompt's checks say otherwise."""
        if reply.message.finish_reason == "length":
            return StepOutcome(tail=reply.events, usage=Usage(), end=ev.MaxTokens())
        state = self._journal.state
        if state.turn is None or not state.turn.checks or state.inbox.next_step:
            return StepOutcome(tail=reply.events, usage=Usage())
        await self._journal.append(*reply.events)
        self._tell("tool")
        context = self._caller.context("checks")
        try:
            verification = await self._abort.race(self._services.checks.run(state.turn.checks, context))
        except Aborted:
            return StepOutcome(tail=(), usage=Usage())
        recorded = ev.GoalVerification(
            phase="prompt", verdict=verification.verdict, results=verification.results
        )
        if verification.verdict != "fail":
            return StepOutcome(tail=(recorded,), usage=Usage())
        failed = state.turn.failed_checks + 1
        if failed >= FAILED_CHECKS:
            return StepOutcome(tail=(recorded,), usage=Usage(), end=ev.Exit(policy="checks"))
        notice = ("checks", failed_checks_text(verification.results))
        return StepOutcome(tail=(recorded,), usage=Usage(), notices=(notice,))


def failed_checks_text(results: Sequence[CheckResult]) -> str:
    """What the model is told when a prompt's checks fail."""
    lines = ["The checks that the user set were run and do not pass yet. Go on until they do."]
    lines += [f"- {r.kind} {r.check_id}: {r.status}\n{r.evidence}" for r in results if r.status != "pass"]
    return "\n".join(lines)
