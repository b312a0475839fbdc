"""Questions of the model: answered, closed, late, stopped, and withdrawn by a person who writes instead."""

from __future__ import annotations

import asyncio
from typing import Any

from steersman.domain import events as ev
from steersman.domain.fold import empty, fold_all
from steersman.domain.messages import Human
from steersman.domain.settings import PermissionSettings, Settings
from steersman.errors import StorageFailed
from steersman.loop.closing import close_turn
from steersman.ports.clock import ManualClock
from steersman.ports.model_double import ScriptedReplies, calls, says
from steersman.ports.question import QuestionAnswer, ScriptedQuestions
from steersman.tools.ask_user import AskUser
from tests.unit.loop.harness import Loop, StandInTool, start, until

ASK = calls(("ask_user", {"question": "Which one?", "choices": ["left", "right", "left"]}))


async def asking(
    *answers: QuestionAnswer, refuses: str | None = None, **more: Any
) -> tuple[Loop, ScriptedReplies, ScriptedQuestions]:
    questions = ScriptedQuestions(list(answers), refuses)
    tools: Any = [AskUser(), StandInTool("work")]
    loop, model = await start([ASK, says("ok")], tools, questions=questions, **more)
    return loop, model, questions


async def results(loop: Loop) -> list[ev.ToolResult]:
    return await loop.data(ev.ToolResult)


async def test_a_persons_answer_is_the_result() -> None:
    loop, model, questions = await asking(QuestionAnswer(answer="left", by="human"))
    await loop.prompt("go")
    await loop.idle()
    [result] = await results(loop)
    assert (result.outcome, result.content) == ("ok", "The user answered: left")
    [asked] = questions.asked
    assert (asked.text, asked.choices, asked.turn) == ("Which one?", ["left", "right"], 1)
    [answered] = await loop.data(ev.QuestionAnswered)
    assert (answered.question_id, answered.answer, answered.by) == (asked.question_id, "left", "human")
    types = await loop.types()
    order = ["tool/call", "question/asked", "question/answered", "tool/start", "tool/result"]
    assert [t for t in types if t in order] == order
    assert model.requests[1]["messages"][-1]["content"] == "The user answered: left"
    await loop.check()


async def test_a_closed_question_has_no_answer_and_the_turn_goes_on() -> None:
    loop, _, _ = await asking(QuestionAnswer(answer=None, by="human"))
    await loop.prompt("go")
    await loop.idle()
    [result] = await results(loop)
    assert result.outcome == "ok"
    assert result.verified is not None
    assert not result.verified.ok
    assert "without an answer" in result.content
    await loop.check()


async def test_nobody_there_is_unavailable_and_not_a_yes() -> None:
    loop, _, _ = await asking(QuestionAnswer(answer=None, by="timeout", problem="not within 1 s"))
    await loop.prompt("go")
    await loop.idle()
    [result] = await results(loop)
    assert result.outcome == "denied"
    assert result.error is not None
    assert result.error.code == "UNAVAILABLE"
    assert "not within 1 s" in result.content
    [answered] = await loop.data(ev.QuestionAnswered)
    assert answered.by == "timeout"
    assert "tool/start" not in await loop.types()
    await loop.check()


async def test_an_editor_that_cannot_ask_like_this_is_told_to_the_model_and_nothing_is_asked() -> None:
    loop, _, questions = await asking(refuses="Ask again with choices.")
    await loop.prompt("go")
    await loop.idle()
    [result] = await results(loop)
    assert (result.outcome, result.content) == ("error", "Error UNAVAILABLE: Ask again with choices.")
    assert questions.asked == []
    assert "question/asked" not in await loop.types()


async def test_a_steer_withdraws_the_question_and_joins_the_next_step() -> None:
    loop, model, questions = await asking()
    await loop.prompt("go")
    await until(lambda: questions.asked != [])
    receipt = await loop.steer("neither: stop guessing")
    assert (receipt.outcome, receipt.turn) == ("injected", 1)
    await loop.idle()
    [answered] = await loop.data(ev.QuestionAnswered)
    assert (answered.answer, answered.by) == (None, "steer")
    [result] = await results(loop)
    assert result.outcome == "ok"
    assert "wrote a message instead" in result.content
    assert questions.withdrawn == 1
    assert [m["content"] for m in model.requests[1]["messages"][-2:]] == [
        result.content,
        "neither: stop guessing",
    ]
    assert (await loop.types()).count("turn/start") == 1
    await loop.check()


async def test_a_steer_and_its_withdrawal_are_one_commit() -> None:
    loop, _, questions = await asking()
    await loop.prompt("go")
    await until(lambda: questions.asked != [])
    asked = loop.state
    await loop.steer("words")
    after = min(seq for seq in loop.states if seq > asked.last_seq)
    assert loop.states[after].question is None
    assert len(loop.states[after].inbox.next_step) == 1
    await loop.idle()


