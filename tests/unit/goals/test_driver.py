"""When the driver moves, when it waits, and when it stops: the sentences of "Rounds" beside their order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from steersman.domain import events as ev
from steersman.domain.goal import Budgets
from steersman.domain.receipts import TestCase, TestCounts, TestReceipt
from steersman.domain.settings import ModelSettings
from steersman.errors import GoalTransition, ModelFailed, StorageFailed
from steersman.goals.decisions import Wishes
from steersman.loop.agent import Stopped
from steersman.loop.journal import Into
from steersman.ports.clock import ManualClock
from steersman.ports.model_double import Gate, calls, says
from steersman.tools.base import ToolOutcome
from tests.unit.goals.harness import CHECK, Wheel, ends, obedient, wheel
from tests.unit.goals.world import World
from tests.unit.loop.harness import StandInTool, until


class HeldClock(ManualClock):
    """A sleep lasts until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.go = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await self.go.wait()


def when(w: Wheel, status: str, act: Callable[[], Any]) -> None:
    """Do something, once, in the tick in which a round becomes queued or claimed."""
    told = w.loop.journal.committed
    done: list[bool] = []

    def committed() -> None:
        pending = w.loop.state.goals.pending
        if pending is not None and ("claimed" if pending.claimed else "queued") == status and not done:
            done.append(True)
            act()
        told()

    w.loop.journal.committed = committed


ACTS: dict[str, Callable[[Wheel], Any]] = {
    "disarm": lambda w: w.goals.disarm("trust was lost"),
    "pause": lambda w: w.goals.pause(None, "human"),
    "clear": lambda w: w.goals.clear(None, "human"),
    "edit": lambda w: w.goals.edit(None, Wishes(objective="other"), "human"),
    "accept": lambda w: w.goals.accept(None),
    "limits": lambda w: w.goals.edit(None, Wishes(max_rounds=1), "human"),
    "stop": lambda w: w.goals.stop_between_rounds(),
}


@pytest.mark.parametrize("status", ["queued", "claimed"])
@pytest.mark.parametrize("act", ACTS)
async def test_what_comes_before_a_round_is_admitted_makes_it_stale(act: str, status: str) -> None:
    w = await obedient([ends("complete", evidence="x"), says("bye")])
    when(w, status, lambda: ACTS[act](w))
    await w.create()
    await w.at_rest()
    rounds = await w.rounds()
    assert rounds[0] == (1, "queued")
    assert (1, "stale") in rounds
    goes_on = act in ("edit", "limits")
    assert await w.admitted() == ([1] if goes_on else []), "a stale try uses no number"
    assert len(w.model.requests) == (2 if goes_on else 0)
    if goes_on:
        told = [m["content"] for m in w.model.requests[0]["messages"] if m["role"] == "user"]
        assert len(told) == 1, "a stale try leaves nothing in the history"
    await w.check()


async def test_stop_in_the_moment_of_admission_stops_the_round_too() -> None:
    gate = Gate()
    w = await wheel([[gate, *says("never")]])
    future: asyncio.Future[Stopped] = asyncio.get_running_loop().create_future()
    told = w.loop.journal.log.append

    async def append(rows: Any, blobs: Any = None) -> None:
        if any(row.type == "turn/start" for row in rows) and not future.done():
            assert w.goals.between_rounds, "the person does not see the turn yet"
            w.goals.stop_between_rounds(Into(future, lambda stopped: stopped))
        await told(rows, blobs)

    w.loop.journal.log.append = append  # type: ignore[method-assign]
    await w.create()
    assert (await future).turn == 1
    await w.at_rest()
    assert w.goal.phase == "paused"
    assert [e.reason for e in await w.loop.data(ev.TurnEnd)] == [ev.AbortedReason(by="human")]
    assert len(w.model.requests) <= 1
    await w.check()


# Pace


async def test_the_wait_between_two_rounds_is_shown_and_costs_no_request() -> None:
    clock = HeldClock()
    w = await wheel([says("x"), says("y")], clock=clock)
    await w.create()
    await until(lambda: w.driver.pausing)
    for _ in range(50):
        await asyncio.sleep(0)
    assert (clock.slept, len(w.model.requests)) == ([1.0], 1)
    clock.go.set()
    await until(lambda: len(w.model.requests) >= 2)
    await w.goals.clear(None, "human")
    await w.at_rest()
    assert not w.driver.pausing


