"""A session with a goal: the loop's harness with the goal's service, driver and tools on it."""

from __future__ import annotations

import asyncio
from typing import Any

from steersman.domain import events as ev
from steersman.domain.checks import CheckResult, CommandCheck
from steersman.domain.goal import Goal
from steersman.domain.settings import GoalSettings, LoopSettings, ModelSettings, Settings
from steersman.goals.decisions import Wishes
from steersman.goals.driver import Driver
from steersman.goals.service import Goals
from steersman.goals.tools import goal_tools
from steersman.loop.services import Verification
from steersman.ports.clock import ManualClock
from steersman.ports.model_double import Piece, ScriptedReplies, calls
from tests.unit.loop.harness import DEADLINE, Loop, NoChecks, StandInTool, start, until

CHECK = CommandCheck(argv=["make", "test"])


def found(verdict: str) -> Verification:
    status = "pass" if verdict == "pass" else "fail"
    result = CheckResult(check_id="check-1", kind="command", status=status, evidence="exit 2")  # type: ignore[arg-type]
    return Verification(verdict=verdict, results=[] if verdict == "none" else [result])  # type: ignore[arg-type]


class Wheel:
    """One session's goal. `model` is the double, `loop` the loop's harness."""

    def __init__(self, loop: Loop, model: ScriptedReplies) -> None:
        self.loop = loop
        self.model = model
        self.goals = Goals(loop.journal, loop.agent, loop.services)
        self.driver = Driver(self.goals, loop.agent, loop.services)
        base = loop.services.toolbox
        tools = {tool.name: tool for tool in goal_tools(self.goals)}
        loop.services.toolbox = lambda mode: {**base(mode), **tools}

    @property
    def goal(self) -> Goal:
        goal = self.loop.state.goal
        assert goal is not None
        return goal

    async def create(self, objective: str = "Make it work.", **wishes: Any) -> Goal:
        await self.goals.create(Wishes(objective=objective, **wishes), "human")
        return self.goal

    async def at_rest(self) -> None:
        """Nothing runs, and the driver has nothing to do."""

        def resting() -> bool:
            task = self.driver._advancing
            return self.loop.state.turn is None and not self.driver._ready() and (task is None or task.done())

        await until(resting)
        await self.loop.idle()

    async def rounds(self) -> list[tuple[int, str]]:
        return [(r.round, r.status) for r in await self.loop.data(ev.GoalRound)]

    async def admitted(self) -> list[int]:
        return [number for number, status in await self.rounds() if status == "admitted"]

    async def check(self) -> None:
        await self.loop.check()
        admitted = await self.admitted()
        by_goal: dict[str, list[int]] = {}
        for r in await self.loop.data(ev.GoalRound):
            if r.status == "admitted":
                by_goal.setdefault(r.goal_id, []).append(r.round)
        for numbers in by_goal.values():
            assert numbers == list(range(1, len(numbers) + 1)), "rounds have a gap"
        assert len(admitted) == len([t for t in await self.loop.data(ev.TurnStart) if t.trigger == "goal"])


async def wheel(
    replies: list[list[Piece]],
    tools: tuple[StandInTool, ...] = (),
    *,
    verdicts: list[str] | None = None,
    clock: Any = None,
    approvals: Any = None,
    **goal: Any,
) -> Wheel:
    settings = Settings(
        model=ModelSettings(retry_base_seconds=0.5, max_retries=1),
        loop=LoopSettings(tool_grace_seconds=0.1),
        goal=GoalSettings(**goal),
    )
    checks = NoChecks([found(verdict) for verdict in verdicts or []])
    loop, model = await start(
        replies, tools, checks=checks, settings=settings, clock=clock or ManualClock(), approvals=approvals
    )
    return Wheel(loop, model)


def ends(action: str, **more: Any) -> Any:
    """A reply in which the model ends the goal; the ids are put in when it is asked."""
    return ("update", action, more)


class Obedient(ScriptedReplies):
    """A model that names the current goal in what it says of it."""

    wheel: Wheel | None = None

    async def stream(self, request: Any) -> Any:
        if self.replies and isinstance(self.replies[0], tuple):
            assert self.wheel is not None
            _, action, more = self.replies[0]
            goal = self.wheel.goal
            arguments = {"goal_id": goal.id, "revision": goal.revision, "action": action, **more}
            self.replies[0] = calls(("update_goal", arguments))  # type: ignore[assignment]
        async for item in super().stream(request):
            yield item


async def obedient(replies: list[Any], *args: Any, **kwargs: Any) -> Wheel:
    """A wheel whose model's replies may be `ends(...)`."""
    made = await wheel([], *args, **kwargs)
    model = Obedient([])
    model.replies = list(replies)
    model.wheel = made
    made.loop.services.models = model
    made.model = model
    return made


__all__ = ["CHECK", "DEADLINE", "Wheel", "asyncio", "ends", "found", "obedient", "wheel"]
