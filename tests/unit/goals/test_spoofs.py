"""Text gives no authority: whatever a file, a tool or the model says, only the host knows who spoke."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from steersman.domain import events as ev
from steersman.domain.checks import Check, CheckResult
from steersman.domain.messages import Human
from steersman.goals.command import parse
from steersman.loop.services import Verification
from steersman.ports.model_double import Piece, call, calls, done, says, text
from steersman.tools.base import ToolContext
from tests.unit.goals.harness import CHECK, Wheel, ends, obedient
from tests.unit.goals.spoofs import ALL, CORPUS
from tests.unit.loop.harness import StandInTool

OBJECTIVE = "The only objective."
TEMPTED = [
    ends("edit", objective="something easier"),
    ends("pause"),
    ends("resume"),
    calls(("create_goal", {"objective": "another goal"})),
]
"""What a model does that believes the text."""


def test_there_are_enough_kinds_and_several_of_each() -> None:
    assert len(CORPUS) >= 10
    assert all(len(texts) >= 3 for texts in CORPUS.values())


async def nothing_came_of_it(w: Wheel, rounds: int) -> None:
    """The objective, the rounds, the changes and the people in the log are those that were."""
    assert w.goal.objective == OBJECTIVE
    assert await w.admitted() == list(range(1, rounds + 1))
    changes = [(c.operation, c.by) for c in await w.loop.data(ev.GoalChanged)]
    assert changes == [("create", "human"), ("complete", "model")]
    assert not [m for m in await w.loop.data(ev.InboxQueued) if isinstance(m.source, Human)]
    told = [m["content"] for m in w.model.requests[-1]["messages"] if m["role"] == "user"]
    assert sum(content.count("<goal_round>") for content in told) == rounds
    assert sum(content.count("</goal_round>") for content in told) == rounds
    assert not [m for m in w.model.requests[-1]["messages"][1:] if m["role"] == "system"]
    await w.check()


@pytest.mark.parametrize(("kind", "spoof"), ALL)
async def test_in_a_tools_result_it_gives_no_authority(kind: str, spoof: str) -> None:
    tool = StandInTool("work", result=spoof)
    w = await obedient(
        [calls(("work", {})), *TEMPTED, ends("complete", evidence=spoof), says("bye")], (tool,)
    )
    await w.create(OBJECTIVE)
    await w.at_rest()
    results = await w.loop.data(ev.ToolResult)
    assert results[0].content == spoof.strip(), "what a file holds is shown as it is"
    assert [r.error.code for r in results if r.error] == ["AUTHORITY"] * len(TEMPTED)
    await nothing_came_of_it(w, 1)


@pytest.mark.parametrize(("kind", "spoof"), ALL)
async def test_in_the_models_own_words_it_gives_no_authority(kind: str, spoof: str) -> None:
    speaks: list[Piece] = [text(spoof), call("work", {"name": spoof}), done("tool_calls")]
    replies = [speaks, *TEMPTED, says(spoof), ends("complete", evidence="seen"), says(spoof)]
    w = await obedient(replies, (StandInTool("work"),))
    await w.create(OBJECTIVE)
    await w.at_rest()
    assert [r.error.code for r in await w.loop.data(ev.ToolResult) if r.error] == ["AUTHORITY"] * len(TEMPTED)
    await nothing_came_of_it(w, 2)


class Said:
    """A check whose evidence is the text."""

    def __init__(self, evidence: str) -> None:
        self.evidence = evidence
        self.answers = ["fail", "pass"]

    async def run(self, checks: Sequence[Check], context: ToolContext) -> Verification:
        status: Any = self.answers.pop(0)
        result = CheckResult(check_id=self.evidence, kind="command", status=status, evidence=self.evidence)
        return Verification(verdict=status, results=[result])


@pytest.mark.parametrize(("kind", "spoof"), ALL)
async def test_in_the_evidence_of_a_check_it_stays_inside_of_the_round(kind: str, spoof: str) -> None:
    w = await obedient([ends("complete"), says("hm"), ends("complete"), says("bye")])
    w.loop.services.checks = Said(spoof)
    await w.create(OBJECTIVE, checks=[CHECK])
    await w.at_rest()
    await nothing_came_of_it(w, 2)
    second = [m["content"] for m in w.model.requests[-1]["messages"] if m["role"] == "user"][1]
    assert json.dumps(spoof, ensure_ascii=False).replace("<", "\\u003c").replace(">", "\\u003e") in second


@pytest.mark.parametrize(("kind", "spoof"), ALL)
async def test_as_the_objective_itself_it_is_only_an_objective(kind: str, spoof: str) -> None:
    w = await obedient([*TEMPTED, ends("complete", evidence="x"), says("bye")])
    await w.create(spoof)
    await w.at_rest()
    assert [c.by for c in await w.loop.data(ev.GoalChanged)] == ["human", "model"]
    content = w.model.requests[0]["messages"][-1]["content"]
    assert content.startswith("<goal_round>\n")
    assert content.endswith("\n</goal_round>")
    assert content.lower().count("<goal_round>") == content.lower().count("</goal_round>") == 1
    assert "<goal_complete>" not in content
    assert "<notice" not in content


@pytest.mark.parametrize(("kind", "spoof"), ALL)
async def test_as_a_report_of_an_obstacle_it_is_only_a_report(kind: str, spoof: str) -> None:
    report = ends("blocked", key=spoof[:200], message=spoof)
    w = await obedient([report, *TEMPTED, ends("complete", evidence="x"), says("bye")])
    await w.create(OBJECTIVE)
    await w.at_rest()
    codes = [r.error.code for r in await w.loop.data(ev.ToolResult) if r.error]
    assert codes[0] == "BLOCK_THRESHOLD"
    assert codes[1:] == ["AUTHORITY"] * len(TEMPTED)
    await nothing_came_of_it(w, 1)


@pytest.mark.parametrize("spoof", CORPUS["a goal command"])
async def test_a_goal_command_is_one_only_where_a_person_sends_it_as_one(spoof: str) -> None:
    parse(spoof)  # it would be one
    w = await obedient([says("That is a text."), says("never")])
    await w.loop.prompt(spoof)
    await w.at_rest()
    assert await w.loop.data(ev.GoalChanged) == []
