"""One change to a log that a run wrote, as an accident or a forger would make it; the fold must refuse it.

Three kinds: changes that leave the numbers of the rows as they were; changes of one member that says where
an event belongs; and changes after which the rows were numbered anew, so only the rules of the events
themselves can tell.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

from steersman.domain import events as ev
from steersman.domain.fold import empty, fold_all
from steersman.errors import LogViolation
from tests.proof.layer import require
from tests.proof.life import SHAPES, Story

SHAPE_NAMES: Final = ("tools", "goals", "failures", "stops")
CASES_A_LOG: Final = 50
MEMBERS: Final = {
    "turn/start": ("turn", "trigger"),
    "turn/end": ("turn",),
    "step/start": ("turn", "step"),
    "step/end": ("turn", "step"),
    "user/message": ("turn", "step"),
    "request/header": ("turn", "step"),
    "assistant/message": ("turn", "step"),
    "assistant/chunk": ("turn", "step"),
    "tool/call": ("turn", "step", "callId", "name", "arguments"),
    "tool/start": ("turn", "step", "callId"),
    "tool/result": ("turn", "step", "callId"),
    "model/retry": ("turn", "step", "attempt"),
    "approval/asked": ("callId",),
    "approval/decided": ("approvalId",),
    "question/answered": ("questionId",),
    "task/state": ("from", "to"),
    "goal/round": ("round", "goalId", "revision"),
    "goal/change": ("operation",),
}
"""Members that say where an event belongs: no other value can be true there."""
BINDING: Final = frozenset(
    {"turn/start", "turn/end", "step/start", "step/end", "tool/call", "tool/result", "task/state"}
)
"""Types of which none can be missing or come twice, however the rows are numbered."""
TWICE: Final = BINDING | {
    "tool/start",
    "assistant/message",
    "inbox/queued",
    "inbox/claimed",
    "approval/decided",
}


@lru_cache(maxsize=4)
def log_of(number: int) -> tuple[ev.Event, ...]:
    """A log that a simulated session wrote, long enough for a whole turn behind any change."""
    name = SHAPE_NAMES[number % len(SHAPE_NAMES)]
    for attempt in range(100):
        played = Story(f"{name} mutated {number} {attempt}", SHAPES[name])
        try:
            played.live(12)
            played.ledger.begin(played.files)
            rows = played.ledger.rows()
        finally:
            played.ledger.end()
            played.close()
        if len(rows) > 80 and sum(row.type == "turn/start" for row in rows) > 2:
            return tuple(ev.from_stored(played.session_id, row) for row in rows)
    raise AssertionError("no run wrote a log that is long enough")


def accepted(events: Sequence[ev.Event]) -> bool:
    try:
        fold_all(empty(events[0].session_id), events)
    except LogViolation:
        return False
    return True


def _numbered(events: Sequence[ev.Event]) -> list[ev.Event]:
    last, result = 0, []
    for seq, event in enumerate(events, 1):
        last = max(last, event.time)
        result.append(msgspec.structs.replace(event, seq=seq, time=last))
    return result


def _drop(events: list[ev.Event], place: int, dice: random.Random) -> list[ev.Event]:
    return [*events[:place], *events[place + 1 :]]


def _double(events: list[ev.Event], place: int, dice: random.Random) -> list[ev.Event]:
    return [*events[: place + 1], *events[place:]]


def _swap(events: list[ev.Event], place: int, dice: random.Random) -> list[ev.Event]:
    return [*events[:place], events[place + 1], events[place], *events[place + 2 :]]


def _time(events: list[ev.Event], place: int, dice: random.Random) -> list[ev.Event]:
    earlier = events[place - 1].time - dice.randint(1, 10_000)
    return _put(events, place, msgspec.structs.replace(events[place], time=earlier))


def _type(events: list[ev.Event], place: int, dice: random.Random) -> list[ev.Event]:
    others = [name for name in ev.EVENT_DATA if name != events[place].type]
    return _put(events, place, msgspec.structs.replace(events[place], type=dice.choice(others)))


def _put(events: list[ev.Event], place: int, event: ev.Event) -> list[ev.Event]:
    return [*events[:place], event, *events[place + 1 :]]


def _member(events: list[ev.Event], place: int, dice: random.Random) -> list[ev.Event] | None:
    """Another value in one binding member; None where the bytes do not even decode, as a reader would see."""
    event = events[place]
    data: dict[str, Any] = msgspec.json.decode(ev.encode_data(event.data))
    name = dice.choice(MEMBERS[event.type])
    value = data[name]
    data[name] = value + dice.choice((-1, 1, 100)) if isinstance(value, int) else f"{value}x"
    try:
        changed = ev.decode_data(event.type, msgspec.json.encode(data), ignorable=False)
    except ValueError:
        return None
    return _put(events, place, msgspec.structs.replace(event, data=changed))


Change = Callable[[list[ev.Event], int, random.Random], list[ev.Event] | None]
_RAW: Final[dict[str, Change]] = {
    "dropped": _drop,
    "doubled": _double,
    "swapped": _swap,
    "time": _time,
    "type": _type,
}


def mutation_case(number: int) -> Counter[str]:
    """One change that must be refused."""
    dice = random.Random(number)
    events = list(log_of(number // CASES_A_LOG))
    last_turn = max(n for n, event in enumerate(events) if event.type == "turn/start")
    kind = dice.choice([*_RAW, "member", "dropped anew", "doubled anew", "start before call"])
    if kind in _RAW:
        place = dice.randrange(1, len(events) - 1)
        changed = _RAW[kind](events, place, dice)
    elif kind == "member":
        places = [n for n, event in enumerate(events) if event.type in MEMBERS]
        place = dice.choice(places)
        changed = _member(events, place, dice)
    elif kind == "start before call":
        pairs = [n for n in range(last_turn) if _types(events, n) == ("tool/call", "tool/start")]
        place = dice.choice(pairs) if pairs else 0
        changed = _numbered(_swap(events, place, dice))
    else:
        wanted = BINDING if kind == "dropped anew" else TWICE
        place = dice.choice([n for n in range(last_turn) if events[n].type in wanted])
        changed = _numbered((_drop if kind == "dropped anew" else _double)(events, place, dice))
    what = f"{kind}: {events[place].type} at {place + 1}"
    require(changed is None or not accepted(changed), f"a log is accepted with one change, {what}")
    return Counter({kind: 1})


def _types(events: Sequence[ev.Event], place: int) -> tuple[str, str]:
    return events[place].type, events[place + 1].type
