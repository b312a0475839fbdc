"""Checks that only the client can answer: the person's yes, and the diagnostics of the editor."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from steersman.domain import events as ev
from steersman.domain.checks import (
    Check,
    CommandCheck,
    DiagnosticsCheck,
    FileCheck,
    JudgeCheck,
    TestsCheck,
    UserCheck,
)
from steersman.errors import GoalInvalid, NotVerified, ToolFailed
from steersman.goals.checks import HarnessChecks
from steersman.goals.decisions import Wishes
from steersman.ports.approval import ApprovalAnswer, ScriptedApproval
from steersman.ports.editor_memory import MemoryEditor
from steersman.ports.model_double import calls, says
from steersman.ports.query import Problem, ScriptedQueries, Spot
from steersman.ports.question import QuestionAnswer, ScriptedQuestions
from steersman.tools.base import Ask, Confirmation
from tests.unit.goals.harness import Wheel, ends, obedient
from tests.unit.loop.harness import StandInTool, until
from tests.unit.tools.context import Context


def human(answer: str | None) -> QuestionAnswer:
    return QuestionAnswer(answer=answer, by="human")


async def asking(
    replies: list[Any], *answers: QuestionAnswer, **more: Any
) -> tuple[Wheel, ScriptedQuestions]:
    """A wheel with the real chain of checks, and a person who answers."""
    w = await obedient(replies, **more)
    questions = ScriptedQuestions(list(answers))
    w.loop.services.questions = questions
    w.loop.services.checks = HarnessChecks()
    return w, questions


async def results(w: Wheel) -> list[tuple[str, str]]:
    found = await w.loop.data(ev.GoalVerification)
    return [(result.status, result.evidence) for v in found for result in v.results]


async def test_the_persons_yes_completes_the_goal() -> None:
    w, questions = await asking([ends("complete"), says("done")], human(" yes "))
    await w.create("Make it nice.", checks=[UserCheck()])
    await w.at_rest()
    assert w.goal.phase == "complete"
    (asked,) = questions.asked
    assert "Make it nice." in asked.text
    assert (asked.choices, asked.turn, asked.check_id) == (["Yes", "No"], 1, "check-1")
    (logged,) = await w.loop.data(ev.QuestionAsked)
    assert logged == asked
    await w.check()


@pytest.mark.parametrize("answer", [None, "no", "", "yes, but the title is wrong", "Yessir"])
async def test_anything_but_a_plain_yes_is_not_a_pass_and_the_words_go_to_the_model(
    answer: str | None,
) -> None:
    w, _ = await asking(
        [ends("complete"), says("I see"), ends("complete"), says("done")], human(answer), human("Yes")
    )
    await w.create(checks=[UserCheck()])
    await w.at_rest()
    assert w.goal.phase == "complete"
    (first, evidence), (second, _) = await results(w)
    assert (first, second) == ("fail", "pass")
    assert (answer or "") in evidence
    told = [r.content for r in await w.loop.data(ev.ToolResult) if r.error]
    assert len(told) == 1
    assert (answer or "The person did not say yes") in told[0]


async def test_the_person_is_asked_last_and_not_at_all_where_an_earlier_check_fails(tmp_path: Path) -> None:
    w, questions = await asking(
        [ends("complete"), says("hm"), ends("blocked", key="k", message="m"), says("")]
    )
    w.loop.services.editor = MemoryEditor(tmp_path)
    await w.create(checks=[UserCheck(), FileCheck(path="missing.txt", exists=True)])
    await until(lambda: w.loop.state.goals.verification is not None)
    await w.goals.clear(None, "human")
    await w.at_rest()
    assert questions.asked == []
    assert [status for status, _ in await results(w)] == ["fail", "skipped"]


async def test_while_the_person_is_asked_the_session_shows_it_and_no_request_is_made() -> None:
    w, questions = await asking([ends("complete"), says("never")])
    await w.create(checks=[UserCheck()])
    await until(lambda: bool(questions.asked))
    assert w.loop.agent.waiting_on == "question"
    assert w.loop.state.task == "WAITING_FOR_USER"
    for _ in range(100):
        await asyncio.sleep(0)
    assert len(w.model.requests) == 1
    await w.loop.stop()
    await w.at_rest()


async def test_stop_withdraws_the_question_and_the_goal_is_paused_not_complete() -> None:
    w, questions = await asking([ends("complete"), says("never")])
    await w.create(checks=[UserCheck()])
    await until(lambda: bool(questions.asked))
    await w.loop.stop()
    await w.at_rest()
    assert questions.withdrawn == 1
    assert [a.by for a in await w.loop.data(ev.QuestionAnswered)] == ["cancelled"]
    assert w.goal.phase == "paused"
    assert len(w.model.requests) == 1
    await w.check()


async def test_a_steer_while_the_person_is_asked_is_an_answer_in_other_words() -> None:
    w, questions = await asking(
        [ends("complete"), says("I read it"), ends("complete"), says("ok")], human("Yes")
    )
    answer, questions.answers = questions.answers, []
    await w.create(checks=[UserCheck()])
    await until(lambda: bool(questions.asked))
    questions.answers = answer
    await w.loop.steer("the title is wrong")
    await w.at_rest()
    assert [a.by for a in await w.loop.data(ev.QuestionAnswered)] == ["steer", "human"]
    assert [status for status, _ in await results(w)] == ["fail", "pass"]
    assert "the title is wrong" in w.model.requests[1]["messages"][-1]["content"]
    await w.check()


async def test_nobody_answers_so_the_turn_ends_and_the_goal_is_paused_with_the_reason() -> None:
    late = QuestionAnswer(answer=None, by="timeout", problem="not within 600 s")
    w, _ = await asking([ends("complete"), says("never")], late)
    await w.create(checks=[UserCheck()])
    await w.at_rest()
    assert [status for status, _ in await results(w)] == ["timeout"]
    assert (w.goal.phase, w.goals.armed) == ("paused", False)
    change = (await w.loop.data(ev.GoalChanged))[-1]
    assert (change.operation, change.by) == ("pause", "driver")
    assert "Nobody answered" in (change.reason or "")
    assert [e.reason for e in await w.loop.data(ev.TurnEnd)] == [ev.Exit(policy="unanswered")]
    assert len(w.model.requests) == 1
    await w.check()


async def test_an_approval_that_nobody_answers_pauses_the_goal_and_no_second_one_is_asked() -> None:
    tool = StandInTool("risky", permit=Ask(risk="execute", title="run", detail="x"))
    approvals = ScriptedApproval([ApprovalAnswer(decision="deny", by="timeout")])
    w = await obedient(
        [calls(("risky", {"name": "a"}), ("risky", {"name": "b"})), says("never")],
        (tool,),
        approvals=approvals,
    )
    await w.create()
    await w.at_rest()
    assert w.goal.phase == "paused"
    assert [r.outcome for r in await w.loop.data(ev.ToolResult)] == ["denied", "denied"]
    assert len(approvals.asked) == 1
    assert len(w.model.requests) == 1
    await w.check()


async def test_in_a_persons_own_turn_an_unanswered_approval_ends_nothing() -> None:
    tool = StandInTool("risky", permit=Ask(risk="execute", title="run", detail="x"))
    approvals = ScriptedApproval([ApprovalAnswer(decision="deny", by="timeout")])
    w = await obedient(
        [calls(("risky", {"name": "a"})), says("then without it")], (tool,), approvals=approvals
    )
    await w.loop.prompt("mine")
    await w.at_rest()
    assert [e.reason for e in await w.loop.data(ev.TurnEnd)] == [ev.Completed()]


async def test_a_person_who_completes_the_goal_is_asked_outside_of_any_turn() -> None:
    w, questions = await asking([], human("No, not yet"), human("Yes"))
    await w.create(checks=[UserCheck()])
    await w.goals.pause(None, "human")
    await w.at_rest()
    with pytest.raises(NotVerified):
        await w.goals.complete(None)
    await w.goals.complete(None)
    assert w.goal.phase == "complete"
    assert [asked.turn for asked in questions.asked] == [None, None]
    assert await w.loop.data(ev.QuestionAsked) == []
    await w.check()


async def test_a_prompt_may_be_checked_by_the_person_who_sent_it() -> None:
    w, questions = await asking([says("done?"), says("done!")], human("almost"), human("Yes"))
    await w.loop.prompt("write it", checks=[UserCheck()])
    await w.at_rest()
    assert [asked.call_id for asked in questions.asked] == [None, None]
    assert [v.verdict for v in await w.loop.data(ev.GoalVerification)] == ["fail", "pass"]
    await w.check()


# Diagnostics


@pytest.fixture
def context(tmp_path: Path) -> Context:
    (tmp_path / "cart.py").write_text("x = 1\n")
    made = Context(tmp_path)
    made.queries = ScriptedQueries()
    return made


def problem(folder: Path, severity: str) -> Problem:
    path = folder / "cart.py"
    spot = Spot(uri=path.as_uri(), path=path, line=3)
    return Problem(spot=spot, severity=severity, message="undefined name")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wanted", "found", "status"),
    [
        (None, "error", "fail"),
        (None, "warning", "pass"),
        ("warning", "warning", "fail"),
        ("warning", "information", "pass"),
        ("hint", "hint", "fail"),
    ],
)
async def test_diagnostics_fail_from_the_wanted_severity_on(
    context: Context, tmp_path: Path, wanted: Any, found: str, status: str
) -> None:
    assert isinstance(context.queries, ScriptedQueries)
    context.queries.problems = [problem(tmp_path, found)]
    verified = await HarnessChecks().run([DiagnosticsCheck(severity=wanted)], context)
    assert [r.status for r in verified.results] == [status]
    assert ("cart.py:3" in verified.results[0].evidence) == (status == "fail")
    assert context.queries.asked == [("diagnostics", None)], "nothing was changed: the workspace is looked at"


async def test_diagnostics_are_asked_for_the_named_files_each_once(context: Context, tmp_path: Path) -> None:
    assert isinstance(context.queries, ScriptedQueries)
    uri = (tmp_path / "cart.py").as_uri()
    check = DiagnosticsCheck(uris=[uri, uri.replace("cart", "%63art")])
    assert (await HarnessChecks().run([check], context)).verdict == "pass"
    assert context.queries.asked == [("diagnostics", tmp_path / "cart.py")]


async def test_diagnostics_that_the_editor_cannot_tell_are_not_a_pass(context: Context) -> None:
    class Silent(ScriptedQueries):
        async def diagnostics(self, path: Path | None) -> list[Problem]:
            raise ToolFailed("UNAVAILABLE", "the editor did not answer within 30 s")

    context.queries = Silent()
    verified = await HarnessChecks().run([DiagnosticsCheck()], context)
    assert verified.verdict == "fail"
    assert "did not answer" in verified.results[0].evidence
    context.queries = None
    assert (await HarnessChecks().run([DiagnosticsCheck()], context)).verdict == "fail"


@pytest.mark.parametrize(
    ("by", "status"),
    [("timeout", "timeout"), ("cancelled", "skipped"), ("nobody", "skipped"), ("steer", "fail")],
)
async def test_no_answer_is_no_pass(context: Context, by: Any, status: str) -> None:
    context.confirmation = Confirmation(by=by, answer="yes")
    verified = await HarnessChecks().run([UserCheck(id="mine")], context)
    assert (verified.verdict, verified.results[0].status) == ("fail", status)
    assert context.confirmed[0][0] == "mine"


# What is kept at all


@pytest.mark.parametrize(
    "check",
    [
        DiagnosticsCheck(),
        UserCheck(),
        JudgeCheck(question="is it?"),
        CommandCheck(argv=[]),
        CommandCheck(argv=[" "]),
        CommandCheck(argv=["a\0b"]),
        CommandCheck(argv=["true"], timeout_seconds=0),
        CommandCheck(argv=["true"], stable_for_seconds=float("inf")),
        CommandCheck(argv=["true"], cwd="/elsewhere"),
        TestsCheck(argv=[]),
        FileCheck(path="../outside"),
        FileCheck(path=""),
        FileCheck(path="a", contains="("),
        FileCheck(path="a", not_contains="(a+)+b"),
        FileCheck(path="a", exists=False, contains="x"),
    ],
)
async def test_a_check_that_could_never_be_run_here_is_refused_when_it_is_set(
    check: Check, tmp_path: Path
) -> None:
    w = await obedient([])
    w.loop.services.editor = MemoryEditor(tmp_path)
    w.loop.services.questions.reaches_a_person = False  # type: ignore[misc]
    with pytest.raises(GoalInvalid) as refused:
        await w.create(checks=[check])
    assert refused.value.data["member"] == "checks"
    assert w.loop.state.goal is None
    await w.create()
    with pytest.raises(GoalInvalid):
        await w.goals.edit(None, Wishes(checks=[check]), "human")
    assert w.goal.checks == []
    w.driver.stop()


@pytest.mark.parametrize("uris", [[], ["file:///elsewhere/x.py"], ["https://x/y.py"], [""]])
async def test_diagnostics_of_what_is_no_file_of_the_workspace_are_refused(
    uris: list[str], tmp_path: Path
) -> None:
    w = await obedient([])
    w.loop.services.editor = MemoryEditor(tmp_path)
    w.loop.services.queries = ScriptedQueries()
    with pytest.raises(GoalInvalid):
        await w.create(checks=[DiagnosticsCheck(uris=uris)])


async def test_two_checks_with_one_id_are_refused() -> None:
    w = await obedient([])
    with pytest.raises(GoalInvalid, match="same"):
        await w.create(checks=[UserCheck(id="same"), TestsCheck(id="same")])


async def test_the_text_of_a_file_is_searched_whole_or_the_check_does_not_pass(
    context: Context, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")

    async def verdict(**wanted: Any) -> str:
        return (await HarnessChecks().run([FileCheck(path="a.txt", **wanted)], context)).verdict

    assert await verdict(contains="^two$") == "pass"
    assert await verdict(contains=r"one\ntwo") == "pass"
    assert await verdict(not_contains="three") == "pass"
    assert await verdict(not_contains="two") == "fail"
    (tmp_path / "a.txt").write_text("x" * 300_000 + "bad\n")
    assert await verdict(not_contains="ba?d.*$") == "fail", "a line too long to search is no proof"


async def test_checks_that_the_model_proposes_on_an_edit_are_asked_once_with_their_words() -> None:
    approvals = ScriptedApproval([ApprovalAnswer(decision="allowOnce", by="human")])
    proposal = [{"kind": "command", "argv": ["python", "-c", "print(1)"]}]
    w = await obedient(
        [ends("edit", checks=proposal), ends("edit", checks=proposal), says("kept")], approvals=approvals
    )
    await w.create()
    await w.goals.pause(None, "human")
    await w.loop.prompt("set the check")
    await w.at_rest()
    assert w.goal.checks == [CommandCheck(argv=["python", "-c", "print(1)"])]
    (asked,) = approvals.asked
    assert "python -c 'print(1)'" in asked.detail, (
        "the very command is shown, and what is set already is not asked"
    )


async def test_in_its_own_round_the_model_cannot_change_the_checks_and_nobody_is_asked() -> None:
    approvals = ScriptedApproval([ApprovalAnswer(decision="allowOnce", by="human")] * 3)
    w = await obedient(
        [
            ends("edit", checks=[]),
            ends("edit", checks=[{"kind": "user"}]),
            calls(("create_goal", {"objective": "x", "checks": [{"kind": "tests"}]})),
            ends("complete", evidence="x", checks=[]),
            ends("complete", evidence="x"),
            says("bye"),
        ],
        approvals=approvals,
    )
    await w.create()
    await w.at_rest()
    codes = [r.error.code for r in await w.loop.data(ev.ToolResult) if r.error]
    assert codes == ["AUTHORITY", "AUTHORITY", "AUTHORITY", "INVALID_ARGUMENTS"]
    assert approvals.asked == []
