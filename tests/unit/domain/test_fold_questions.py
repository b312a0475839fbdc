"""The strict fold of questions: one at a time, before its call starts, closed once."""

from __future__ import annotations

import pytest

from steersman.domain import events as ev
from steersman.domain.fold import empty, fold
from steersman.domain.messages import Human, ToolCall
from steersman.domain.state import SessionState
from steersman.domain.usage import Usage
from steersman.errors import LogViolation

ASKED = ev.QuestionAsked(question_id="q1", call_id="a", turn=1, text="Which?", choices=["x", "y"])
ANSWERED = ev.QuestionAnswered(question_id="q1", answer="x", by="human")
START = ev.ToolStart(turn=1, step=1, call_id="a")
RESULT = ev.ToolResult(turn=1, step=1, call_id="a", outcome="error", content="")
BEFORE: list[ev.EventData] = [
    ev.SessionCreated(format_version=1, workspace_folder=None, title="t"),
    ev.SessionOpened(reason="new", server="s"),
    ev.InboxQueued(
        message_id="m",
        queue="next-turn",
        source=Human(),
        text="hi",
        method="turn/prompt",
        outcome="started",
    ),
    ev.TurnStart(turn=1, trigger="human"),
    ev.InboxClaimed(message_ids=["m"], turn=1, step=1),
    ev.StepStart(turn=1, step=1),
    ev.UserMessage(turn=1, step=1, message_id="m", source=Human(), text="hi"),
    ev.RequestHeader(turn=1, step=1, model="m", params={}, system="s", tools=[]),
    ev.AssistantMessage(
        turn=1,
        step=1,
        text="",
        tool_calls=[ToolCall(call_id=c, name="ask_user", arguments="{}") for c in ("a", "b")],
        finish_reason="tool_calls",
        usage=Usage(),
    ),
    ev.ToolCalled(turn=1, step=1, call_id="a", name="ask_user", arguments="{}", mode="exclusive"),
    ev.ToolCalled(turn=1, step=1, call_id="b", name="ask_user", arguments="{}", mode="exclusive"),
]


def folded(*more: ev.EventData) -> SessionState:
    state = empty("s")
    for data in (*BEFORE, *more):
        state = fold(state, ev.make_event("s", state.last_seq + 1, 1, data))
    return state


def approval(call_id: str) -> ev.ApprovalAsked:
    return ev.ApprovalAsked(
        approval_id="ap", call_id=call_id, turn=1, tool="t", title="t", detail="", risk="execute"
    )


def test_an_open_question_is_state_until_it_is_answered() -> None:
    assert folded(ASKED).question == ASKED
    assert folded(ASKED, ANSWERED).question is None
    state = folded(ASKED, ANSWERED, START)
    assert state.step is not None
    assert state.step.calls[0].status == "started"


@pytest.mark.parametrize("by", ["steer", "timeout", "cancelled"])
def test_a_question_can_be_closed_without_an_answer(by: ev.AnsweredBy) -> None:
    assert folded(ASKED, ev.QuestionAnswered(question_id="q1", answer=None, by=by)).question is None
    with pytest.raises(LogViolation, match="only a person answers"):
        folded(ASKED, ev.QuestionAnswered(question_id="q1", answer="x", by=by))


@pytest.mark.parametrize(
    ("events", "reason"),
    [
        ([ASKED, ev.QuestionAsked(question_id="q2", call_id="b", turn=1, text="?")], "another question"),
        ([ev.QuestionAsked(question_id="q1", call_id="a", turn=2, text="?")], "turn"),
        ([ev.QuestionAsked(question_id="q1", call_id="z", turn=1, text="?")], "there is no call z"),
        ([START, ASKED], "does not wait"),
        ([approval("a"), ASKED], "its approval is open"),
        ([ANSWERED], "is not open"),
        ([ASKED, ANSWERED, ANSWERED], "is not open"),
        ([ASKED, ev.QuestionAnswered(question_id="q2", answer="x", by="human")], "is not open"),
        ([ASKED, START], "its question is open"),
        ([ASKED, RESULT], "its question is open"),
    ],
)
def test_a_question_out_of_place_is_refused(events: list[ev.EventData], reason: str) -> None:
    with pytest.raises(LogViolation, match=reason):
        folded(*events)


def test_the_wire_names_are_those_of_the_contract() -> None:
    assert ev.TYPE_OF[ev.QuestionAsked] == "question/asked"
    assert ev.encode_data(ev.QuestionAnswered(question_id="q1", answer=None, by="steer")) == (
        b'{"questionId":"q1","answer":null,"by":"steer"}'
    )


CHECKED = ev.QuestionAsked(question_id="q1", call_id="a", turn=1, text="Yes?", check_id="check-1")


def test_the_question_of_a_check_is_asked_while_its_call_runs_and_only_then() -> None:
    state = folded(START, CHECKED, ANSWERED)
    assert state.question is None
    with pytest.raises(LogViolation, match="does not wait"):
        folded(CHECKED)
    with pytest.raises(LogViolation, match="its question is open"):
        folded(START, CHECKED, ev.ToolResult(turn=1, step=1, call_id="a", outcome="ok", content=""))


@pytest.mark.parametrize("check_id", [None, "check-1"])
def test_a_question_without_a_call_belongs_to_the_checks_of_a_prompt(check_id: str | None) -> None:
    with pytest.raises(LogViolation, match="no call"):
        folded(ev.QuestionAsked(question_id="q1", turn=1, text="?", check_id=check_id))


def test_a_question_outside_of_a_turn_is_not_in_the_log() -> None:
    with pytest.raises(LogViolation, match="turn"):
        folded(ev.QuestionAsked(question_id="q1", call_id="a", text="?"))


def test_a_deadline_that_came_first_is_remembered_for_the_turn() -> None:
    late = ev.QuestionAnswered(question_id="q1", answer=None, by="timeout")
    turn = folded(ASKED, late).turn
    assert turn is not None
    assert turn.unanswered
    denied = ev.ApprovalDecided(approval_id="ap", decision="deny", by="timeout")
    turn = folded(approval("a"), denied).turn
    assert turn is not None
    assert turn.unanswered
    turn = folded(ASKED, ANSWERED).turn
    assert turn is not None
    assert not turn.unanswered
