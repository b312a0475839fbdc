"""The texts that the host writes into a goal's turns. Pure. The objective is a JSON string."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

from steersman.domain.checks import CheckResult
from steersman.domain.goal import Goal
from steersman.domain.state import GoalRecord

_GO_ON = (
    "Continue working toward the objective in this same session. Do real work in this round: look, change, "
    "run the tests. When it is reached, call update_goal with action complete; if you cannot go on without "
    "the user, with action blocked, a short key and what you need."
)

_FILES: Final = 30
"""So many changed files are named."""


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
        lines.append(_counts_when(goal))
    lines += [f"Left of {name}: {value:g}" for name, value in left.items()]
    lines += [_not_passed(result) for result in failures]
    lines += [_GO_ON, "</goal_round>"]
    return "\n".join(lines)


def state_text(record: GoalRecord, goal: Goal) -> str:
    """The goal as it stands, for requests in which no round's message tells it any more."""
    found = record.verification
    failures = [r for r in found.results if r.status != "pass"] if found and found.verdict == "fail" else []
    lines = [
        "<goal_state>",
        f"Objective: {inert_json(goal.objective)}",
        f"Goal: {goal.id}, revision {goal.revision}",
        f"Round: {goal.rounds_started}/{goal.max_rounds}",
    ]
    if goal.checks:
        lines.append(_counts_when(goal))
    lines += [_not_passed(result) for result in failures]
    files = sorted(record.changed)
    if files:
        more = f" and {len(files) - _FILES} more" if len(files) > _FILES else ""
        lines.append(f"Files changed for it: {', '.join(inert_json(f) for f in files[:_FILES])}{more}")
    return "\n".join((*lines, "</goal_state>"))


def _counts_when(goal: Goal) -> str:
    return f"It counts as complete when {len(goal.checks)} checks of the user pass; they are run for you."


def _not_passed(result: CheckResult) -> str:
    name, evidence = inert_json(result.check_id), inert_json(result.evidence)
    return f"Not passed yet: {result.kind} {name} ({result.status}) {evidence}"


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
