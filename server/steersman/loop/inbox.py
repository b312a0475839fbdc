"""Decisions on the inbox: what a prompt, a steer, a stop or an edit of the queue does to the present state.

All pure and synchronous. `busy` is what the log does not say: maintenance runs, so no turn may start yet.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from steersman.domain import events as ev
from steersman.domain.checks import Check
from steersman.domain.messages import ContextItem, Human, Notice, Outcome, PromptMethod
from steersman.domain.state import SessionState, Waiting
from steersman.errors import InvalidParams, TurnMismatch
from steersman.loop.journal import Decision
from steersman.loop.stale import people_in_turn_queue, stale_round

HeaderSource = Callable[[SessionState, int, int], ev.RequestHeader]
"""Gives the request header of a turn and step as the settings are now."""


class Words(msgspec.Struct, frozen=True, kw_only=True):
    """What a person sent. `after_stop`: the turn's signal was set already when it arrived."""

    message_id: str
    text: str
    context: list[ContextItem] | None = None
    checks: list[Check] | None = None
    expected_turn: int | None = None
    after_stop: bool = False


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a person's words."""

    message_id: str
    outcome: Outcome
    turn: int | None


def repeated(state: SessionState, words: Words, method: PromptMethod) -> Receipt | None:
    """The first answer, if this message id was used before with the same method and text.

    Raises:
        InvalidParams: the id was used for something else.
    """
    first = state.inbox.receipts.get(words.message_id)
    if first is None:
        return None
    if (first.method, first.text) != (method, words.text):
        raise InvalidParams(
            f"messageId {words.message_id!r} was used before for another message; send a new id",
            ["$.messageId: used before with another method or text"],
        )
    return Receipt(message_id=words.message_id, outcome=first.outcome, turn=first.turn)


def decide_prompt(
    state: SessionState, words: Words, header: HeaderSource, *, busy: bool = False
) -> Decision[Receipt]:
    """A prompt starts a turn when idle, and waits behind what waits otherwise. It releases a held queue."""
    if (first := repeated(state, words, "turn/prompt")) is not None:
        return Decision((), first)
    idle = state.turn is None and not busy
    starts = idle and state.inbox.held is None
    turn = state.turns + 1 if starts else None
    outcome: Outcome = "started" if starts else "queued"
    queued = _queued(words, "turn/prompt", outcome, turn)
    events: list[ev.EventData] = [queued]
    if state.inbox.held is not None:
        events.append(ev.InboxReleased())
    if idle:
        people = people_in_turn_queue(state)
        first_message = people[0] if people else waiting(queued)
        events += stale_round(state, "a person's message goes first")
        events += open_turn(state, (first_message, *state.inbox.next_step), header)
    return Decision(events, Receipt(message_id=words.message_id, outcome=outcome, turn=turn))


def decide_steer(
    state: SessionState, words: Words, header: HeaderSource, *, busy: bool = False
) -> Decision[Receipt]:
    """A steer joins the running turn at its next step, or starts a turn, ahead of a held queue."""
    if (first := repeated(state, words, "turn/steer")) is not None:
        return Decision((), first)
    running = state.turn.number if state.turn else None
    check_turn(words.expected_turn, running)
    if running is None and not busy:
        turn = state.turns + 1
        queued = _queued(words, "turn/steer", "startedTurn", turn)
        claimed = (*state.inbox.next_step, waiting(queued))
        stale = stale_round(state, "a person's message goes first")
        opened = [queued, *stale, *open_turn(state, claimed, header)]
        return Decision(opened, Receipt(message_id=words.message_id, outcome="startedTurn", turn=turn))
    waits = words.after_stop or busy
    outcome: Outcome = "queued" if waits else "injected"
    queued = _queued(words, "turn/steer", outcome, None if waits else running)
    events = [queued, *_withdraw_question(state, words)]
    return Decision(events, Receipt(message_id=words.message_id, outcome=outcome, turn=queued.turn))


def _withdraw_question(state: SessionState, words: Words) -> list[ev.EventData]:
    """A person who writes need not answer: the open question is withdrawn. After a stop it is already."""
    if state.question is None or words.after_stop:
        return []
    return [ev.QuestionAnswered(question_id=state.question.question_id, answer=None, by="steer")]


