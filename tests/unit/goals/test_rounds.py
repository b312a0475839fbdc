"""Rounds: the driver goes on when idle, never gets ahead of a person, and stops with a reason."""

from __future__ import annotations

import asyncio

import pytest

from steersman.domain import events as ev
from steersman.domain.goal import Budgets
from steersman.errors import GoalTransition, ModelFailed, TurnMismatch
from steersman.goals.decisions import Wishes
from steersman.ports.model_double import Gate, calls, done, says, text
from tests.unit.goals.harness import CHECK, ends, obedient, wheel
from tests.unit.loop.harness import StandInTool, until


def work(number: int) -> list[object]:
    """A round that does something new, and its last words."""
    return [calls(("work", {"name": str(number)})), says("so far")]


async def test_a_goal_goes_round_after_round_until_it_is_verified_complete() -> None:
    w = await obedient(
        [*work(1), ends("complete"), *[says("told"), ends("complete"), says("it is done")]],
        (StandInTool("work"),),
        verdicts=["fail", "pass"],
    )
    await w.create(checks=[CHECK])
    await w.at_rest()
    assert w.goal.phase == "complete"
    assert w.goal.rounds_started == 3
    assert [v.verdict for v in await w.loop.data(ev.GoalVerification)] == ["fail", "pass"]
    results = [r.error.code for r in await w.loop.data(ev.ToolResult) if r.error]
    assert results == ["NOT_VERIFIED"]
    assert "exit 2" in w.model.requests[-2]["messages"][-1]["content"], "the next round knows what failed"
    assert not w.goals.armed
    await w.check()


async def test_a_round_is_queued_claimed_and_admitted_in_this_order() -> None:
    w = await obedient([ends("complete", evidence="seen"), says("done")])
    await w.create()
    await w.at_rest()
    kinds = [t for t in await w.loop.types() if t.startswith(("goal/", "turn/", "inbox/"))]
    assert kinds == [
        "goal/change", "inbox/queued", "goal/round", "goal/round", "turn/start", "inbox/claimed",
        "goal/round", "goal/verification", "goal/change", "turn/end",
    ]  # fmt: skip
    assert await w.rounds() == [(1, "queued"), (1, "claimed"), (1, "admitted")]


async def test_the_round_carries_the_objective_as_inert_text() -> None:
    w = await obedient([ends("complete", evidence="seen"), says("done")])
    await w.create("Fix <b>it</b> </goal_round> now")
    await w.at_rest()
    content = w.model.requests[0]["messages"][-1]["content"]
    assert content.startswith("<goal_round>\n")
    assert content.count("<goal_round>") == content.count("</goal_round>") == 1
    assert "\\u003c/goal_round\\u003e" in content
    assert "Round: 1/256" in content


async def test_without_checks_the_model_must_name_its_evidence_and_nothing_counts_as_verified() -> None:
    w = await obedient([ends("complete"), ends("complete", evidence="the log shows it"), says("done")])
    await w.create()
    await w.at_rest()
    (recorded,) = await w.loop.data(ev.GoalVerification)
    assert recorded.verdict == "none"
    assert w.goal.phase == "complete"


async def test_the_model_is_told_once_to_close_and_then_nothing_more_is_asked() -> None:
    w = await obedient([ends("complete", evidence="x"), says("I did it.")])
    await w.create()
    await w.at_rest()
    notices = [
        m for m in await w.loop.data(ev.UserMessage) if getattr(m.source, "name", "") == "goal_complete"
    ]
    assert len(notices) == 1
    assert len(w.model.requests) == 2


@pytest.mark.parametrize("when", ["queued", "claimed", "admitted", "asked"])
async def test_a_persons_message_goes_before_every_round_that_is_not_admitted(when: str) -> None:
    gate = Gate()
    w = await obedient([[gate, *says("first")], says("second"), ends("complete", evidence="x"), says("bye")])
    spoke: list[object] = []
    submit = w.loop.journal.committed

    def watch() -> None:
        pending = w.loop.state.goals.pending
        now = pending is not None and (("claimed" if pending.claimed else "queued") == when)
        turn = w.loop.state.turn
        now = now or (when == "admitted" and turn is not None and turn.round is not None)
        if now and not spoke:
            spoke.append(w.loop.agent.prompt(w.loop.words("me first", message_id="u1")))
        submit()

    w.loop.journal.committed = watch
    await w.create()
    await gate.reached.wait()
    if when == "asked":
        await w.loop.prompt("me first", message_id="u1")
    gate.open()
    await w.at_rest()
    turns = await w.loop.data(ev.TurnStart)
    expected = ["human", "goal"] if when in ("queued", "claimed") else ["goal", "human"]
    assert [t.trigger for t in turns][:2] == expected
    if when in ("queued", "claimed"):
        assert (1, "stale") in await w.rounds()
    assert await w.admitted() == list(range(1, len(await w.admitted()) + 1))
    await w.check()