async def test_a_repeated_steer_withdraws_nothing_more() -> None:
    loop, _, questions = await asking()
    await loop.prompt("go")
    await until(lambda: questions.asked != [])
    await asyncio.gather(loop.steer("a", message_id="m1"), loop.steer("a", message_id="m1"))
    await loop.idle()
    assert len(await loop.data(ev.QuestionAnswered)) == 1
    await loop.check()


async def test_a_prompt_answers_nothing_and_waits_for_its_turn() -> None:
    loop, _, questions = await asking()
    loop.services.models.replies.append(says("second"))  # type: ignore[attr-defined]
    await loop.prompt("go")
    await until(lambda: questions.asked != [])
    assert (await loop.prompt("later")).outcome == "queued"
    assert loop.state.question is not None
    await loop.steer("go on")
    await loop.idle()
    assert loop.state.turns == 2


async def test_a_stop_withdraws_the_question_and_its_call_never_started() -> None:
    loop, model, questions = await asking()
    await loop.prompt("go")
    await until(lambda: questions.asked != [])
    assert await loop.stop() == 1
    await loop.idle()
    [answered] = await loop.data(ev.QuestionAnswered)
    assert (answered.answer, answered.by) == (None, "cancelled")
    [result] = await results(loop)
    assert result.outcome == "aborted-before-dispatch"
    [end] = await loop.data(ev.TurnEnd)
    assert end.reason == ev.AbortedReason(by="human")
    assert (questions.withdrawn, len(model.requests)) == (1, 1)
    await loop.check()


async def test_a_steer_in_the_tick_of_a_stop_is_not_lost() -> None:
    loop, model, questions = await asking()
    await loop.prompt("go")
    await until(lambda: questions.asked != [])
    stopping = asyncio.ensure_future(loop.stop())
    await asyncio.sleep(0)
    await loop.steer("after the stop")
    await stopping
    await loop.idle()
    assert loop.state.turns == 2
    assert model.requests[-1]["messages"][-1]["content"] == "after the stop"
    [answered] = await loop.data(ev.QuestionAnswered)
    assert answered.by == "cancelled"
    await loop.check()


async def test_the_session_says_that_it_waits_for_the_person_and_the_wait_costs_no_seconds() -> None:
    clock = ManualClock()
    settings = Settings(permissions=PermissionSettings(approval_timeout_seconds=7))
    seen: list[Any] = []

    class Slow(ScriptedQuestions):
        async def ask(self, session_id: str, asked: Any, timeout_seconds: float) -> QuestionAnswer:
            seen.append((loop.agent.waiting_on, loop.state.task, timeout_seconds))
            clock.advance(100)
            return QuestionAnswer(answer="x", by="human")

    tools: Any = [AskUser()]
    loop, _ = await start([ASK, says("ok")], tools, questions=Slow(), clock=clock, settings=settings)
    await loop.prompt("go")
    await loop.idle()
    assert seen == [("question", "WAITING_FOR_USER", 7)]
    assert [(c.from_, c.to) for c in await loop.data(ev.TaskChanged)] == [
        ("IDLE", "IN_PROGRESS"),
        ("IN_PROGRESS", "WAITING_FOR_USER"),
        ("WAITING_FOR_USER", "IN_PROGRESS"),
        ("IN_PROGRESS", "SUCCEEDED"),
    ]
    assert loop.state.usage.seconds == 0
    await loop.check()


async def test_recovery_closes_an_open_question_by_cancelled() -> None:
    loop, _, questions = await asking()
    await loop.prompt("go")
    await until(lambda: questions.asked != [])
    state = loop.state
    closing = close_turn(state, ev.Interrupted(), held="restart")
    events = [
        ev.make_event(state.session_id, seq, state.last_time, data)
        for seq, data in enumerate(closing, state.last_seq + 1)
    ]
    closed = fold_all(state, events)
    assert closed.turn is None
    assert closed.question is None
    [answered] = [data for data in closing if isinstance(data, ev.QuestionAnswered)]
    assert answered.by == "cancelled"
    [result] = [data for data in closing if isinstance(data, ev.ToolResult)]
    assert result.outcome == "not-started"
    assert fold_all(empty(state.session_id), [*await loop.log(), *events]) == closed
    await loop.stop()
    await loop.idle()


async def test_a_wait_for_a_state_ends_with_the_session_that_is_suspended() -> None:
    loop, _ = await start([says("ok")])
    waiting = asyncio.ensure_future(loop.journal.until(lambda state: False))
    at_once = asyncio.ensure_future(loop.journal.until(lambda state: state.last_seq == 2))
    await asyncio.sleep(0)
    assert at_once.done()
    loop.store.fail_next = StorageFailed("disk full")
    message = ev.InboxQueued(
        message_id="m", queue="next-turn", source=Human(), text="", method="turn/prompt", outcome="queued"
    )
    failed, waited = await asyncio.gather(loop.journal.append(message), waiting, return_exceptions=True)
    assert isinstance(failed, StorageFailed)
    assert waited is failed
