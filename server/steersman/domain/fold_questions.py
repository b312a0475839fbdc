"""Reducers for questions to the person: one at a time, asked before its call starts, answered once."""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from steersman.domain import events as ev
from steersman.domain.fold_rules import nobody_answered, open_turn, refuse, require
from steersman.domain.state import SessionState


def _asked(state: SessionState, event: ev.Event, data: ev.QuestionAsked) -> SessionState:
    open_turn(state, event, data.turn)
    require(state.question is None, event, "another question is open")
    if data.call_id is None:
        _require_last_words(state, event, data)
        return replace(state, question=data)
    step = state.step
    calls = {call.call_id: call for call in step.calls} if step else {}
    call = calls.get(data.call_id)
    if call is None:
        refuse(event, f"there is no call {data.call_id}")
    wanted = "called" if data.check_id is None else "started"
    require(call.status == wanted, event, "the call does not wait")
    require(state.approval is None or state.approval.call_id != data.call_id, event, "its approval is open")
    return replace(state, question=data)


def _require_last_words(state: SessionState, event: ev.Event, data: ev.QuestionAsked) -> None:
    """A check of a prompt is asked when the model has asked for no tool."""
    turn, step = state.turn, state.step
    has_checks = turn is not None and bool(turn.checks)
    require(data.check_id is not None and has_checks, event, "it belongs to no call and to no check")
    silent = step is not None and step.replied and not step.announced
    require(silent, event, "the model has not said its last words")


def _answered(state: SessionState, event: ev.Event, data: ev.QuestionAnswered) -> SessionState:
    asked = state.question
    if asked is None or asked.question_id != data.question_id:
        refuse(event, f"question {data.question_id} is not open")
    require(data.answer is None or data.by == "human", event, "only a person answers")
    return (
        nobody_answered(replace(state, question=None))
        if data.by == "timeout"
        else replace(state, question=None)
    )


QUESTION_REDUCERS: Final[dict[type[ev.EventData], Any]] = {
    ev.QuestionAsked: _asked,
    ev.QuestionAnswered: _answered,
}
