"""The goal requests of the wire contract, for one open session: refs in, GoalViews out."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable

from msgspec.structs import replace

from steersman.domain.goal import Budgets
from steersman.domain.views import GoalView
from steersman.errors import RequestRefused
from steersman.goals import decisions
from steersman.goals.command import CommandError, GoalCommand, parse
from steersman.goals.decisions import Wishes
from steersman.goals.service import Goals
from steersman.goals.view import goal_markdown
from steersman.loop.journal import Into
from steersman.sessions import requests as rq


def viewed(goals: Goals, future: Future[GoalView]) -> Into[None]:
    """The answer is the goal as it stands after the commit."""
    return Into(future, lambda _: goals.view())


def wishes_of(params: rq.CreateGoal | rq.EditGoal | GoalCommand) -> Wishes:
    """What is wished, whoever asks: members have the same names everywhere; a missing one is unset."""
    return Wishes(**{name: getattr(params, name, None) for name in Wishes.__struct_fields__})


async def complete(goals: Goals, params: rq.CompleteGoal) -> GoalView:
    """A person ends the goal. Raises GoalStale, GoalTransition, SessionBusy, NotVerified."""
    if params.accept:
        await goals.accept(params.ref)
    else:
        await goals.complete(params.ref)
    view = goals.view()
    if view is None:
        raise AssertionError("a completed goal is still there")
    return view


async def command(goals: Goals, text: str, require_model: Callable[[], None]) -> rq.GoalAnswer:
    """Carry out a `/goal …` text, on whatever the goal is when it arrives. Refusals are answers.

    What arms a goal needs a model: `require_model` raises where none is configured.
    """
    try:
        wanted = parse(text)
        if wanted.verb in ("create", "resume"):
            require_model()
        await _carry_out(goals, wanted)
    except (CommandError, RequestRefused) as refused:
        shown = f"{refused}\n\n{goal_markdown(goals.state, goals.activation)}"
        return rq.GoalAnswer(message=shown, goal=goals.view(), ok=False)
    shown = goal_markdown(goals.state, goals.activation)
    return rq.GoalAnswer(message=shown, goal=goals.view(), ok=True)


def _over(budgets: Budgets, wishes: Wishes) -> Wishes:
    """`/goal edit --tokens N` edits only that: the other budgets stay."""
    if wishes.budgets is None:
        return wishes
    named = {name: getattr(wishes.budgets, name) for name in Budgets.__struct_fields__}
    return replace(wishes, budgets=replace(budgets, **{n: v for n, v in named.items() if v is not None}))


async def _carry_out(goals: Goals, wanted: GoalCommand) -> None:
    wishes = wishes_of(wanted)
    match wanted.verb:
        case "create":
            await goals.create(wishes, "human")
        case "edit":
            goal = decisions.current(goals.state, None)
            await goals.edit(goal.ref, _over(goal.budgets, wishes), "human")
        case "pause":
            await goals.pause(None, "human")
        case "resume":
            await goals.resume(None, "human")
        case "clear":
            await goals.clear(None, "human")
        case "show":
            return
