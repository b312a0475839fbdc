"""Reducers for what was done to the context: from a compaction on, requests are built from less."""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace
from pyrsistent import PVector, pmap

from steersman.domain import events as ev
from steersman.domain.fold_rules import refuse, require, spent
from steersman.domain.messages import Human
from steersman.domain.state import Compaction, Entry, ResultEntry, SessionState, UserEntry


def condensed(state: SessionState, data: ev.ContextCompacted) -> SessionState:
    """The history as requests see it after `data`, which must be valid."""
    before = state.compaction or Compaction()
    gone, kept = split(state, data.through_seq)
    words = tuple(e for e in gone if isinstance(e, UserEntry) and isinstance(e.source, Human))
    compaction = Compaction(
        through_seq=data.through_seq,
        summary=data.summary,
        words=(*before.words, *words),
        words_limit=data.words_limit,
        results_through_seq=data.results_through_seq,
    )
    return replace(state, history=kept, compaction=compaction)


def split(state: SessionState, through_seq: int) -> tuple[PVector[Entry], PVector[Entry]]:
    """The entries up to `through_seq`, and the rest."""
    count = 0
    for entry in state.history:
        if entry.seq > through_seq:
            break
        count += 1
    return state.history[:count], state.history[count:]


def _compacted(state: SessionState, event: ev.Event, data: ev.ContextCompacted) -> SessionState:
    _require_place(state, event, data.trigger)
    before = state.compaction or Compaction()
    _require_forward(event, data, before)
    if data.through_seq > before.through_seq:
        require(bool(data.summary.strip()), event, "nothing stands for what is left out")
        _require_whole(state, event, data.through_seq)
    else:
        require(data.summary == before.summary, event, "another summary of the same conversation")
    require(0 <= data.tokens_after < data.tokens_before, event, "it is not shorter than before")
    require(data.words_limit >= 0, event, "a limit below nothing")
    state = condensed(state, data)
    if state.turn is not None and state.step is not None:
        # The refused request was an attempt; the next one has the next number.
        retries = state.step.retries + (data.trigger == "overflow")
        step = replace(state.step, retries=retries)
        state = replace(state, turn=replace(state.turn, open_step=step, failed_compactions=0))
    # What was read before is not before the model's eyes any more: it must read again to rely on it.
    state = replace(
        state,
        context_tokens=data.tokens_after,
        context_estimated=True,
        measured_seq=event.seq,
        seen=pmap(),
    )
    return spent(state, data.usage)


def _failed(state: SessionState, event: ev.Event, data: ev.CompactionFailed) -> SessionState:
    _require_place(state, event, data.trigger)
    if state.turn is not None:
        turn = replace(state.turn, failed_compactions=state.turn.failed_compactions + 1)
        state = replace(state, turn=turn)
    return spent(state, data.usage)


def _require_place(state: SessionState, event: ev.Event, trigger: ev.Trigger) -> None:
    """Before a request of a step, or – by hand, or as a round ends – in no turn."""
    if trigger in ("pressure", "overflow"):
        require(state.step is not None, event, f"a compaction by {trigger} belongs to a step")
    if state.turn is None:
        require(state.opened, event, "nothing may precede session/opened")
        return
    require(trigger != "human", event, "a compaction by hand happens in no turn")
    require(state.step is not None and not state.step.replied, event, "the model has answered already")
    require(not state.turn.claimed, event, "a claimed message was not told to the model")


def _require_forward(event: ev.Event, data: ev.ContextCompacted, before: Compaction) -> None:
    through, results = data.through_seq, data.results_through_seq
    require(before.through_seq <= through < event.seq, event, "it goes back, or past itself")
    require(
        max(through, before.results_through_seq) <= results < event.seq, event, "its results go back, or past"
    )
    moved = (through, results) != (before.through_seq, before.results_through_seq)
    require(moved, event, "it leaves nothing out")


def _require_whole(state: SessionState, event: ev.Event, through_seq: int) -> None:
    """The cut is behind an entry, and parts no call from its results."""
    gone, kept = split(state, through_seq)
    if not gone or gone[-1].seq != through_seq:
        refuse(event, f"no message of the conversation is event {through_seq}")
    require(bool(kept), event, "nothing of the conversation stays as it was")
    require(not isinstance(kept[0], ResultEntry), event, "it parts a call from its result")


CONTEXT_REDUCERS: Final[dict[type[ev.EventData], Any]] = {
    ev.ContextCompacted: _compacted,
    ev.CompactionFailed: _failed,
}
