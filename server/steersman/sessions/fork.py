"""A session that begins as another one did: copied rows, closed in order. The other one is only read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from steersman.domain import events as ev
from steersman.domain.fold import empty, fold, pass_chunk
from steersman.domain.ids import new_id
from steersman.domain.messages import GoalSource
from steersman.domain.state import SessionState
from steersman.domain.views import Damage
from steersman.errors import InvalidParams, SessionCorrupt
from steersman.loop.journal import extended
from steersman.loop.task import task_after
from steersman.ports.clock import Clock
from steersman.ports.editor import EditorPort
from steersman.ports.event_log import EventReader
from steersman.sessions.loading import Loaded, load
from steersman.sessions.recovery import PAGE, recovery_events


class Fork(msgspec.Struct, frozen=True, kw_only=True):
    """A child before it exists: all its rows, its state, and the seq up to which it is its parent's."""

    rows: Sequence[ev.StoredEvent]
    state: SessionState
    at: int


async def prepare(
    parent: EventReader, at_seq: int | None, child_id: str, server: str, editor: EditorPort, clock: Clock
) -> Fork:
    """The fork of `parent` after event `at_seq` (its last `turn/end` if that is None).

    The goals get new ids; what waited is withdrawn; an open turn ends as interrupted.

    Raises:
        InvalidParams: `at_seq` is past the last event.
        SessionCorrupt: the parent is damaged before it.
        StorageFailed.
    """
    loaded = await _at(parent, at_seq)
    state, at = loaded.state, loaded.state.last_seq
    names = {goal: new_id("g") for goal in state.goals.used_ids}
    origin = ev.Parent(session_id=parent.session_id, seq=at)
    copied = [_copy(row, origin, names) for row in await _rows(parent, at)]
    closing: list[ev.EventData] = [
        *due_task(loaded),
        ev.SessionOpened(reason="fork", server=server),
        *_withdrawn(state),
    ]
    now = clock.now_ms()
    rested, _ = extended(state, closing, now)
    # What the open step did is looked up in the parent's rows, where it stands under the same seq.
    closing += await recovery_events(replace(rested, last_seq=at), parent, editor)
    child, added = extended(_folded(copied, child_id), _renamed(closing, names), now)
    return Fork(rows=[*copied, *added], state=child, at=at)


def due_task(loaded: Loaded) -> list[ev.EventData]:
    """The change of the task that the last event caused, where the log ends before it."""
    if loaded.before is None or loaded.last is None or loaded.state.last_seq != loaded.last.seq:
        return []
    changed = task_after(loaded.before, loaded.last.data)
    return [changed] if changed is not None else []


async def _at(parent: EventReader, at_seq: int | None) -> Loaded:
    if at_seq is None:
        whole = await load(parent)
        if not whole.rest:
            raise _corrupt(whole)
        at_seq = whole.rest
    loaded = await load(parent, through=at_seq)
    if loaded.state.last_seq < at_seq:
        if loaded.damaged is not None:
            raise _corrupt(loaded)
        last = loaded.state.last_seq
        raise InvalidParams(f"atSeq is past the last event, {last}", [f"$.atSeq: the last event is {last}"])
    return loaded


def _corrupt(loaded: Loaded) -> SessionCorrupt:
    damaged = loaded.damaged or Damage(seq=1, reason="the log has no beginning")
    return SessionCorrupt.at(damaged.seq, damaged.reason)


async def _rows(parent: EventReader, through: int) -> list[ev.StoredEvent]:
    rows: list[ev.StoredEvent] = []
    while len(rows) < through and (page := await parent.read(len(rows), min(PAGE, through - len(rows)))):
        rows += page
    return rows


def _withdrawn(state: SessionState) -> list[ev.EventData]:
    """Nothing that waits is inherited. A round that is pending goes stale with the rest of the recovery."""
    pending = state.goals.pending
    waits = (*state.inbox.next_turn, *state.inbox.next_step)
    return [
        ev.InboxRemoved(message_id=m.message_id, reason="withdrawn")
        for m in waits
        if pending is None or m.message_id != pending.message_id
    ]


def _copy(row: ev.StoredEvent, origin: ev.Parent, names: Mapping[str, str]) -> ev.StoredEvent:
    """The child's row: the same bytes, unless it names the parent's place or one of its goals."""
    if row.type == "session/created" or (names and row.type in _NAMES_A_GOAL):
        event = ev.from_stored(origin.session_id, row)
        data = event.data
        if isinstance(data, ev.SessionCreated):
            data = replace(data, parent=origin)
        return ev.to_stored(replace(event, data=_rename(data, names)))
    return row


def _renamed(events: Sequence[ev.EventData], names: Mapping[str, str]) -> list[ev.EventData]:
    return [_rename(data, names) for data in events]


def _rename(data: Any, names: Mapping[str, str]) -> Any:
    """The same data with every goal under its new name. The words that the model read stay as they were."""
    match data:
        case ev.GoalChanged(ref=ref, goal=goal):
            renamed = replace(ref, id=names[ref.id])
            return replace(data, ref=renamed, goal=goal and replace(goal, id=renamed.id))
        case ev.GoalRound() | ev.GoalBlocker():
            return replace(data, goal_id=names[data.goal_id])
        case ev.GoalVerification(goal_id=str(goal_id)):
            return replace(data, goal_id=names.get(goal_id, goal_id))
        case ev.InboxQueued(source=GoalSource() as source) | ev.UserMessage(source=GoalSource() as source):
            return replace(data, source=replace(source, goal_id=names[source.goal_id]))
        case _:
            return data


_NAMES_A_GOAL = frozenset(
    {"goal/change", "goal/round", "goal/blocker", "goal/verification", "inbox/queued", "user/message"}
)


def _folded(rows: Sequence[ev.StoredEvent], session_id: str) -> SessionState:
    state = empty(session_id)
    for row in rows:
        if row.type == ev.CHUNK:
            state = pass_chunk(state, row.seq, row.time)
        else:
            state = fold(state, ev.from_stored(session_id, row))
    return state