def decide_notice(message_id: str, name: str, text: str) -> Decision[None]:
    """A notice of the host waits for the next step and wakes nobody."""
    queued = ev.InboxQueued(
        message_id=message_id,
        queue="next-step",
        source=Notice(name=name),
        text=text,
        method="inject",
        outcome="queued",
    )
    return Decision([queued], None)


def decide_stop(state: SessionState, *, drop: bool) -> Decision[None]:
    """What a stop does to the queue: it holds what waited, or drops what people had queued."""
    if drop:
        waits = (*state.inbox.next_turn, *state.inbox.human_steers)
        removed = [ev.InboxRemoved(message_id=m.message_id, reason="cancelled") for m in waits if m.is_human]
        return Decision(removed, None)
    if state.inbox.next_turn and state.inbox.held is None:
        return Decision([ev.InboxHeld(reason="cancelled")], None)
    return Decision((), None)


def decide_remove(state: SessionState, message_id: str) -> Decision[bool]:
    message = state.inbox.find(message_id)
    if message is None or not message.is_human:
        return Decision((), False)
    return Decision([ev.InboxRemoved(message_id=message_id, reason="withdrawn")], True)


def decide_update(state: SessionState, message_id: str, text: str) -> Decision[bool]:
    message = state.inbox.find(message_id)
    if message is None or not message.is_human:
        return Decision((), False)
    return Decision([ev.InboxEdited(message_id=message_id, text=text)], True)


def decide_release(state: SessionState, header: HeaderSource, *, busy: bool = False) -> Decision[int]:
    """Let held messages run, in order. The answer is how many were held."""
    if state.inbox.held is None:
        return Decision((), 0)
    events: list[ev.EventData] = [ev.InboxReleased()]
    if state.turn is None and not busy:
        events += open_turn(state, (state.inbox.next_turn[0], *state.inbox.next_step), header)
    return Decision(events, len(state.inbox.next_turn))


def open_turn(state: SessionState, claimed: tuple[Waiting, ...], header: HeaderSource) -> list[ev.EventData]:
    """Everything from `turn/start` to `request/header`, for one commit."""
    turn = state.turns + 1
    return [ev.TurnStart(turn=turn, trigger="human"), *open_step(state, turn, 1, claimed, (), header)]


def open_step(
    state: SessionState,
    turn: int,
    step: int,
    claimed: tuple[Waiting, ...],
    notices: tuple[ev.UserMessage, ...],
    header: HeaderSource,
) -> list[ev.EventData]:
    """The claim, the step's start, what the model is told, and the header where it differs."""
    events: list[ev.EventData] = []
    if claimed:
        events.append(ev.InboxClaimed(message_ids=[m.message_id for m in claimed], turn=turn, step=step))
    events.append(ev.StepStart(turn=turn, step=step))
    events += [
        ev.UserMessage(
            turn=turn, step=step, message_id=m.message_id, source=m.source, text=m.text, context=m.context
        )
        for m in claimed
    ]
    events += notices
    wanted = header(state, turn, step)
    last = state.header
    if last is None or msgspec.structs.replace(wanted, turn=last.turn, step=last.step) != last:
        events.append(wanted)
    return events


def check_turn(expected: int | None, running: int | None) -> None:
    """Raises TurnMismatch where the client meant another turn than the one that runs."""
    if expected is not None and expected != running:
        now = f"turn {running} is running" if running is not None else "no turn is running"
        raise TurnMismatch(f"turn {expected} was meant, but {now}", turn=running)


def waiting(queued: ev.InboxQueued) -> Waiting:
    """The message as the fold will hold it (its time is not known before the commit)."""
    return Waiting(
        message_id=queued.message_id,
        text=queued.text,
        source=queued.source,
        queued_at=0,
        context=queued.context,
        checks=queued.checks,
    )


def _queued(words: Words, method: PromptMethod, outcome: Outcome, turn: int | None) -> ev.InboxQueued:
    return ev.InboxQueued(
        message_id=words.message_id,
        queue="next-turn" if method == "turn/prompt" else "next-step",
        source=Human(),
        text=words.text,
        method=method,
        outcome=outcome,
        context=words.context,
        checks=words.checks,
        turn=turn,
    )
