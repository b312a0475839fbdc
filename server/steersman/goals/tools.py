"""The model's three goal tools: the same service as people use, with the authority of the turn."""

from __future__ import annotations

import asyncio
import re
from asyncio import Future
from typing import Annotated, Final, Literal

import msgspec

from steersman.domain import events as ev
from steersman.domain.checks import CheckResult
from steersman.domain.events import CallMode
from steersman.domain.fold_goal import in_a_row
from steersman.domain.goal import BlockedReason, Goal, GoalRef
from steersman.domain.messages import Verified
from steersman.domain.state import SessionState
from steersman.domain.value import encode
from steersman.errors import GoalStale, RequestRefused, ToolFailed
from steersman.goals import decisions
from steersman.goals.authority import (
    require_direct_human,
    require_may_end,
    require_starter,
)
from steersman.goals.decisions import Wishes
from steersman.goals.proposed import ProposedCheck, asked_once
from steersman.goals.service import Goals
from steersman.tools.base import Allow, AnyTool, Arguments, Permit, ToolContext, ToolOutcome

_SECONDS: Final = 3600.0
_KEY_FOLDED: Final = re.compile(r"[\s\d]+")
Text = Annotated[str, msgspec.Meta(min_length=1)]


class GetGoalArguments(Arguments, frozen=True):
    pass


class GetGoal:
    name = "get_goal"
    description = "Show the current goal: objective, phase, round, budgets, checks and the last verification."
    arguments = GetGoalArguments
    deadline_seconds = 10.0

    def __init__(self, goals: Goals) -> None:
        self._goals = goals

    def mode(self, arguments: GetGoalArguments, context: ToolContext) -> CallMode:
        return "exclusive"

    def permit(self, arguments: GetGoalArguments, context: ToolContext) -> Permit:
        return Allow()

    async def run(self, arguments: GetGoalArguments, context: ToolContext) -> ToolOutcome:
        view = self._goals.view()
        content = encode(view).decode() if view is not None else "There is no goal."
        return ToolOutcome(content=content, verified=_shows("the goal as the log has it"))


class CreateGoalArguments(Arguments, frozen=True):
    objective: Text
    checks: list[ProposedCheck] = []


class CreateGoal:
    name = "create_goal"
    description = (
        "Set a goal that is worked on round after round until it is reached; only when the user plainly asks "
        "for a long task."
    )
    arguments = CreateGoalArguments
    deadline_seconds = 10.0

    def __init__(self, goals: Goals) -> None:
        self._goals = goals

    def mode(self, arguments: CreateGoalArguments, context: ToolContext) -> CallMode:
        return "exclusive"

    def permit(self, arguments: CreateGoalArguments, context: ToolContext) -> Permit:
        """Authority goes first: a person is never asked about what will be refused anyway."""
        require_starter(context.state)
        return asked_once(arguments.checks, None)

    async def run(self, arguments: CreateGoalArguments, context: ToolContext) -> ToolOutcome:
        require_starter(context.state)
        checks = [proposed.check() for proposed in arguments.checks]
        await _through(self._goals.create(Wishes(objective=arguments.objective, checks=checks), "model"))
        goal = _current(self._goals.state)
        content = f"Goal {goal.id} is set (revision {goal.revision}). Its first round follows this turn."
        return ToolOutcome(content=content, verified=_shows(f"goal {goal.id} is active"))


class UpdateGoalArguments(Arguments, frozen=True):
    goal_id: str
    revision: int
    action: Literal["edit", "pause", "resume", "complete", "blocked"]
    objective: str | None = None
    checks: list[ProposedCheck] | None = None
    evidence: Annotated[str, msgspec.Meta(max_length=4000)] | None = None
    key: Annotated[str, msgspec.Meta(max_length=200)] | None = None
    message: Annotated[str, msgspec.Meta(max_length=2000)] | None = None


