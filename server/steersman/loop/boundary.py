"""Decisions at the end of a step: go on in this turn, end it, or end it and open the next one.

Made inside one commit, on the state as it is then – so a steer that came a moment before is seen, and one
that comes a moment after finds the turn ended.
"""

from __future__ import annotations

import msgspec

from steersman.context.goal_text import closing_text
from steersman.domain import events as ev
from steersman.domain.ids import new_id
from steersman.domain.messages import HeldReason, Notice
from steersman.domain.state import SessionState, Waiting
from steersman.domain.usage import Usage
from steersman.loop.abort import AbortSignal
from steersman.loop.inbox import HeaderSource, open_step, open_turn
from steersman.loop.journal import Decision
from steersman.policies.seam import Verdict


class StepOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a step came to. `tail` are its last events, committed together with what follows from them.

    `goes_on`: tools ran, so the model is asked again. `end`: the turn ends whatever waits.
    """

    tail: tuple[ev.EventData, ...]
    usage: Usage
    goes_on: bool = False
    end: ev.EndReason | None = None
    notices: tuple[tuple[str, str], ...] = ()


def decide_boundary(
    state: SessionState,
    outcome: StepOutcome,
    verdict: Verdict | None,
    abort: AbortSignal,
    header: HeaderSource,
) -> Decision[None]:
    """The events from the step's last results to the next step, the next turn, or idleness."""
    turn, step = state.turn, state.step
    if turn is None or step is None:
        raise AssertionError("a boundary needs an open step")
    events: list[ev.EventData] = [
        *outcome.tail,
        ev.StepEnd(turn=turn.number, step=step.number, usage=outcome.usage),
    ]
    notices = outcome.notices
    end = outcome.end or _withdrawn(state)
    if state.goals.closing and state.goal is not None and end is None:
        verified = state.goals.verification is not None and state.goals.verification.verdict == "pass"
        notices = (*notices, (f"goal_{state.goal.phase}", closing_text(state.goal, verified=verified)))
    if abort.cause is not None:
        end = ev.AbortedReason(by=abort.cause)
    elif end is None and verdict is not None:
        events.append(verdict.event())
        if verdict.ends_turn:
            end = ev.Exit(policy=verdict.policy)
        elif verdict.action == "remind":
            notices = (*notices, (verdict.policy, verdict.message))
    if end is None and (outcome.goes_on or notices or state.inbox.next_step):
        number = step.number + 1
        told = tuple(_notice(turn.number, number, name, text) for name, text in notices)
        events += open_step(state, turn.number, number, state.inbox.next_step, told, header)
        return Decision(events, None)
    return Decision([*events, *_end_turn(state, end or ev.Completed(), abort, header)], None)


def _withdrawn(state: SessionState) -> ev.EndReason | None:
    """A round whose goal a person paused, completed or cleared takes no further step."""
    turn, goal = state.turn, state.goal
    if turn is None or turn.round is None:
        return None
    if goal is not None and goal.id == turn.round.goal_id:
        by_model = state.goals.changed_by == "model"
        if goal.phase == "active" or by_model:
            return None
        return ev.Exit(policy="goal-complete" if goal.phase == "complete" else "goal-paused")
    return ev.Exit(policy="goal-paused")


def _notice(turn: int, step: int, name: str, text: str) -> ev.UserMessage:
    return ev.UserMessage(turn=turn, step=step, message_id=new_id("n"), source=Notice(name=name), text=text)


def _end_turn(
    state: SessionState, reason: ev.EndReason, abort: AbortSignal, header: HeaderSource
) -> list[ev.EventData]:
    """`turn/end`, what happens to people's waiting messages, and the turn that starts from them."""
    number = state.turns
    events: list[ev.EventData] = [ev.TurnEnd(turn=number, reason=reason)]
    steers = state.inbox.human_steers
    if steers:
        events.append(ev.InboxMoved(message_ids=[m.message_id for m in steers], queue="next-turn"))
    queue = (*steers, *state.inbox.next_turn)
    notices = tuple(m for m in state.inbox.next_step if not m.is_human)
    held = state.inbox.held
    if not queue:
        return events
    if isinstance(reason, ev.AbortedReason):
        # Words that came after the signal act as if the turn had ended; at a shutdown nothing starts.
        ending = reason.by == "shutdown"
        starters = () if ending else _after_stop(state, steers)
        released = abort.words_after and not ending
        if released and held is None:
            starters = queue[:1]
        rest = len(queue) > len(starters)
        if rest and held is None and not released:
            events.append(ev.InboxHeld(reason="restart" if ending else "cancelled"))
    else:
        # A round is nobody's words: when it fails, people's messages need not wait for a release.
        failed = None if state.turn is not None and state.turn.round is not None else _holds(reason)
        if failed is not None and held is None:
            events.append(ev.InboxHeld(reason=failed))
        starters = () if failed is not None or held is not None else queue[:1]
    if starters:
        events += open_turn(state, (*starters, *notices), header)
    return events


def _after_stop(state: SessionState, steers: tuple[Waiting, ...]) -> tuple[Waiting, ...]:
    """Steers that came after the stop: they act as if the turn had ended already, and start one."""
    receipts = state.inbox.receipts
    return tuple(m for m in steers if receipts[m.message_id].outcome == "queued")


def _holds(reason: ev.EndReason) -> HeldReason | None:
    match reason:
        case ev.ErrorReason() | ev.MaxTokens():
            return "error"
        case ev.Exit():
            return "exit"
        case _:
            return None
