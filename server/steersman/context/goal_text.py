"""The texts that the host writes into a goal's turns. Pure. The objective is a JSON string."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from steersman.domain.checks import CheckResult
from steersman.domain.goal import Goal

_GO_ON = (
    "Continue working toward the objective in this same session. Do real work in this round: look, change, "
    "run the tests. When it is reached, call update_goal with action complete; if you cannot go on without "
    "the user, with action blocked, a short key and what you need."
)


def round_text(
    goal: Goal,
    number: int,
    left: Mapping[str, float],
    failures: Sequence[CheckResult],
    *,
    replaced: bool,
) -> str:
    """The message that opens a round. `left` is what remains of each budget; `failures` the last check's."""
    lines = [
        "<goal_round>",
        f"Objective: {inert_json(goal.objective)}",
        f"Goal: {goal.id}, revision {goal.revision}",
        f"Round: {number}/{goal.max_rounds}",
    ]
    if replaced:
        lines.append("This objective replaces the earlier one.")
    if goal.checks:
        lines.append(
            f"It counts as complete when {len(goal.checks)} checks of the user pass; they are run for you."
        )
    lines += [f"Left of {name}: {value:g}" for name, value in left.items()]
    lines += [
        f"Not passed yet: {r.kind} {r.check_id} ({r.status}) {inert_json(r.evidence)}" for r in failures
    ]
    lines += [_GO_ON, "</goal_round>"]
    return "\n".join(lines)


def closing_text(goal: Goal, *, verified: bool) -> str:
    """The one instruction after the model's own complete or blocked."""
    if goal.phase == "complete":
        proof = "The checks passed." if verified else "No check was set, so nothing was verified."
        return (
            f"The goal is complete. {proof} Tell the user in a few words what was done, how it was verified, "
            "and where the result is. Call no tool."
        )
    return (
        "The goal is blocked now. Tell the user in a few words what was done, what blocks it, and what you "
        "need from them. Call no tool."
    )


def inert_json(text: str) -> str:
    """Text as a JSON string in which no tag can stand."""
    return json.dumps(text, ensure_ascii=False).replace("<", "\\u003c").replace(">", "\\u003e")
