"""The answers to `/goal …`: they always show how the goal stands, and what can be said next."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.domain.goal import BlockedReason, Budgets
from steersman.errors import NotConfigured
from steersman.sessions.goal_verbs import command
from steersman.sessions.requests import GoalAnswer
from tests.unit.goals.harness import Wheel, wheel


def configured() -> None:
    return None


async def made(phase: str) -> Wheel:
    w = await wheel([])
    w.goals.wake = lambda: None
    w.driver.consider = lambda: None  # type: ignore[method-assign]
    await w.create("Make the cart add up.", budgets=Budgets(tokens=100, cost=None, requests=7), max_rounds=9)
    match phase:
        case "paused":
            await w.goals.pause(None, "human")
        case "blocked":
            await w.goals.block(w.goal.ref, BlockedReason(code="failing", message="It failed."))
        case "complete":
            await w.goals.accept(None)
        case "disarmed":
            w.goals.disarm("The session was just opened.")
    return w


async def say(w: Wheel, text: str) -> GoalAnswer:
    return await command(w.goals, text, configured)


NEXT: dict[str, tuple[str, ...]] = {
    "active": ("/goal pause", "/goal edit", "/goal clear"),
    "disarmed": ("/goal resume", "/goal edit", "/goal clear"),
    "paused": ("/goal resume", "/goal edit", "/goal clear"),
    "blocked": ("/goal resume", "/goal edit", "/goal clear"),
    "complete": ("/goal <objective>", "/goal clear"),
}


@pytest.mark.parametrize("phase", NEXT)
async def test_an_answer_shows_phase_activation_round_and_what_can_be_said_next(phase: str) -> None:
    w = await made(phase)
    answer = await say(w, "/goal")
    assert answer.ok
    armed = phase == "active"
    shown = "active" if phase == "disarmed" else phase
    assert f"({shown}, {'armed' if armed else 'disarmed'})" in answer.message
    assert "round 0/9" in answer.message
    for words in NEXT[phase]:
        assert f"`{words}" in answer.message
    if not armed and answer.goal is not None:
        assert answer.goal.disarmed_by
        reason = answer.goal.blocked_reason.message if answer.goal.blocked_reason else answer.goal.disarmed_by
        assert reason in answer.message, "why it does not move is told wherever the phase is"


@pytest.mark.parametrize(
    "text",
    ["/goal resume", "/goal pause --now please", "/goal edit", '/goal edit --check "a | b"', "/goal other"],
)
async def test_a_refusal_says_why_and_still_shows_the_goal(text: str) -> None:
    w = await made("active")
    answer = await say(w, text)
    assert not answer.ok
    assert "round 0/9" in answer.message
    assert answer.goal is not None
    assert answer.goal.revision == 1


async def test_an_edit_of_one_limit_edits_only_that() -> None:
    w = await made("active")
    answer = await say(w, "/goal edit --tokens 500")
    assert answer.ok
    assert w.goal.budgets == Budgets(tokens=500, requests=7)
    assert (w.goal.objective, w.goal.max_rounds) == ("Make the cart add up.", 9)
    await say(w, "/goal edit --rounds 400")
    assert w.goal.max_rounds == 400
    assert w.goal.budgets == Budgets(tokens=500, requests=7)


async def test_without_a_goal_every_verb_is_answered_with_advice() -> None:
    w = await wheel([])
    for text in ("/goal pause", "/goal resume", "/goal clear", "/goal edit other", "/goal edit --tokens 5"):
        answer = await say(w, text)
        assert not answer.ok
        assert "/goal <objective>" in answer.message
        assert answer.goal is None


@pytest.mark.parametrize(
    ("text", "asks"), [("/goal do it", True), ("/goal resume", True), ("/goal pause", False)]
)
async def test_only_what_arms_needs_a_model(text: str, asks: bool) -> None:
    w = await made("disarmed") if text != "/goal do it" else await wheel([])

    def nothing() -> None:
        raise NotConfigured("No model is configured: set model.name and a key.")

    answer: Any = await command(w.goals, text, nothing)
    assert ("No model is configured" in answer.message) is asks
    assert answer.ok is not asks
