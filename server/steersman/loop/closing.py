"""Closing an open turn from the outside: every call gets its result, the step and the turn their end.

Used after a crash (recovery) and after an error of our own. Pure; nothing is ever run again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from steersman.domain import events as ev
from steersman.domain.messages import HeldReason
from steersman.domain.state import OpenStep, SessionState
from steersman.loop.stale import people_in_turn_queue, stale_round

NOT_STARTED: Final = "The server stopped before this call started. Nothing happened; it is safe to repeat."
UNKNOWN: Final = (
    "The server stopped while this call ran. Whether it took effect is unknown: look before you repeat it."
)


def close_turn(
    state: SessionState,
    reason: ev.EndReason,
    *,
    held: HeldReason = "error",
    findings: Mapping[str, str] | None = None,
    interrupted: ev.AssistantMessage | None = None,
) -> list[ev.EventData]:
    """The events that close whatever is open in `state`, in a valid order; none if nothing is.

    `findings` says for a started call what was found out about its effect. `interrupted` is what the model
    had said when the turn broke off, if its message was not logged.
    """
    events: list[ev.EventData] = []
    turn = state.turn
    if turn is not None:
        if turn.open_step is None and turn.claimed:
            events.append(ev.StepStart(turn=turn.number, step=turn.step + 1))
        if state.approval is not None:
            decided = ev.ApprovalDecided(
                approval_id=state.approval.approval_id, decision="deny", by="cancelled"
            )
            events.append(decided)
        if state.question is not None:
            withdrawn = ev.QuestionAnswered(
                question_id=state.question.question_id, answer=None, by="cancelled"
            )
            events.append(withdrawn)
        number = turn.open_step.number if turn.open_step else turn.step + 1
        events += [
            ev.UserMessage(
                turn=turn.number,
                step=number,
                message_id=m.message_id,
                source=m.source,
                text=m.text,
                context=m.context,
            )
            for m in turn.claimed
        ]
        if turn.open_step is not None:
            events += _close_step(turn.number, turn.open_step, findings or {}, interrupted)
        elif turn.claimed:
            events.append(ev.StepEnd(turn=turn.number, step=number, usage=OpenStep(number=number).usage))
        events.append(ev.TurnEnd(turn=turn.number, reason=reason))
    return [*events, *hold_queue(state, held, "the server was restarted")]


def hold_queue(state: SessionState, held: HeldReason, why: str) -> list[ev.EventData]:
    """People's waiting steers go to the front of next-turn, and the queue is held. Empty: nothing.

    `why` is told of a goal round that waited.
    """
    events = stale_round(state, why)
    steers = state.inbox.human_steers
    if steers:
        events.append(ev.InboxMoved(message_ids=[m.message_id for m in steers], queue="next-turn"))
    if (steers or people_in_turn_queue(state)) and state.inbox.held is None:
        events.append(ev.InboxHeld(reason=held))
    return events


def _close_step(
    turn: int,
    step: OpenStep,
    findings: Mapping[str, str],
    interrupted: ev.AssistantMessage | None,
) -> list[ev.EventData]:
    events: list[ev.EventData] = []
    usage = step.usage
    if interrupted is not None and not step.replied:
        events.append(interrupted)
        usage = usage + interrupted.usage
    events += [
        ev.ToolCalled(
            turn=turn,
            step=step.number,
            call_id=call.call_id,
            name=call.name,
            arguments=call.arguments,
            mode="exclusive",
        )
        for call in step.unlogged
    ]
    for call in step.unanswered:
        running = call.status == "started"
        content = findings.get(call.call_id, UNKNOWN) if running else NOT_STARTED
        events.append(
            ev.ToolResult(
                turn=turn,
                step=step.number,
                call_id=call.call_id,
                outcome="unknown" if running else "not-started",
                content=content,
            )
        )
    events += [
        ev.ToolResult(
            turn=turn,
            step=step.number,
            call_id=call.call_id,
            outcome="not-started",
            content=NOT_STARTED,
        )
        for call in step.unlogged
    ]
    events.append(ev.StepEnd(turn=turn, step=step.number, usage=usage))
    return events