@pytest.mark.parametrize("act", ["prompt", "edit"])
async def test_a_persons_act_ends_the_wait_and_starts_the_count_again(act: str) -> None:
    clock = HeldClock()
    w = await obedient(
        [says("x"), *([says("here")] if act == "prompt" else []), says("y"), says("z")], clock=clock
    )
    await w.create()
    await until(lambda: w.driver.pausing)
    if act == "prompt":
        await w.loop.prompt("look there")
    else:
        await w.goals.edit(None, Wishes(objective="other"), "human")
    await until(lambda: len(clock.slept) == 2)
    assert w.goal.rounds_started == 2
    assert clock.slept == [1.0, 1.0], "the next round did not wait, the one behind it waits as the first"
    await w.goals.pause(None, "human")
    await until(lambda: not w.driver.pausing)
    await w.at_rest()


async def test_a_pause_ends_the_wait_at_once() -> None:
    clock = HeldClock()
    w = await wheel([says("x")], clock=clock)
    await w.create()
    await until(lambda: w.driver.pausing)
    await w.goals.pause(None, "human")
    await until(lambda: not w.driver.pausing)
    await w.at_rest()
    assert len(w.model.requests) == 1


def receipt(failing: list[str]) -> TestReceipt:
    counts = TestCounts(collected=3, passed=3 - len(failing), failed=len(failing), errors=0, skipped=0)
    cases = [TestCase(id=name, outcome="failed") for name in failing]
    return TestReceipt(
        run_id="r",
        status="failed" if failing else "passed",
        exit_code=1 if failing else 0,
        counts=counts,
        tests=cases,
        output="",
        argv=["pytest"],
        folder="/",
        duration_ms=1,
        runner="server",
    )


class TestsTool(StandInTool):
    __test__ = False

    def __init__(self, found: list[list[str]]) -> None:
        super().__init__("run_tests")
        self.found = found

    async def run(self, arguments: Any, context: Any) -> ToolOutcome:
        await context.record(ev.receipt_event(receipt(self.found.pop(0))))
        return ToolOutcome(content="ran")


@pytest.mark.parametrize(
    ("found", "blocked"),
    [
        ([["a"], ["a"], ["a"], ["a"]], True),
        ([["a", "b"], ["b"], ["a"], ["a", "b"]], False),
        ([["a"], ["b"], ["a"], ["b"]], False),
    ],
)
async def test_another_set_of_failing_tests_is_progress_the_same_is_not(
    found: list[list[str]], blocked: bool
) -> None:
    round_ = [calls(("run_tests", {})), says("so far")]
    w = await obedient([*round_ * 4, ends("complete", evidence="x"), says("bye")], (TestsTool(list(found)),))
    await w.create()
    await w.at_rest()
    assert w.goal.phase == ("blocked" if blocked else "complete")
    await w.check()


async def test_the_same_call_in_another_spelling_is_not_new() -> None:
    spellings = ['{"name":"a"}', '{ "name" : "a" }', '{"name":"a"}\n', '{\t"name": "a"}']
    w = await wheel([r for s in spellings for r in (calls(("work", s)), says("x"))], (StandInTool("work"),))
    await w.create()
    await w.at_rest()
    assert w.goal.blocked_reason is not None
    assert w.goal.blocked_reason.code == "no-progress"
    assert w.goal.rounds_started == 4, "the first call was new, three rounds after it were not"


async def test_the_models_own_report_goes_before_no_progress() -> None:
    w = await obedient(
        [r for _ in range(3) for r in (ends("blocked", key="k", message="no key"), says("told"))]
    )
    await w.create()
    await w.at_rest()
    assert w.goal.blocked_reason is not None
    assert (w.goal.blocked_reason.code, w.goal.blocked_reason.message) == ("model-reported", "no key")
    assert w.goal.rounds_started == 3