class UpdateGoal:
    name = "update_goal"
    description = (
        "End the goal: action complete (its checks are run; without checks name your evidence) or blocked "
        "(key, message). Edit, pause or resume it only when the user asks."
    )
    arguments = UpdateGoalArguments
    deadline_seconds = _SECONDS

    def __init__(self, goals: Goals) -> None:
        self._goals = goals

    def mode(self, arguments: UpdateGoalArguments, context: ToolContext) -> CallMode:
        return "exclusive"

    def permit(self, arguments: UpdateGoalArguments, context: ToolContext) -> Permit:
        """Only an edit with checks is asked. Authority and the ref go first."""
        if arguments.checks is None:
            return Allow()
        goal = _checked(context.state, GoalRef(id=arguments.goal_id, revision=arguments.revision))
        if arguments.action != "edit":
            raise ToolFailed("INVALID_ARGUMENTS", "checks belong to the action edit.")
        require_direct_human(context.state, "change the checks of")
        return asked_once(arguments.checks, goal)

    async def run(self, arguments: UpdateGoalArguments, context: ToolContext) -> ToolOutcome:
        """Raises ToolFailed: `AUTHORITY`, `STALE_GOAL`, `NOT_VERIFIED`, `BLOCK_THRESHOLD`, `FAILED`."""
        ref = GoalRef(id=arguments.goal_id, revision=arguments.revision)
        goal = _checked(context.state, ref)
        match arguments.action:
            case "complete":
                require_may_end(context.state, goal, "completed")
                return await self._complete(goal, arguments.evidence, context)
            case "blocked":
                require_may_end(context.state, goal, "blocked")
                return await self._blocked(goal, arguments, context)
            case action:
                require_direct_human(context.state, action)
                return await self._changed(ref, action, arguments)

    async def _changed(
        self, ref: GoalRef, action: Literal["edit", "pause", "resume"], arguments: UpdateGoalArguments
    ) -> ToolOutcome:
        match action:
            case "edit":
                checks = None if arguments.checks is None else [c.check() for c in arguments.checks]
                if arguments.objective is None and checks is None:
                    raise ToolFailed("INVALID_ARGUMENTS", "edit needs a new objective, or checks.")
                wishes = Wishes(objective=arguments.objective, checks=checks)
                await _through(self._goals.edit(ref, wishes, "model"))
            case "pause":
                await _through(self._goals.pause(ref, "model", "The model paused it on a person's word."))
            case "resume":
                await _through(self._goals.resume(ref, "model"))
        goal = _current(self._goals.state)
        content = f"The goal is {goal.phase} now, revision {goal.revision}."
        return ToolOutcome(content=content, verified=_shows(content))

    async def _complete(self, goal: Goal, evidence: str | None, context: ToolContext) -> ToolOutcome:
        """Proof, not a claim: the harness runs the checks itself, and the goal may change meanwhile."""
        if not goal.checks and not (evidence or "").strip():
            raise ToolFailed(
                "NOT_VERIFIED", "The goal has no checks: name the evidence that it is reached in `evidence`."
            )
        found = await self._goals.verify(goal.checks, context)
        if context.cancel.is_set():
            raise ToolFailed("FAILED", "The turn was stopped while the checks ran.")
        try:
            await self._goals.settle_claim(goal.ref, found, "model", evidence)
        except RequestRefused as refused:
            raise _failure(refused) from refused
        if found.verdict == "fail":
            raise ToolFailed("NOT_VERIFIED", _evidence(found.results))
        said = (
            "The checks passed."
            if found.verdict == "pass"
            else "No check was set; your evidence is recorded."
        )
        return ToolOutcome(content=f"The goal is complete. {said}", verified=_shows("the goal is complete"))

    async def _blocked(self, goal: Goal, arguments: UpdateGoalArguments, context: ToolContext) -> ToolOutcome:
        """Counted by the harness: only the same obstacle in several rounds in a row blocks."""
        message = (arguments.message or "").strip()
        key = folded_key(arguments.key or "")
        if not message or not key:
            raise ToolFailed(
                "INVALID_ARGUMENTS", "blocked needs a short `key` for the obstacle and a `message`."
            )
        turn = context.state.turn
        if turn is None or turn.round is None or turn.trigger == "human":
            return await self._block(goal, message)
        needed = self._goals.blocked_after
        count = in_a_row(context.state, key, turn.round.round)
        await context.record(
            ev.GoalBlocker(
                goal_id=goal.id,
                revision=goal.revision,
                round=turn.round.round,
                key=key,
                message=message,
                consecutive=count,
            )
        )
        if count < needed:
            raise ToolFailed(
                "BLOCK_THRESHOLD", f"Recorded {count} of {needed}. Try another way before you give up."
            )
        return await self._block(goal, message)

    async def _block(self, goal: Goal, message: str) -> ToolOutcome:
        why = BlockedReason(code="model-reported", message=message)
        await _through(self._goals.block(goal.ref, why, "model"))
        return ToolOutcome(content="The goal is blocked now.", verified=_shows("the goal is blocked"))


def goal_tools(goals: Goals) -> list[AnyTool]:
    """The tools of one session's goal."""
    return [GetGoal(goals), CreateGoal(goals), UpdateGoal(goals)]


def folded_key(key: str) -> str:
    """An obstacle's key without case, spaces and digits: the same one in other clothes is the same."""
    return _KEY_FOLDED.sub("", key.casefold())


async def _through(change: Future[None]) -> None:
    """Wait for a change; what refuses it is told to the model."""
    try:
        await asyncio.shield(change)
    except RequestRefused as refused:
        raise _failure(refused) from refused


def _failure(refused: RequestRefused) -> ToolFailed:
    code = "STALE_GOAL" if isinstance(refused, GoalStale) else "FAILED"
    return ToolFailed(code, str(refused))


def _checked(state: SessionState, ref: GoalRef) -> Goal:
    try:
        return decisions.current(state, ref)
    except RequestRefused as refused:
        raise _failure(refused) from refused


def _current(state: SessionState) -> Goal:
    if state.goal is None:
        raise ToolFailed("FAILED", "The goal was cleared meanwhile.")
    return state.goal


def _evidence(results: list[CheckResult]) -> str:
    lines = ["The checks were run and do not pass. The goal stays active."]
    lines += [f"- {r.kind} {r.check_id}: {r.status}\n{r.evidence}" for r in results if r.status != "pass"]
    return "\n".join(lines)


def _shows(note: str) -> Verified:
    return Verified(ok=True, check="fold", note=note)
