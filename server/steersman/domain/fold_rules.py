"""What every reducer needs: how a rule is stated, and how one open step or call is changed."""

from __future__ import annotations

from typing import NoReturn

from msgspec.structs import replace

from steersman.domain.events import Event
from steersman.domain.state import OpenCall, OpenStep, OpenTurn, SessionState
from steersman.domain.usage import Usage, add
from steersman.errors import LogViolation


def require(condition: bool, event: Event, reason: str) -> None:
    """State a rule of the log. Raises LogViolation with the event's seq where it does not hold."""
    if not condition:
        refuse(event, reason)


def refuse(event: Event, reason: str) -> NoReturn:
    raise LogViolation(event.seq, f"{event.type}: {reason}")


def open_turn(state: SessionState, event: Event, turn: int | None) -> OpenTurn:
    """The open turn, which must be number `turn`."""
    if state.turn is None:
        refuse(event, "no turn is open")
    require(state.turn.number == turn, event, f"turn {turn} is not the open turn {state.turn.number}")
    return state.turn


def open_step(
    state: SessionState, event: Event, turn: int | None, step: int | None
) -> tuple[OpenTurn, OpenStep]:
    """The open turn and step, which must have these numbers."""
    current = open_turn(state, event, turn)
    if current.open_step is None:
        refuse(event, "no step is open")
    require(current.open_step.number == step, event, f"step {step} is not open")
    return current, current.open_step


def with_step(state: SessionState, turn: OpenTurn, step: OpenStep | None) -> SessionState:
    return replace(state, turn=replace(turn, open_step=step))


def nobody_answered(state: SessionState) -> SessionState:
    """A person was asked in this turn, and the deadline came first."""
    return state if state.turn is None else replace(state, turn=replace(state.turn, unanswered=True))


def started_call(state: SessionState, event: Event, call_id: str) -> OpenCall:
    """A call of the open step whose body runs."""
    step = state.step
    for call in step.calls if step else ():
        if call.call_id == call_id:
            require(call.status == "started", event, f"call {call_id} is not running")
            return call
    refuse(event, f"there is no call {call_id}")


def spent(state: SessionState, usage: Usage) -> SessionState:
    """Count usage: in the open step, whose end will tell its sum, or at once where none is open."""
    turn, step, goals = state.turn, state.step, state.goals
    if turn is not None and step is not None:
        return with_step(state, turn, replace(step, usage=add(step.usage, usage)))
    if goals.current is not None and goals.current.unfinished:
        goals = replace(goals, usage=add(goals.usage, usage))
    return replace(state, usage=add(state.usage, usage), goals=goals)