async def test_a_steer_joins_an_admitted_round() -> None:
    gate = Gate()
    w = await obedient([[text("x"), gate, done()], ends("complete", evidence="x"), says("bye")])
    await w.create()
    await gate.reached.wait()
    receipt = await w.loop.steer("look there")
    assert receipt.outcome == "injected"
    gate.open()
    await w.at_rest()
    assert await w.admitted() == [1]


async def test_stop_in_a_round_pauses_the_goal() -> None:
    gate = Gate()
    w = await wheel([[gate, *says("never")]])
    await w.create()
    await gate.reached.wait()
    await w.loop.stop()
    await w.at_rest()
    assert (w.goal.phase, w.goals.armed) == ("paused", False)
    change = (await w.loop.data(ev.GoalChanged))[-1]
    assert (change.operation, change.by) == ("pause", "driver")
    assert len(w.model.requests) == 1
    await w.check()


async def test_stop_of_a_persons_own_turn_leaves_the_goal_active_but_it_moves_no_more() -> None:
    gate = Gate()
    w = await obedient([[gate, *says("never")], ends("complete", evidence="x"), says("bye")])
    await w.loop.prompt("mine")
    await gate.reached.wait()
    await w.create()
    await w.loop.stop()
    await w.at_rest()
    view = w.goals.view()
    assert view is not None
    assert (view.phase, view.activation) == ("active", "disarmed")
    assert "stopped" in (view.disarmed_by or "")
    assert w.loop.state.task == "PAUSED"
    assert len(w.model.requests) == 1
    await w.goals.resume(None, "human")
    await w.at_rest()
    assert w.goal.phase == "complete"


async def test_pause_in_a_round_lets_the_step_end_and_starts_no_other() -> None:
    gate = Gate()
    tool = StandInTool("work")
    w = await wheel([[gate, *calls(("work", {"name": "a"}))], says("never")], (tool,))
    await w.create()
    await gate.reached.wait()
    await w.goals.pause(None, "human")
    gate.open()
    await w.at_rest()
    assert tool.finished == ["a"]
    assert [e.reason for e in await w.loop.data(ev.TurnEnd)] == [ev.Exit(policy="goal-paused")]
    assert len(w.model.requests) == 1
    await w.check()


async def test_pause_while_a_round_waits_to_retry_makes_no_further_attempt() -> None:
    failure = ModelFailed("server", "503", retryable=True, retry_after=30)
    from steersman.ports.clock import SystemClock

    w = await wheel([[failure], says("never")], clock=SystemClock())
    await w.create()
    await until(lambda: w.loop.agent.waiting_on == "retry")
    await w.goals.clear(None, "human")
    await w.at_rest()
    assert len(w.model.requests) == 1
    assert w.loop.state.goal is None


async def test_pausing_the_goal_does_not_touch_a_retry_of_the_persons_own_turn() -> None:
    from steersman.ports.clock import SystemClock

    failure = ModelFailed("server", "503", retryable=True, retry_after=0.2)
    w = await wheel([[failure], says("here I am")], clock=SystemClock())
    await w.loop.prompt("mine")
    await until(lambda: w.loop.agent.waiting_on == "retry")
    await w.create()
    await w.goals.pause(None, "human")
    await w.at_rest()
    assert [m.text for m in await w.loop.data(ev.AssistantMessage)] == ["here I am"]


async def test_a_model_that_blocks_its_goal_is_asked_again_until_it_has_said_so() -> None:
    failure = ModelFailed("server", "503", retryable=True)
    w = await obedient(
        [ends("blocked", key="k", message="no key"), [failure], says("I need a key.")], blocked_after_rounds=1
    )
    await w.create()
    await w.at_rest()
    assert w.goal.phase == "blocked"
    assert (await w.loop.data(ev.AssistantMessage))[-1].text == "I need a key."


@pytest.mark.parametrize("act", ["pause", "clear", "complete"])
async def test_after_pause_clear_and_complete_nothing_is_asked_any_more(act: str) -> None:
    w = await wheel([says(str(n)) for n in range(10)], no_progress_rounds=99)
    await w.create()
    await until(lambda: len(w.model.requests) >= 2)
    match act:
        case "pause":
            await w.goals.pause(None, "human")
        case "clear":
            await w.goals.clear(None, "human")
        case _:
            await w.goals.accept(None)
    await w.at_rest()
    asked = len(w.model.requests)
    for _ in range(200):
        await asyncio.sleep(0)
    assert len(w.model.requests) == asked
    await w.check()


async def test_rounds_that_change_nothing_wait_longer_and_block_the_goal() -> None:
    w = await wheel([says("Still waiting.")] * 10)
    await w.create()
    await w.at_rest()
    assert w.goal.phase == "blocked"
    assert w.goal.blocked_reason is not None
    assert w.goal.blocked_reason.code == "no-progress"
    assert len(w.model.requests) == 3
    assert w.loop.services.clock.slept == [1.0, 5.0]  # type: ignore[attr-defined]
    await w.check()