async def test_two_obstacles_in_one_round_are_counted_each() -> None:
    report = ends("blocked", key="first", message="a")
    both = [report, ends("blocked", key="second", message="b"), says("hm")]
    w = await obedient([*both, *both, report, says("told")])
    await w.create()
    await w.at_rest()
    counts = [(b.key, b.consecutive) for b in await w.loop.data(ev.GoalBlocker)]
    assert counts == [("first", 1), ("second", 1), ("first", 2), ("second", 2), ("first", 3)]
    assert w.goal.phase == "blocked"
    await w.check()


# Limits and failures


async def test_a_used_up_budget_says_what_how_much_and_what_is_left_to_do() -> None:
    w = await obedient(
        [ends("complete"), *[calls(("work", {"name": str(n)})) for n in range(9)]],
        (StandInTool("work"),),
        verdicts=["fail"],
    )
    await w.create("Make the cart add up.", checks=[CHECK], budgets=Budgets(tokens=350))
    await w.at_rest()
    assert w.goal.blocked_reason is not None
    message = w.goal.blocked_reason.message
    assert "tokens 440 of 350" in message
    assert "Make the cart add up." in message
    assert "command check-1 (fail)" in message
    assert len(w.model.requests) == 4
    with pytest.raises(GoalTransition) as refused:
        await w.goals.resume(None, "human")
    assert refused.value.data["members"] == ["tokens"]


async def test_the_request_that_completes_the_goal_may_use_the_budget_up_and_the_person_is_still_told() -> (
    None
):
    w = await obedient([ends("complete", evidence="x"), says("It is done.")])
    await w.create(budgets=Budgets(requests=1))
    await w.at_rest()
    assert w.goal.phase == "complete"
    assert [m.text for m in await w.loop.data(ev.AssistantMessage)][-1] == "It is done."


async def test_attempts_that_failed_are_paid_for_and_a_used_up_budget_stops_the_next_one() -> None:
    failure = ModelFailed("server", "503", retryable=True)
    w = await wheel([[failure]] * 9)
    w.loop.services.settings = msgspec.structs.replace(
        w.loop.services.settings, model=ModelSettings(max_retries=8, retry_base_seconds=0.5)
    )
    await w.create(budgets=Budgets(requests=3))
    await w.at_rest()
    assert len(w.model.requests) == 3
    assert w.goal.blocked_reason is not None
    assert w.goal.blocked_reason.code == "budget"
    assert "requests 3 of 3" in w.goal.blocked_reason.message
    assert [e.reason for e in await w.loop.data(ev.TurnEnd)] == [ev.Exit(policy="budget")]
    await w.check()


@pytest.mark.parametrize(
    "replies",
    [
        [says("Still waiting.")],
        [says(f"Still waiting, try {n}.") for n in range(9)],
        [calls(("get_goal", {})), says("hm")],
        [calls(("work", {"name": "the same file"})), says("I looked.")],
        [r for n in range(9) for r in (calls(("create_goal", {"objective": f"another {n}"})), says("hm"))],
    ],
    ids=["the same words", "a changing number", "only get_goal", "one file again and again", "other goals"],
)
async def test_waiting_in_any_words_is_no_progress(replies: list[Any]) -> None:
    w = await wheel(replies * 9, (StandInTool("work"),))
    await w.create()
    await w.at_rest()
    assert w.goal.blocked_reason is not None
    assert w.goal.blocked_reason.code == "no-progress"
    assert w.goal.rounds_started <= 4


@pytest.mark.parametrize("code", ["auth", "bad-request", "quota"])
async def test_what_no_retry_can_heal_stops_at_once_and_can_be_resumed(code: str) -> None:
    w = await obedient([[ModelFailed(code, "no")], ends("complete", evidence="x"), says("bye")])
    await w.create()
    await w.at_rest()
    assert len(w.model.requests) == 1
    assert (w.goal.phase, w.goals.armed) == ("active", False)
    await w.goals.resume(None, "human")
    await w.at_rest()
    assert w.goal.phase == "complete"


async def test_a_limit_lowered_below_what_was_used_blocks_before_the_next_round() -> None:
    clock = HeldClock()
    w = await wheel([says("x"), says("never")], clock=clock)
    await w.create()
    await until(lambda: w.driver.pausing)
    await w.goals.edit(None, Wishes(max_rounds=1), "human")
    await w.at_rest()
    assert w.goal.blocked_reason is not None
    assert w.goal.blocked_reason.code == "round-limit"
    assert len(w.model.requests) == 1


