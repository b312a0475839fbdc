"""A question of the model to the person: open until it is answered, withdrawn or late; no model call waits.

The log decides what became of it: a steer closes it in the very commit that queues the person's words.
"""

from __future__ import annotations

import asyncio

from steersman.domain import events as ev
from steersman.domain.ids import new_id
from steersman.domain.messages import ToolError
from steersman.domain.state import SessionState
from steersman.errors import Aborted
from steersman.loop.abort import AbortSignal
from steersman.loop.approve import Denied, unattended
from steersman.loop.call import Planned
from steersman.loop.journal import Decision, Journal
from steersman.loop.reply import Tell
from steersman.loop.services import Services
from steersman.ports.question import QuestionAnswer
from steersman.tools.base import Confirmation, Inquire, Reply


class Questioner:
    """Asks for one step of one turn. `waited` sums the seconds that people took."""

    def __init__(self, journal: Journal, services: Services, abort: AbortSignal, tell: Tell) -> None:
        self._journal = journal
        self._services = services
        self._abort = abort
        self._tell = tell
        self.waited = 0.0

    async def ask(self, planned: Planned, inquire: Inquire, turn: int) -> Reply | Denied | ToolError:
        """The reply; Denied if nobody answered or the turn was stopped; an error if nobody can be asked.

        Raises:
            StorageFailed: the question could not be recorded.
        """
        if self._abort.is_set():
            return _withdrawn()
        if unattended(self._journal.state):
            return _nobody("nobody answered in this round")
        refusal = self._services.questions.refusal(inquire.choices)
        if refusal is not None:
            return ToolError(code="UNAVAILABLE", message=refusal)
        asked = ev.QuestionAsked(
            question_id=new_id("q"),
            call_id=planned.call.call_id,
            turn=turn,
            text=inquire.text,
            choices=list(inquire.choices) or None,
        )
        answer = await self._answer(asked)
        return await self._journal.commit(lambda state: _decide(state, asked, answer))

    async def confirm(self, call_id: str, check_id: str, text: str, choices: tuple[str, ...]) -> Confirmation:
        """Put a check's question. Outside a turn it is not logged: the request that asked is a person's own.

        Raises:
            StorageFailed: the question could not be recorded.
        """
        if self._abort.is_set():
            return Confirmation(by="cancelled")
        if unattended(self._journal.state):
            return Confirmation(by="timeout", problem="nobody answered in this round")
        if not self._services.questions.reaches_a_person:
            return Confirmation(by="nobody", problem="this client cannot ask a person")
        state = self._journal.state
        calls = state.step.calls if state.step else ()
        asked = ev.QuestionAsked(
            question_id=new_id("q"),
            call_id=call_id if any(call.call_id == call_id for call in calls) else None,
            turn=state.turn.number if state.turn else None,
            text=text,
            choices=list(choices),
            check_id=check_id,
        )
        answer = await self._answer(asked)
        if asked.turn is None:
            return _confirmation(answer)
        said = await self._journal.commit(lambda state: _decide(state, asked, answer))
        if isinstance(said, Reply) and said.by == "steer":
            return Confirmation(by="steer")
        return _confirmation(answer)

    async def _answer(self, asked: ev.QuestionAsked) -> QuestionAnswer | None:
        """Record the question and wait for its answer; None if it was withdrawn. Raises StorageFailed."""
        if asked.turn is not None:
            await self._journal.append(asked)
        self._tell("question")
        clock = self._services.clock
        started = clock.monotonic()
        try:
            return await self._abort.race(self._first(asked))
        except Aborted:
            return None
        finally:
            self.waited += clock.monotonic() - started
            self._tell("tool")

    async def _first(self, asked: ev.QuestionAsked) -> QuestionAnswer | None:
        """The answer, or None if the question was withdrawn before one came. Raises StorageFailed."""
        seconds = self._services.settings.permissions.approval_timeout_seconds
        session_id = self._journal.state.session_id
        question = self._services.questions.ask(session_id, asked, seconds)
        if asked.turn is None:
            return await question
        asking = asyncio.create_task(question)
        closed = asyncio.create_task(self._journal.until(lambda state: not _is_open(state, asked)))
        try:
            await asyncio.wait({asking, closed}, return_when=asyncio.FIRST_COMPLETED)
            if closed.done():
                closed.result()
                return None
            return asking.result()
        finally:
            for task in (asking, closed):
                task.cancel()
            await asyncio.gather(asking, closed, return_exceptions=True)


def _confirmation(answer: QuestionAnswer | None) -> Confirmation:
    if answer is None:
        return Confirmation(by="cancelled")
    return Confirmation(by=answer.by, answer=answer.answer, problem=answer.problem)


def _is_open(state: SessionState, asked: ev.QuestionAsked) -> bool:
    return state.question is not None and state.question.question_id == asked.question_id


def _decide(
    state: SessionState, asked: ev.QuestionAsked, answer: QuestionAnswer | None
) -> Decision[Reply | Denied]:
    """What became of the question, on the state as it is: what the log says already goes before all else."""
    if not _is_open(state, asked):
        return Decision((), Reply(answer=None, by="steer"))
    if answer is None:
        return Decision([_answered(asked, None, "cancelled")], _withdrawn())
    if answer.by == "timeout":
        return Decision([_answered(asked, None, "timeout")], _nobody(answer.problem or "not in time"))
    return Decision([_answered(asked, answer.answer, "human")], Reply(answer=answer.answer, by="human"))


def _answered(asked: ev.QuestionAsked, answer: str | None, by: ev.AnsweredBy) -> ev.QuestionAnswered:
    return ev.QuestionAnswered(question_id=asked.question_id, answer=answer, by=by)


def _nobody(problem: str) -> Denied:
    words = f"Nobody answered the question ({problem}). Go on with what you know."
    return Denied(error=ToolError(code="UNAVAILABLE", message=words))


def _withdrawn() -> Denied:
    return Denied(error=ToolError(code="DENIED", message="The turn was stopped."), withdrawn=True)
