"""Reducers for turns, steps, and what the model was told and said."""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from steersman.domain import events as ev
from steersman.domain.fold_goal import a_person_spoke, after_turn
from steersman.domain.fold_rules import open_step, open_turn, refuse, require, spent, with_step
from steersman.domain.messages import GoalSource, Human, Notice
from steersman.domain.state import AssistantEntry, EndedTurn, OpenStep, OpenTurn, SessionState, UserEntry
from steersman.domain.usage import Usage, add

FIRST_WORDS = 80
"""How much of the first prompt serves as a title, in code points."""


def _turn_start(state: SessionState, event: ev.Event, data: ev.TurnStart) -> SessionState:
    require(state.turn is None, event, "a turn is open already")
    require(data.turn == state.turns + 1, event, f"turn {data.turn} does not follow {state.turns}")
    pending = state.goals.pending
    if data.trigger == "goal":
        require(pending is not None and pending.claimed, event, "no round was claimed")
    turn = OpenTurn(number=data.turn, trigger=data.trigger, started_at=event.time)
    return replace(state, turn=turn, turns=data.turn)


def _turn_end(state: SessionState, event: ev.Event, data: ev.TurnEnd) -> SessionState:
    turn = open_turn(state, event, data.turn)
    require(turn.open_step is None, event, "a step is still open")
    require(not turn.claimed, event, "a claimed message was not told to the model")
    require(turn.trigger != "goal" or turn.round is not None, event, "its round was never admitted")
    ended = EndedTurn(number=turn.number, reason=data.reason, round=turn.round, verdict=turn.verdict)
    return after_turn(replace(state, turn=None, last_turn=ended), turn, data.reason)


def _step_start(state: SessionState, event: ev.Event, data: ev.StepStart) -> SessionState:
    turn = open_turn(state, event, data.turn)
    require(turn.open_step is None, event, "a step is open already")
    require(data.step == turn.step + 1, event, f"step {data.step} does not follow {turn.step}")
    if state.goals.closing:
        state = replace(state, goals=replace(state.goals, closing=False))
    return replace(
        state, turn=replace(turn, step=data.step, open_step=OpenStep(number=data.step, first_seq=event.seq))
    )


def _step_end(state: SessionState, event: ev.Event, data: ev.StepEnd) -> SessionState:
    turn, step = open_step(state, event, data.turn, data.step)
    require(not step.unlogged and not step.unanswered, event, "a call has no result")
    require(state.approval is None, event, "an approval is open")
    require(state.question is None, event, "a question is open")
    require(not turn.claimed, event, "a claimed message was not told to the model")
    require(_covers(data.usage, step.usage), event, "the usage is less than its requests told")
    state = spent(with_step(state, turn, None), data.usage)
    goals = state.goals
    if goals.current is not None and goals.current.unfinished:
        state = replace(state, goals=replace(goals, steps=goals.steps + 1))
    return state


def _covers(total: Usage, part: Usage) -> bool:
    return (
        total.requests >= part.requests
        and total.input_tokens >= part.input_tokens
        and total.output_tokens >= part.output_tokens
    )


def _user_message(state: SessionState, event: ev.Event, data: ev.UserMessage) -> SessionState:
    turn, step = open_step(state, event, data.turn, data.step)
    require(not step.replied, event, "the model has answered already")
    claimed = turn.claimed
    if claimed and claimed[0].message_id == data.message_id:
        told = claimed[0]
        require(told.source == data.source and told.text == data.text, event, "differs from what was queued")
        turn = replace(turn, claimed=claimed[1:])
    elif not isinstance(data.source, Notice):
        refuse(event, "this message was not claimed")
    if isinstance(data.source, Human):
        state = a_person_spoke(state)
        if turn.human_step is None:
            turn = replace(turn, human_step=data.step)
    entry = UserEntry(text=data.text, source=data.source, context=data.context, seq=event.seq)
    if isinstance(data.source, GoalSource):
        state = replace(state, round_told=entry)
    if isinstance(data.source, Human) and not state.first_words:
        state = replace(state, first_words=" ".join(data.text.split())[:FIRST_WORDS])
    return replace(state, turn=turn, history=state.history.append(entry))


def _request_header(state: SessionState, event: ev.Event, data: ev.RequestHeader) -> SessionState:
    _, step = open_step(state, event, data.turn, data.step)
    require(not step.replied, event, "the model has answered already")
    last = state.header
    if last is not None:
        same = replace(data, turn=last.turn, step=last.step) == last
        require(not same, event, "equal to the last header")
    return replace(state, header=data)


def _chunk(state: SessionState, event: ev.Event, data: ev.AssistantChunk) -> SessionState:
    _, step = open_step(state, event, data.turn, data.step)
    require(not step.replied, event, "the model has answered already")
    return state


def _assistant_message(state: SessionState, event: ev.Event, data: ev.AssistantMessage) -> SessionState:
    turn, step = open_step(state, event, data.turn, data.step)
    require(not step.replied, event, "the model has answered already")
    require(not (data.interrupted and data.tool_calls), event, "an interrupted reply calls no tool")
    header = state.header
    if header is None:
        refuse(event, "no request was made")
    seen = state.call_ids
    for call in data.tool_calls:
        require(call.call_id not in seen, event, f"call id {call.call_id} was used before")
        seen = seen.set(call.call_id, True)
    if data.text or data.tool_calls:
        entry = AssistantEntry(
            text=data.text,
            tool_calls=tuple(data.tool_calls),
            model=header.model,
            reasoning=data.reasoning,
            reasoning_field=data.reasoning_field,
            seq=event.seq,
        )
        state = replace(state, history=state.history.append(entry))
    step = replace(step, replied=True, announced=tuple(data.tool_calls), usage=add(step.usage, data.usage))
    cut = data.finish_reason == "length"
    turn = replace(turn, cut_replies=turn.cut_replies + 1 if cut else 0)
    state = replace(state, call_ids=seen)
    if data.usage.input_tokens:
        used = data.usage.input_tokens + data.usage.output_tokens
        state = replace(
            state, context_tokens=used, context_estimated=data.usage.estimated, measured_seq=event.seq
        )
    return with_step(state, turn, step)


def _model_retry(state: SessionState, event: ev.Event, data: ev.ModelRetry) -> SessionState:
    if data.purpose == "summary":
        where = (state.turn.number, state.turn.step) if state.turn else (None, None)
        require((data.turn, data.step) == where, event, "it belongs to another turn or step")
        return spent(state, data.usage or Usage())
    turn, step = open_step(state, event, data.turn, data.step)
    require(not step.replied, event, "the model has answered already")
    require(data.attempt == step.retries + 1, event, f"attempt {data.attempt} does not follow {step.retries}")
    usage = add(step.usage, data.usage) if data.usage else step.usage
    return with_step(state, turn, replace(step, retries=data.attempt, usage=usage))


TURN_REDUCERS: Final[dict[type[ev.EventData], Any]] = {
    ev.TurnStart: _turn_start,
    ev.TurnEnd: _turn_end,
    ev.StepStart: _step_start,
    ev.StepEnd: _step_end,
    ev.UserMessage: _user_message,
    ev.RequestHeader: _request_header,
    ev.AssistantChunk: _chunk,
    ev.AssistantMessage: _assistant_message,
    ev.ModelRetry: _model_retry,
}
