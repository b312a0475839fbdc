"""Reducers for tool calls, their approvals and their edits: one result a call, in the model's order."""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from steersman.domain import events as ev
from steersman.domain.fold_goal import called_in_goal, changed_in_goal
from steersman.domain.fold_rules import nobody_answered, open_step, refuse, require, started_call, with_step
from steersman.domain.state import OpenCall, OpenStep, ResultEntry, SessionState

NEEDS_START: Final = frozenset({"ok", "timeout", "aborted", "unknown"})
FORBIDS_START: Final = frozenset({"aborted-before-dispatch", "not-started", "denied"})


def _set_call(step: OpenStep, changed: OpenCall) -> OpenStep:
    return replace(step, calls=tuple(changed if c.call_id == changed.call_id else c for c in step.calls))


def _find(step: OpenStep, event: ev.Event, call_id: str) -> OpenCall:
    for call in step.calls:
        if call.call_id == call_id:
            return call
    refuse(event, f"there is no call {call_id}")


def _require_decided(state: SessionState, event: ev.Event, call_id: str) -> None:
    """Nothing happens to a call while a person is asked about it."""
    approval, question = state.approval, state.question
    require(approval is None or approval.call_id != call_id, event, "its approval is open")
    require(question is None or question.call_id != call_id, event, "its question is open")


def _called(state: SessionState, event: ev.Event, data: ev.ToolCalled) -> SessionState:
    turn, step = open_step(state, event, data.turn, data.step)
    if not step.unlogged:
        refuse(event, "the model asked for no further call")
    asked = step.unlogged[0]
    same = (asked.call_id, asked.name, asked.arguments) == (data.call_id, data.name, data.arguments)
    require(same, event, f"not the next call that the model asked for ({asked.call_id})")
    call = OpenCall(call_id=data.call_id, name=data.name, arguments=data.arguments, mode=data.mode)
    state = called_in_goal(state, data.name, data.arguments)
    return with_step(state, turn, replace(step, calls=(*step.calls, call)))


def _started(state: SessionState, event: ev.Event, data: ev.ToolStart) -> SessionState:
    turn, step = open_step(state, event, data.turn, data.step)
    require(not step.unlogged, event, "the whole batch is logged before a call starts")
    call = _find(step, event, data.call_id)
    require(call.status == "called", event, f"call {data.call_id} was started before")
    _require_decided(state, event, data.call_id)
    return with_step(state, turn, _set_call(step, replace(call, status="started")))


def _result(state: SessionState, event: ev.Event, data: ev.ToolResult) -> SessionState:
    turn, step = open_step(state, event, data.turn, data.step)
    require(not step.unlogged, event, "the whole batch is logged before a result")
    if not step.unanswered:
        refuse(event, "every call has its result")
    call = step.unanswered[0]
    require(call.call_id == data.call_id, event, f"the next result belongs to {call.call_id}")
    if data.outcome in NEEDS_START:
        require(call.status == "started", event, f"outcome {data.outcome} of a call that never started")
    if data.outcome in FORBIDS_START:
        require(call.status == "called", event, f"outcome {data.outcome} of a call that had started")
    _require_decided(state, event, data.call_id)
    entry = ResultEntry(call_id=data.call_id, content=data.content, seq=event.seq)
    seen = state.seen.update(data.seen) if data.seen else state.seen
    state = replace(state, history=state.history.append(entry), seen=seen)
    return with_step(state, turn, _set_call(step, replace(call, status="done")))


def _asked(state: SessionState, event: ev.Event, data: ev.ApprovalAsked) -> SessionState:
    require(state.approval is None, event, "another approval is open")
    step = state.step
    if step is None:
        refuse(event, "no step is open")
    call = _find(step, event, data.call_id)
    require(call.status == "called", event, "the call does not wait")
    return replace(state, approval=data)


def _decided(state: SessionState, event: ev.Event, data: ev.ApprovalDecided) -> SessionState:
    asked = state.approval
    if asked is None or asked.approval_id != data.approval_id:
        refuse(event, f"approval {data.approval_id} is not open")
    allowed = state.allowed
    if data.decision == "allowSession" and asked.remember is not None and asked.risk != "destructive":
        allowed = allowed | {asked.remember}
    state = replace(state, approval=None, allowed=allowed)
    return nobody_answered(state) if data.by == "timeout" else state


def _edit(state: SessionState, event: ev.Event, data: ev.EditPlanned | ev.EditApplied) -> SessionState:
    started_call(state, event, data.call_id)
    return changed_in_goal(state, data) if isinstance(data, ev.EditApplied) else state


TOOL_REDUCERS: Final[dict[type[ev.EventData], Any]] = {
    ev.ToolCalled: _called,
    ev.ToolStart: _started,
    ev.ToolResult: _result,
    ev.ApprovalAsked: _asked,
    ev.ApprovalDecided: _decided,
    ev.EditPlanned: _edit,
    ev.EditApplied: _edit,
}
