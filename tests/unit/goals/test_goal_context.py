"""A goal over compactions and beside maintenance: its objective is never lost, and no round gets ahead."""

from __future__ import annotations

import asyncio
from typing import Any

from steersman.domain import events as ev
from steersman.domain.goal import Budgets
from steersman.errors import Aborted, ModelFailed
from steersman.goals.decisions import Wishes
from steersman.loop.abort import AbortSignal
from steersman.loop.journal import Decision, Into
from steersman.ports.clock import SystemClock
from steersman.ports.model import Finish
from steersman.ports.model_double import Gate, Piece, call, says, text
from tests.unit.goals.harness import Wheel, until, wheel
from tests.unit.loop.harness import StandInTool

FORGETS: list[Piece] = [text("We looked at some files."), Finish(finish_reason="stop", usage=None)]
OBJECTIVE = "Port the parser to the new lexer."


def looks(name: str) -> list[Piece]:
    called = call("look", {"name": name}, call_id=name)
    return [text("t" * 1200), called, Finish(finish_reason="tool_calls", usage=None)]


async def pressed(replies: list[list[Piece]], **more: Any) -> Wheel:
    """A wheel whose model has a small window and forgets the goal in every summary."""
    w = await wheel(replies, (StandInTool("look", result="r" * 300),), **more)
    w.model.window = 3000
    w.model.summaries = [list(FORGETS) for _ in range(100)]
    return w


def after_first_compaction(w: Wheel) -> list[str]:
    """The bodies of the turn's requests from the first summary on."""
    first = next(n for n, r in enumerate(w.model.bodies) if r.purpose == "summary")
    return [r.body.decode() for r in w.model.bodies[first:] if r.purpose == "turn"]


async def test_every_request_after_a_summary_carries_the_objective_once_from_the_state() -> None:
    w = await pressed([looks(f"a{n}") for n in range(25)])
    await w.create(OBJECTIVE)
    await until(lambda: not w.model.replies)
    await w.goals.pause(None, "human")
    await w.at_rest()
    bodies = after_first_compaction(w)
    assert len(bodies) > 8
    for body in bodies:
        assert body.count(OBJECTIVE) == 1
        assert f"Goal: {w.goal.id}, revision 1" in body
        assert "Round: 1/256" in body
    await w.check()


async def test_after_an_edit_only_the_new_objective_is_in_the_request() -> None:
    gate = Gate()
    late: list[list[Piece]] = [looks(f"b{n}") for n in range(4)]
    w = await pressed([*(looks(f"a{n}") for n in range(12)), [gate, *looks("g")], *late])
    await w.create(OBJECTIVE)
    await gate.reached.wait()
    assert await w.loop.data(ev.ContextCompacted)
    await w.goals.edit(None, Wishes(objective="Only write the report."), "human")
    gate.open()
    await until(lambda: not w.model.replies)
    await w.goals.pause(None, "human")
    await w.at_rest()
    for request in [r for r in w.model.bodies if r.purpose == "turn"][-3:]:
        assert b"Only write the report." in request.body
        assert OBJECTIVE.encode() not in request.body
    await w.check()


async def test_a_persons_turn_beside_the_goal_is_told_how_the_goal_stands() -> None:
    w = await pressed([*(looks(f"a{n}") for n in range(12)), says("x"), says("answer")])
    await w.create(OBJECTIVE)
    await w.loop.prompt("how far are you?")
    await w.loop.idle()
    await until(lambda: len(w.model.replies) == 0)
    w.driver.stop()
    await w.loop.idle()
    last = w.model.requests[-1]["messages"]
    assert any("how far are you?" in str(m["content"]) for m in last)
    assert str(last).count(OBJECTIVE) >= 1


async def test_a_paused_goal_is_in_no_later_request() -> None:
    w = await pressed([*(looks(f"a{n}") for n in range(12)), says("end"), says("ok")])
    await w.create(OBJECTIVE)
    await until(lambda: len(w.model.replies) <= 2)
    await w.goals.pause(None, "human")
    await w.at_rest()
    w.model.replies = [says("ok")]
    assert await w.loop.data(ev.ContextCompacted)
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    w.loop.agent.compact(Into(future, lambda result: result))
    await future
    await w.loop.prompt("something else")
    await w.loop.idle()
    assert "<goal_state>" not in w.model.bodies[-1].body.decode()


async def test_a_pause_while_it_is_summed_up_sends_no_further_request() -> None:
    gate = Gate()
    w = await pressed([looks(f"a{n}") for n in range(30)])
    w.model.summaries = [[gate, *FORGETS]]
    await w.create(OBJECTIVE)
    await gate.reached.wait()
    sent = len(w.model.bodies)
    await w.goals.pause(None, "human")
    gate.open()
    await w.at_rest()
    assert len(w.model.bodies) == sent
    assert [e.reason for e in await w.loop.data(ev.TurnEnd)] == [ev.Exit(policy="goal-paused")]
    await w.check()


