"""A claim is proved or refused: real checks, their evidence, and what may come between."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from steersman.domain import events as ev
from steersman.domain.checks import CommandCheck, TestsCheck
from steersman.domain.goal import Budgets
from steersman.domain.receipts import TestCounts, TestReceipt
from steersman.errors import Aborted, GoalStale, NotVerified, SessionBusy
from steersman.goals.checks import HarnessChecks
from steersman.goals.decisions import Wishes
from steersman.ports.cancel import Cancel
from steersman.ports.editor_memory import MemoryEditor
from steersman.ports.model_double import Gate, calls, says
from steersman.ports.process import TestRun
from tests.unit.goals.harness import CHECK, Wheel, ends, found, obedient
from tests.unit.loop.harness import StandInTool, until
from tests.unit.tools.context import Processes

NO_TESTS = TestReceipt(
    run_id="r",
    status="noTests",
    exit_code=5,
    counts=TestCounts(collected=0, passed=0, failed=0, errors=0, skipped=0),
    tests=[],
    output="collected 0 items",
    argv=["pytest"],
    folder="/",
    duration_ms=1,
    runner="server",
)


class Runner:
    """A test runner that finds no test at all."""

    async def run_tests(self, run: TestRun, cancel: Cancel) -> TestReceipt:
        return NO_TESTS


async def proving(replies: list[Any], folder: Path, **more: Any) -> Wheel:
    """A wheel whose checks really run."""
    w = await obedient(replies, **more)
    w.loop.services.checks = HarnessChecks()
    w.loop.services.editor = MemoryEditor(folder)
    w.loop.services.processes = Processes()  # type: ignore[assignment]
    w.loop.services.tests = Runner()
    return w


def python(program: str, **more: Any) -> CommandCheck:
    return CommandCheck(argv=[sys.executable, "-c", program], **more)


@pytest.mark.parametrize(
    ("check", "status", "evidence"),
    [
        (python("print('two of three'); raise SystemExit(3)"), "fail", "exited with 3\ntwo of three"),
        (python("import time; time.sleep(60)", timeout_seconds=0.2), "timeout", "not finished"),
        (CommandCheck(argv=["no-such-program-here"]), "fail", "no-such-program-here"),
        (TestsCheck(), "noTests", "collected 0 items"),
    ],
)
async def test_a_claim_that_is_not_proved_is_refused_with_its_evidence_and_the_goal_stays_active(
    check: Any, status: str, evidence: str, tmp_path: Path
) -> None:
    gate = Gate()
    w = await proving([ends("complete"), [gate, *says("hm")]], tmp_path)
    await w.create(checks=[check])
    await gate.reached.wait()
    (refused,) = await w.loop.data(ev.ToolResult)
    assert refused.error is not None
    assert refused.error.code == "NOT_VERIFIED"
    assert evidence in refused.content
    (recorded,) = await w.loop.data(ev.GoalVerification)
    assert (recorded.verdict, recorded.results[0].status) == ("fail", status)
    assert (w.goal.phase, w.goals.armed, w.goal.revision) == ("active", True, 1)
    await w.goals.clear(None, "human")
    gate.open()
    await w.at_rest()
    await w.check()


async def test_a_goal_that_a_person_changes_while_its_checks_run_is_not_completed_by_them(
    tmp_path: Path,
) -> None:
    mark = tmp_path / "go"
    wait = python(f"import pathlib, time\nwhile not pathlib.Path({str(mark)!r}).exists(): time.sleep(0.01)")
    gate = Gate()
    w = await proving([ends("complete"), [gate, *says("hm")]], tmp_path)
    await w.create(checks=[wait])
    await until(lambda: bool(w.loop.services.processes.ran))  # type: ignore[attr-defined]
    await w.goals.edit(None, Wishes(objective="something else"), "human")
    mark.touch()
    await gate.reached.wait()
    (refused,) = await w.loop.data(ev.ToolResult)
    assert refused.error is not None
    assert refused.error.code == "STALE_GOAL"
    assert await w.loop.data(ev.GoalVerification) == [], "what was proved is not what is asked now"
    assert (w.goal.phase, w.goal.objective) == ("active", "something else")
    await w.goals.clear(None, "human")
    gate.open()
    await w.at_rest()


async def test_an_edit_of_limits_alone_leaves_the_round_its_authority() -> None:
    gate = Gate()
    tool = StandInTool("work")
    w = await obedient([[gate, *calls(("work", {}))], ends("complete", evidence="x"), says("bye")], (tool,))
    await w.create()
    await gate.reached.wait()
    await w.goals.edit(None, Wishes(max_rounds=300, budgets=Budgets(tokens=10**9)), "human")
    gate.open()
    await w.at_rest()
    assert w.goal.phase == "complete"
    assert await w.admitted() == [1]


@pytest.mark.parametrize("wishes", [Wishes(objective="other"), Wishes(checks=[CHECK])])
async def test_an_edit_of_what_is_asked_takes_it_away(wishes: Wishes) -> None:
    gate = Gate()
    w = await obedient(
        [
            [gate, *calls(("work", {}))],
            ends("complete", evidence="x"),
            says("hm"),
            ends("complete", evidence="x"),
            says(""),
        ],
        (StandInTool("work"),),
        verdicts=["pass"],
    )
    await w.create()
    await gate.reached.wait()
    await w.goals.edit(None, wishes, "human")
    gate.open()
    await w.at_rest()
    codes = [r.error.code for r in await w.loop.data(ev.ToolResult) if r.error]
    assert codes == ["STALE_GOAL"]
    assert (w.goal.phase, w.goal.rounds_started) == ("complete", 2)


@pytest.mark.parametrize("action", ["complete", "blocked"])
async def test_the_closing_instruction_of_a_turn_that_is_stopped_does_not_leak_into_a_later_one(
    action: str,
) -> None:
    more = {"evidence": "x"} if action == "complete" else {"key": "k", "message": "no key"}
    tool = StandInTool("work", gate=True)
    gate = Gate()
    w = await obedient([[gate], says("a later turn")], (tool,), blocked_after_rounds=1)
    await w.create()
    await gate.reached.wait()
    update = {"goal_id": w.goal.id, "revision": 1, "action": action, **more}
    w.model.replies.insert(0, calls(("update_goal", update), ("work", {"name": "a"})))
    await w.loop.steer("go on")
    gate.open()
    await tool.running.wait()
    assert w.goal.phase in ("complete", "blocked")
    await w.loop.stop()
    await w.at_rest()
    await w.loop.prompt("and now something else")
    await w.at_rest()
    last = w.model.requests[-1]["messages"]
    assert last[-1]["content"] == "and now something else"
    assert not [m for m in last if "<goal_complete>" in str(m) or "<goal_blocked>" in str(m)]
    await w.check()


async def test_a_persons_accept_in_a_round_ends_it_after_the_step_in_work() -> None:
    gate = Gate()
    tool = StandInTool("work")
    w = await obedient([[gate, *calls(("work", {"name": "a"}))], says("never")], (tool,))
    await w.create()
    await gate.reached.wait()
    await w.goals.accept(w.goal.ref)
    gate.open()
    await w.at_rest()
    assert tool.finished == ["a"]
    assert len(w.model.requests) == 1
    assert [e.reason for e in await w.loop.data(ev.TurnEnd)] == [ev.Exit(policy="goal-complete")]
    assert w.goal.phase == "complete"
    assert w.loop.state.task == "SUCCEEDED"
    change = (await w.loop.data(ev.GoalChanged))[-1]
    assert change.reason == "A person accepted it without checks."
    assert await w.loop.data(ev.GoalVerification) == []
    await w.check()


async def test_a_person_completes_only_while_nothing_runs_and_no_round_starts_meanwhile(
    tmp_path: Path,
) -> None:
    mark = tmp_path / "go"
    wait = python(f"import pathlib, time\nwhile not pathlib.Path({str(mark)!r}).exists(): time.sleep(0.01)")
    gate = Gate()
    w = await proving([[gate, *says("x")], says("never")], tmp_path, idle_pause_seconds=())
    await w.create(checks=[wait])
    await gate.reached.wait()
    with pytest.raises(SessionBusy):
        await w.goals.complete(w.goal.ref)
    await w.goals.pause(None, "human")
    gate.open()
    await w.at_rest()
    await w.goals.edit(None, Wishes(objective="the same, still armed after this"), "human")
    completing = asyncio.create_task(w.goals.complete(None))
    await until(lambda: w.loop.agent.phase == "maintenance")
    await w.goals.resume(None, "human")
    for _ in range(50):
        await asyncio.sleep(0)
    assert await w.admitted() == [1]
    mark.touch()
    with pytest.raises(GoalStale):
        await completing
    assert w.goal.phase == "active", "it was resumed while the checks ran: they proved another state"
    await w.goals.clear(None, "human")
    await w.at_rest()


class Hanging(HarnessChecks):
    """Checks that never end by themselves. `left` says that they were ended."""

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.left = False

    async def run(self, checks: Any, context: Any) -> Any:
        self.began.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.left = True


@pytest.mark.parametrize("how", ["stop", "cancelled request"])
async def test_a_persons_completion_can_be_stopped_and_leaves_the_goal_as_it_was(how: str) -> None:
    w = await obedient([])
    hanging = w.loop.services.checks = Hanging()
    w.goals.wake = lambda: None
    await w.create(checks=[CHECK])
    await w.goals.pause(None, "human")
    completing = asyncio.create_task(w.goals.complete(None))
    await hanging.began.wait()
    if how == "stop":
        await w.loop.stop()
        with pytest.raises(Aborted):
            await completing
    else:
        completing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await completing
    await until(lambda: w.loop.agent.phase == "idle")
    assert hanging.left
    assert w.goal.phase == "paused"
    assert await w.loop.data(ev.GoalVerification) == []
    w.loop.services.checks = Fails()
    with pytest.raises(NotVerified):
        await w.goals.complete(None)


class Fails(HarnessChecks):
    async def run(self, checks: Any, context: Any) -> Any:
        return found("fail")
