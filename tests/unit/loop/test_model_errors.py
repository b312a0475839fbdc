"""When the model fails: what is retried, how long, what is kept, and that the session stays usable."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from steersman.domain import events as ev
from steersman.domain.checks import CheckResult, CommandCheck
from steersman.domain.settings import LoopSettings, ModelSettings, Settings
from steersman.errors import ModelFailed, StorageFailed
from steersman.loop.reply import retry_delay
from steersman.loop.services import Verification
from steersman.ports.clock import ManualClock
from steersman.ports.model_double import Gate, call, calls, done, says, text
from tests.unit.loop.harness import NoChecks, StandInTool, start


def busy() -> ModelFailed:
    return ModelFailed("rate-limit", "slow down", retryable=True)


async def test_a_failed_attempt_is_retried_and_its_words_never_reach_history() -> None:
    clock = ManualClock()
    broken = [text("half a thou"), ModelFailed("transport", "cut", retryable=True)]
    loop, model = await start([broken, says("whole"), says("ok")], clock=clock)
    await loop.prompt("go")
    await loop.idle()
    assert clock.slept == [0.5]
    (retry,) = await loop.data(ev.ModelRetry)
    assert (retry.attempt, retry.code, retry.delay_ms) == (1, "transport", 500)
    await loop.prompt("again")
    await loop.idle()
    assert "half a thou" not in str(model.requests[-1])
    await loop.check()


async def test_retries_end_after_five_and_the_turn_says_why() -> None:
    loop, model = await start([[busy()]] * 6, clock=ManualClock())
    await loop.prompt("go")
    await loop.idle()
    assert len(model.requests) == 6
    (end,) = await loop.data(ev.TurnEnd)
    assert end.reason == ev.ErrorReason(code="rate-limit", message="slow down")
    assert loop.state.task == "FAILED"
    assert loop.state.usage.requests == 6
    await loop.check()


async def test_what_cannot_get_better_is_not_retried() -> None:
    loop, model = await start([[ModelFailed("auth", "bad key")], says("ok")])
    await loop.prompt("go")
    await loop.idle()
    assert len(model.requests) == 1
    await loop.prompt("again")
    await loop.idle()
    assert [e.reason for e in await loop.data(ev.TurnEnd)][-1] == ev.Completed()


async def test_an_error_holds_what_a_person_had_queued() -> None:
    gate = Gate()
    loop, model = await start([[gate, ModelFailed("auth", "bad key")], says("ok")])
    await loop.prompt("go")
    await gate.reached.wait()
    await loop.prompt("next")
    gate.open()
    await loop.idle()
    assert loop.state.inbox.held == "error"
    assert len(model.requests) == 1
    await loop.check()


@pytest.mark.parametrize(
    ("last", "held"),
    [
        (ModelFailed("auth", "bad key"), "error"),
        (done("length"), "error"),
    ],
)
async def test_a_turn_that_ends_badly_holds_prompts_and_steers_alike(last: Any, held: str) -> None:
    gate = Gate()
    loop, model = await start([[gate, text("x"), last], says("1"), says("2")])
    await loop.prompt("go")
    await gate.reached.wait()
    await loop.prompt("later")
    await loop.steer("now")
    await loop.agent.inject("editor", "a file was saved")
    gate.open()
    await loop.idle()
    assert [m.text for m in loop.state.inbox.next_turn] == ["now", "later"]
    assert [m.text for m in loop.state.inbox.next_step] == ["a file was saved"], "a notice stays"
    assert loop.state.inbox.held == held
    assert len(model.requests) == 1
    await loop.agent.release()
    await loop.idle()
    assert [m.text for m in await loop.data(ev.UserMessage)] == ["go", "now", "a file was saved", "later"]
    await loop.check()


async def test_an_exit_holds_what_waits() -> None:
    gate = Gate()
    tool = StandInTool("more")
    settings = Settings(loop=LoopSettings(max_steps_per_turn=1))
    loop, model = await start([[gate, *calls(("more", {}))], says("1")], [tool], settings=settings)
    await loop.prompt("go")
    await gate.reached.wait()
    await loop.prompt("next")
    gate.open()
    await loop.idle()
    assert loop.state.inbox.held == "exit"
    assert len(model.requests) == 1
    await loop.check()


async def test_a_stream_that_ends_without_a_finish_runs_nothing_and_is_tried_again() -> None:
    tool = StandInTool("work")
    cut = [text("I will"), call("work", {"name": "whole"})]
    loop, model = await start([cut, says("ok")], [tool], clock=ManualClock())
    await loop.prompt("go")
    await loop.idle()
    assert tool.started == []
    assert [r.code for r in await loop.data(ev.ModelRetry)] == ["transport"]
    assert len(model.requests) == 2


async def test_an_empty_answer_is_retried() -> None:
    loop, _ = await start([[done()], [text(""), done()], says("ok")], clock=ManualClock())
    await loop.prompt("go")
    await loop.idle()
    assert [r.code for r in await loop.data(ev.ModelRetry)] == ["empty", "empty"]


async def test_calls_without_a_finish_reason_run_only_if_they_are_whole() -> None:
    tool = StandInTool("work")
    half = [call("work", {"name": "a"}), call("work", '{"na', index=1), done(None)]
    whole = [call("work", {"name": "b"}), done(None)]
    loop, _ = await start([half, whole, says("ok")], [tool], clock=ManualClock())
    await loop.prompt("go")
    await loop.idle()
    assert tool.started == ["b"]
    assert [r.code for r in await loop.data(ev.ModelRetry)] == ["transport"]


@pytest.mark.parametrize(
    ("attempt", "after", "jitter", "seconds"),
    [
        (1, None, 0.0, 0.5),
        (2, None, 0.0, 1.0),
        (5, None, 0.0, 8.0),
        (6, None, 0.0, 10.0),
        (1, None, 1.0, 0.25),
        (1, 3.0, 1.0, 3.0),
        (1, 1e18, 0.0, 60.0),
        (1, -5.0, 0.0, 0.0),
    ],
)
def test_how_long_a_retry_waits(attempt: int, after: float | None, jitter: float, seconds: float) -> None:
    assert retry_delay(ModelSettings(), attempt, after, jitter) == seconds


async def test_a_storage_error_suspends_the_session_and_loses_nothing() -> None:
    tool = StandInTool("work", gate=True)
    loop, model = await start([calls(("work", {})), says("never")], [tool])
    await loop.prompt("go")
    await tool.running.wait()
    loop.journal.log.fail_next = StorageFailed("the disk is full")  # type: ignore[attr-defined]
    tool.open()
    await loop.agent.settle(5)
    assert loop.journal.suspended is not None
    assert loop.agent.phase == "idle"
    with pytest.raises(StorageFailed):
        await loop.prompt("again")
    assert len(model.requests) == 1


async def test_usage_that_nobody_told_is_estimated_and_counts() -> None:
    from steersman.ports.model import Finish

    loop, _ = await start([[text("some words"), Finish(finish_reason="stop", usage=None)]])
    await loop.prompt("go")
    await loop.idle()
    usage = loop.state.usage
    assert usage.estimated
    assert usage.requests == 1
    assert usage.input_tokens > 0
    assert usage.output_tokens > 0


CHECK = CommandCheck(argv=["make", "test"])


def verification(verdict: str) -> Verification:
    result = CheckResult(check_id="check-1", kind="command", status=verdict, evidence="exit 2")  # type: ignore[arg-type]
    return Verification(verdict=verdict, results=[result])  # type: ignore[arg-type]


async def test_a_prompts_failing_check_goes_back_to_the_model_until_it_passes() -> None:
    checks = NoChecks([verification("fail"), verification("pass")])
    loop, model = await start([says("done"), says("really done")], checks=checks)
    await loop.prompt("go", checks=[CHECK])
    await loop.idle()
    assert "exit 2" in model.requests[1]["messages"][-1]["content"]
    assert [v.verdict for v in await loop.data(ev.GoalVerification)] == ["fail", "pass"]
    assert [e.reason for e in await loop.data(ev.TurnEnd)] == [ev.Completed()]
    await loop.check()


async def test_the_third_failure_in_a_row_of_the_checks_ends_the_turn() -> None:
    checks = NoChecks([verification("fail")] * 3)
    loop, _ = await start([says("done")] * 3, checks=checks)
    await loop.prompt("go", checks=[CHECK])
    await loop.idle()
    assert [e.reason for e in await loop.data(ev.TurnEnd)] == [ev.Exit(policy="checks")]
    await loop.check()


async def test_a_stop_while_checks_run_ends_the_turn() -> None:
    class Slow(NoChecks):
        async def run(self, checks, context):  # type: ignore[no-untyped-def]
            await asyncio.Event().wait()

    loop, _ = await start([says("done")], checks=Slow())
    await loop.prompt("go", checks=[CHECK])
    while loop.agent.waiting_on != "tool":
        await asyncio.sleep(0.001)
    await loop.stop()
    await loop.idle()
    assert [e.reason for e in await loop.data(ev.TurnEnd)] == [ev.AbortedReason(by="human")]
    await loop.check()