async def test_a_summary_counts_against_the_goals_budget_before_the_next_request() -> None:
    w = await pressed([looks(f"a{n}") for n in range(30)])
    await w.create(OBJECTIVE, budgets=Budgets(requests=40))
    await until(lambda: any(r.purpose == "summary" for r in w.model.bodies) or not w.model.replies)
    first = next(n for n, r in enumerate(w.model.bodies) if r.purpose == "summary")
    w.driver.stop()
    await w.loop.stop()
    await w.loop.idle()
    w = await pressed([looks(f"a{n}") for n in range(30)])
    await w.create(OBJECTIVE, budgets=Budgets(requests=first + 1))
    await w.at_rest()
    assert w.goal.phase == "blocked"
    assert w.model.bodies[-1].purpose == "summary"
    assert len(w.model.bodies) == first + 1
    assert w.loop.state.goals.usage.requests == first + 1
    await w.check()


class Tidying:
    """A maintenance job that waits at its gate."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.gate = asyncio.Event()

    async def __call__(self, abort: AbortSignal) -> Any:
        self.begun.set()
        await abort.race(self.gate.wait())
        return lambda state: Decision((), None)


async def between_rounds(replies: list[list[Piece]]) -> Wheel:
    w = await wheel(replies, clock=SystemClock(), idle_pause_seconds=(0.01,), no_progress_rounds=99)
    await w.create()
    await until(lambda: w.driver.pausing)
    return w


async def test_no_round_starts_in_maintenance_and_the_next_one_does_after_it() -> None:
    w = await between_rounds([says("1"), says("2"), says("3")])
    job = Tidying()
    future = w.loop.agent.maintain(job)
    await job.begun.wait()
    requests = len(w.model.requests)
    await asyncio.sleep(0.05)
    assert len(w.model.requests) == requests
    assert w.goals.armed
    job.gate.set()
    await future
    await until(lambda: len(w.model.requests) == requests + 1)
    w.driver.stop()
    await w.loop.stop()
    await w.loop.idle()
    await w.check()


async def test_a_round_that_was_queued_when_maintenance_began_goes_stale() -> None:
    w = await wheel([says("1")] * 3)
    job = Tidying()
    w.goals.wake = w.loop.agent.rested = lambda: None
    await w.goals.create(Wishes(objective="x"), "human")
    assert await w.loop.agent.queue_round(lambda state: "text", lambda state: None)
    future = w.loop.agent.maintain(job)
    await job.begun.wait()
    assert w.loop.state.goals.pending is None
    assert not await w.loop.agent.queue_round(lambda state: "text", lambda state: None)
    job.gate.set()
    await future
    assert await w.rounds() == [(1, "queued"), (1, "stale")]
    await w.check()


async def test_a_goal_created_in_maintenance_starts_its_rounds_after_it() -> None:
    w = await wheel([says("1")] * 9)
    job = Tidying()
    future = w.loop.agent.maintain(job)
    await job.begun.wait()
    await w.create()
    assert w.model.requests == []
    job.gate.set()
    await future
    await until(lambda: len(w.model.requests) > 0)
    w.driver.stop()
    await w.loop.stop()
    await w.loop.idle()
    await w.check()


async def test_stop_in_maintenance_pauses_an_armed_goal_and_ends_the_job() -> None:
    w = await between_rounds([says("1")])
    job = Tidying()
    future = w.loop.agent.maintain(job)
    await job.begun.wait()
    assert w.goals.between_rounds
    w.loop.agent.cancel(drop=False, expected_turn=None)
    w.goals.stop_between_rounds()
    (failed,) = await asyncio.gather(future, return_exceptions=True)
    assert isinstance(failed, Aborted)
    await w.at_rest()
    assert w.goal.phase == "paused"
    await w.check()


async def stopped_with_a_queue(w: Wheel, gate: Gate) -> None:
    """A person's own turn was stopped while another message waited."""
    await w.loop.prompt("go")
    await gate.reached.wait()
    await w.loop.prompt("held")
    await w.loop.stop()
    await w.loop.idle()
    assert w.loop.state.inbox.held == "cancelled"


async def test_creating_or_resuming_a_goal_releases_a_held_queue_and_its_turns_run_first() -> None:
    for resumes in (False, True):
        gate = Gate()
        w = await wheel([[gate, *says("never")], *([says("1")] * 6)], no_progress_rounds=2)
        if resumes:
            created = w.goals.create(Wishes(objective="x"), "human")
            await asyncio.gather(created, w.goals.pause(None, "human"))
        await stopped_with_a_queue(w, gate)
        if resumes:
            await w.goals.resume(None, "human")
        else:
            await w.create()
        await w.at_rest()
        triggers = [t.trigger for t in await w.loop.data(ev.TurnStart)]
        assert triggers[:3] == ["human", "human", "goal"]
        assert w.loop.state.inbox.held is None
        await w.check()


async def test_a_round_that_fails_holds_nothing_of_a_persons() -> None:
    gate = Gate()
    w = await wheel([[gate, ModelFailed("auth", "bad key")], says("to the person")])
    await w.create()
    await gate.reached.wait()
    await w.loop.prompt("mine")
    gate.open()
    await w.at_rest()
    assert w.loop.state.inbox.held is None
    assert [t.trigger for t in await w.loop.data(ev.TurnStart)] == ["goal", "human"]
    await w.check()