async def test_a_limit_raised_in_the_moment_of_the_block_goes_before_it() -> None:
    w = await obedient(
        [calls(("work", {})), says("x"), ends("complete", evidence="x"), says("bye")], (StandInTool("work"),)
    )
    told = w.goals.block

    def block(*args: Any) -> Any:
        w.goals.edit(None, Wishes(max_rounds=5), "human")
        return told(*args)

    w.goals.block = block  # type: ignore[method-assign]
    await w.create(max_rounds=1)
    await w.at_rest()
    assert (w.goal.phase, w.goal.rounds_started, w.goal.max_rounds) == ("complete", 2, 5)
    await w.check()


async def test_a_persons_failing_turns_are_no_failing_rounds() -> None:
    w = await wheel([[ModelFailed("auth", "bad key")]] * 6)
    await w.create()
    await w.at_rest()
    for _ in range(3):
        await w.goals.resume(None, "human")
        await w.goals.pause(None, "human")
        await w.loop.prompt("mine")
        await w.at_rest()
        assert w.goal.phase == "paused"
    assert w.loop.state.goals.failing_rounds <= 2


async def test_a_round_that_ends_normally_starts_the_count_of_failing_ones_again() -> None:
    bad: list[Any] = [ModelFailed("auth", "bad key")]
    w = await wheel([bad, bad, says("fine"), bad, bad, bad], idle_pause_seconds=())
    await w.create()
    for _ in range(4):
        await w.at_rest()
        assert (w.goal.phase, w.goals.armed) == ("active", False)
        await w.goals.resume(None, "human")
    await w.at_rest()
    assert w.goal.phase == "blocked"
    assert len(w.model.requests) == 6


async def test_a_log_that_cannot_be_written_disarms_and_says_so() -> None:
    gate = Gate()
    w = await wheel([[gate, *says("x")]])
    await w.create()
    await gate.reached.wait()
    w.loop.journal.log.fail_next = StorageFailed("the disk is full")  # type: ignore[attr-defined]
    gate.open()
    await until(lambda: w.loop.journal.suspended is not None)
    view = w.goals.view()
    assert view is not None
    assert (view.phase, view.activation) == ("active", "disarmed")
    assert "the disk is full" in (view.disarmed_by or "")
    assert not w.goals.armed


# What is shown


@pytest.mark.parametrize("phase", ["active", "paused", "blocked", "complete"])
async def test_after_a_restart_every_goal_is_disarmed_with_its_reason_and_asks_nothing(phase: str) -> None:
    world = World()
    await world.begin()
    goals = world.session.goals
    await world.tried(lambda: goals.create(Wishes(objective="x", max_rounds=1), "human"))
    match phase:
        case "paused":
            await world.tried(lambda: goals.pause(None, "human"))
        case "complete":
            await world.tried(lambda: goals.accept(None))
        case "blocked":
            world.model.answer(says("the only round"))
            await world.settle()
    asked = world.requests
    await world.crash_and_restart()
    view = world.session.info().goal
    assert view is not None
    assert (view.phase, view.activation) == (phase, "disarmed")
    assert view.disarmed_by
    assert ("just opened" in view.disarmed_by) == (phase == "active")
    for _ in range(100):
        await asyncio.sleep(0)
    assert world.requests == asked
    await world.end()


async def test_words_that_are_held_keep_every_round_back() -> None:
    gate = Gate()
    w = await obedient(
        [[gate, *says("never")], says("the held words"), ends("complete", evidence="x"), says("")]
    )
    await w.loop.prompt("mine")
    await gate.reached.wait()
    await w.create()
    await w.loop.prompt("waits")
    await w.loop.stop()
    await w.loop.idle()
    assert w.loop.state.inbox.held == "cancelled"
    w.goals.activation.arm()  # nobody's verb does this beside held words: even so, they go first
    w.driver.consider()
    for _ in range(50):
        await asyncio.sleep(0)
    assert await w.rounds() == []
    await w.loop.agent.release()
    await w.at_rest()
    assert [t.trigger for t in await w.loop.data(ev.TurnStart)] == ["human", "human", "goal"]
    assert w.goal.phase == "complete"