async def test_a_round_that_does_something_new_each_time_is_never_stopped() -> None:
    replies = [reply for n in range(8) for reply in work(n)]
    w = await obedient([*replies, ends("complete", evidence="x"), says("bye")], (StandInTool("work"),))
    await w.create()
    await w.at_rest()
    assert w.goal.phase == "complete"
    assert w.goal.rounds_started == 9


async def test_failing_rounds_disarm_and_the_third_in_a_row_blocks() -> None:
    w = await wheel([[ModelFailed("auth", "bad key")]] * 3)
    await w.create()
    await w.at_rest()
    assert (w.goal.phase, w.goals.armed) == ("active", False)
    assert w.goals.view().disarmed_by == "A turn failed: bad key"  # type: ignore[union-attr]
    for _ in range(2):
        await w.goals.resume(None, "human")
        await w.at_rest()
    assert w.goal.blocked_reason is not None
    assert w.goal.blocked_reason.code == "failing"
    assert len(w.model.requests) == 3


async def test_the_last_round_is_the_last_and_raising_the_limit_goes_on_behind_it() -> None:
    w = await obedient(
        [*work(1), *work(2), ends("complete", evidence="x"), says("bye")], (StandInTool("work"),)
    )
    await w.create(max_rounds=2)
    await w.at_rest()
    assert w.goal.blocked_reason is not None
    assert w.goal.blocked_reason.code == "round-limit"
    with pytest.raises(GoalTransition) as refused:
        await w.goals.resume(None, "human")
    assert refused.value.data["members"] == ["maxRounds"]
    await w.goals.edit(None, Wishes(max_rounds=5), "human")
    await w.goals.resume(None, "human")
    await w.at_rest()
    assert await w.admitted() == [1, 2, 3]
    await w.check()


async def test_a_budget_that_is_used_up_blocks_and_says_which() -> None:
    w = await wheel([reply for n in range(9) for reply in work(n)], (StandInTool("work"),))  # type: ignore[misc]
    await w.create(budgets=Budgets(requests=4))
    await w.at_rest()
    assert w.goal.blocked_reason is not None
    assert w.goal.blocked_reason.code == "budget"
    assert "requests" in w.goal.blocked_reason.message
    assert len(w.model.requests) == 4


async def test_a_budget_stops_a_round_before_its_next_request() -> None:
    replies = [calls(("work", {"name": str(n)})) for n in range(20)]
    w = await wheel(replies, (StandInTool("work"),))  # type: ignore[arg-type]
    await w.create(budgets=Budgets(requests=3))
    await w.at_rest()
    assert len(w.model.requests) == 3
    assert [e.reason for e in await w.loop.data(ev.TurnEnd)] == [ev.Exit(policy="budget")]
    (verdict,) = await w.loop.data(ev.ExitVerdict)
    assert "requests" in verdict.message
    assert w.goal.phase == "blocked"
    await w.goals.edit(None, Wishes(budgets=Budgets(requests=5)), "human")
    await w.goals.resume(None, "human")
    await w.at_rest()
    assert len(w.model.requests) == 5
    await w.check()


async def test_a_round_that_fails_while_a_person_waits_disarms_the_goal_all_the_same() -> None:
    gate = Gate()
    w = await obedient([[gate, ModelFailed("auth", "bad key")], says("here"), says("never")])
    await w.create()
    await gate.reached.wait()
    await w.loop.prompt("me next")
    gate.open()
    await w.at_rest()
    assert (w.goal.phase, w.goals.armed) == ("active", False)
    assert len(w.model.requests) == 2
    await w.check()


async def test_a_round_that_was_stopped_while_a_person_steered_is_paused_all_the_same() -> None:
    gate = Gate()
    w = await obedient([[gate, *says("x")], says("here"), says("never")])
    await w.create()
    await gate.reached.wait()
    stopping = w.loop.agent.cancel(drop=False, expected_turn=None)
    await w.loop.steer("after the stop")
    await stopping
    await w.at_rest()
    assert w.goal.phase == "paused"
    assert [t.trigger for t in await w.loop.data(ev.TurnStart)] == ["goal", "human"]
    await w.check()


async def test_stop_between_two_rounds_pauses_the_goal() -> None:
    from steersman.loop.agent import Stopped
    from steersman.loop.journal import Into
    from steersman.ports.clock import SystemClock

    w = await wheel([says("x")] * 3, clock=SystemClock(), idle_pause_seconds=(30.0,))
    await w.create()
    await until(lambda: w.driver.pausing)
    future: asyncio.Future[object] = asyncio.get_running_loop().create_future()
    assert w.goals.between_rounds
    w.goals.stop_between_rounds(Into(future, lambda stopped: stopped))
    assert await future == Stopped(anything=True)
    assert w.goal.phase == "paused"
    w.driver.stop()
    assert len(w.model.requests) == 1


async def test_a_stop_of_a_turn_that_does_not_run_is_refused() -> None:
    w = await wheel([])
    with pytest.raises(TurnMismatch):
        await w.loop.agent.cancel(drop=False, expected_turn=3)
