"""The task that a person sees, beside a goal: it is the goal's, from round to round."""

from __future__ import annotations

from steersman.domain import events as ev
from steersman.errors import ModelFailed
from steersman.ports.model_double import Gate, says
from tests.unit.goals.harness import ends, obedient, wheel
from tests.unit.goals.test_rounds import work
from tests.unit.loop.harness import StandInTool


async def states(w) -> list[str]:  # type: ignore[no-untyped-def]
    return [t.to for t in await w.loop.data(ev.TaskChanged)]


async def test_a_goal_is_in_progress_over_all_its_rounds_and_succeeds_at_the_end() -> None:
    w = await obedient(
        [*work(1), *work(2), ends("complete", evidence="x"), says("bye")], (StandInTool("work"),)
    )
    await w.create()
    await w.at_rest()
    assert await states(w) == ["IN_PROGRESS", "SUCCEEDED"]
    await w.check()


async def test_a_blocked_goal_is_a_failed_task_until_it_is_resumed() -> None:
    w = await wheel([says("Still waiting.")] * 3)
    await w.create()
    await w.at_rest()
    assert await states(w) == ["IN_PROGRESS", "FAILED"]
    await w.goals.resume(None, "human")
    await w.goals.pause(None, "human")
    assert (await states(w))[2:] == ["IN_PROGRESS", "PAUSED"]


async def test_a_persons_turn_beside_a_paused_goal_returns_to_paused() -> None:
    w = await wheel([says("hi")])
    await w.create()
    await w.goals.pause(None, "human")
    await w.at_rest()
    await w.loop.prompt("hello")
    await w.at_rest()
    assert await states(w) == ["IN_PROGRESS", "PAUSED", "IN_PROGRESS", "PAUSED"]


async def test_a_round_that_fails_pauses_the_task() -> None:
    w = await wheel([[ModelFailed("auth", "bad key")]])
    await w.create()
    await w.at_rest()
    assert await states(w) == ["IN_PROGRESS", "PAUSED"]


async def test_clearing_cancels_and_accepting_succeeds() -> None:
    gate = Gate()
    w = await wheel([[gate, *says("x")]])
    await w.create()
    await gate.reached.wait()
    await w.goals.clear(None, "human")
    gate.open()
    await w.at_rest()
    assert w.loop.state.task == "CANCELLED"
    await w.create("another")
    await w.goals.accept(None)
    await w.at_rest()
    assert w.loop.state.task == "SUCCEEDED"
