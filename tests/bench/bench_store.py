"""The store at its size: 100,000 events are opened about as fast as their bytes can be read and checked,
appending costs the same behind them as at the beginning, and a list opens no log."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from statistics import median

import msgspec

from steersman.domain import events as ev
from steersman.domain.fold import empty
from steersman.domain.messages import Delta, Human
from steersman.domain.usage import Usage
from steersman.loop.journal import extended
from steersman.ports.event_log import EventLog
from steersman.sessions import requests as rq
from steersman.sessions.catalogue import Catalogue, NothingOpen
from steersman.sessions.loading import load
from steersman.store.folder import FolderStore
from tests.bench.rows import Row

EVENTS = 100_000
SMALL = 100
BATCH = 2_000
APPENDS = 300
SESSIONS = 300
LISTS = 5
CHUNKS = 30
WORDS = "a few words of an answer, as they come "


def measure(rounds: int) -> list[Row]:
    """The rows of the table, medians of so many rounds."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_measure(Path(folder), rounds))


async def _measure(state: Path, rounds: int) -> list[Row]:
    store = FolderStore(state)
    rows = list(_session("s-big", EVENTS))
    await _write(store, "s-big", rows)
    await _write(store, "s-small", list(_session("s-small", SMALL)))
    opened, floor = [], []
    late, early = [], []
    for _ in range(rounds):
        floor.append(await asyncio.to_thread(_read_and_hash, state / "sessions" / "s-big" / "session.db"))
        opened.append(await _open(store, "s-big"))
        early.append(await _append(store, "s-small"))
        late.append(await _append(store, "s-big"))
    many = await _many(state / "many", rounds)
    return [
        Row(f"open {EVENTS:,} events", median(opened), median(floor), "s", 4),
        Row(f"append behind {EVENTS:,} events, floor behind {SMALL}", median(late), median(early), "ms", 1.3),
        *many,
    ]


async def _many(state: Path, rounds: int) -> list[Row]:
    """Lists of as many sessions, in turn: all small, one of them big, and all logs unreadable."""
    catalogues = []
    for name in ("small", "big", "unread"):
        store = FolderStore(state / name)
        for number in range(SESSIONS):
            count = EVENTS // 10 if name == "big" and not number else 20
            await _write(store, f"s-{number}", list(_session(f"s-{number}", count)))
        catalogues.append(Catalogue(store, NothingOpen()))
        await catalogues[-1].list(rq.ListSessions())  # writes the headers
    for database in (state / "unread").glob("sessions/*/session.db"):
        database.write_bytes(b"no log")
    took: list[list[float]] = [[], [], []]
    for _ in range(LISTS * rounds):
        for catalogue, times in zip(catalogues, took, strict=True):
            times.append(await _list(catalogue))
    small, big, unread = (median(times) for times in took)
    return [
        Row(f"list {SESSIONS} sessions, one of {EVENTS // 10:,} events", big, small, "ms", 1.3),
        Row(f"list {SESSIONS} sessions whose logs cannot be read", unread, small, "ms", 1.3),
    ]


async def _open(store: FolderStore, session_id: str) -> float:
    begun = time.perf_counter()
    log = await store.open(session_id)
    loaded = await load(log)
    seconds = time.perf_counter() - begun
    await log.close()
    if loaded.damaged is not None:
        raise AssertionError(loaded.damaged)
    return seconds


def _read_and_hash(database: Path) -> float:
    """The floor: every row is read, hashed and – but for chunks – decoded, and that is all."""
    begun = time.perf_counter()
    with contextlib.closing(sqlite3.connect(database)) as connection:
        digest = b""
        for type_, data in connection.execute("SELECT type, data FROM events ORDER BY seq"):
            digest = sha256(digest + data).digest()
            if type_ != ev.CHUNK:
                msgspec.json.decode(data)
    return time.perf_counter() - begun


async def _append(store: FolderStore, session_id: str) -> float:
    """Milliseconds an append, the median of many."""
    log = await store.open(session_id)
    seq, took = await log.last_seq(), []
    for number in range(1, APPENDS + 1):
        row = ev.StoredEvent(seq=seq + number, time=2**50, type="bench/noted", data=b"{}", ignorable=True)
        begun = time.perf_counter()
        await log.append([row])
        took.append((time.perf_counter() - begun) * 1000)
    await log.close()
    return median(took)


async def _list(catalogue: Catalogue) -> float:
    begun = time.perf_counter()
    await catalogue.list(rq.ListSessions())
    return (time.perf_counter() - begun) * 1000


async def _write(store: FolderStore, session_id: str, rows: list[ev.StoredEvent]) -> None:
    log: EventLog = await store.create(session_id, None)
    for start in range(0, len(rows), BATCH):
        await log.append(rows[start : start + BATCH])
    await log.close()


def _session(session_id: str, count: int) -> Iterator[ev.StoredEvent]:
    """At least `count` valid rows: turns of one step, their words in chunks."""
    state, rows = extended(
        empty(session_id),
        [
            ev.SessionCreated(format_version=1, workspace_folder=None, title=session_id),
            ev.SessionOpened(reason="new", server="bench"),
        ],
        1,
    )
    yield from rows
    number = 0
    while state.last_seq < count:
        number += 1
        state, rows = extended(state, _turn(number), 1)
        yield from rows


def _turn(number: int) -> list[ev.EventData]:
    place = {"turn": number, "step": 1}
    message_id = f"m-{number}"
    events: list[ev.EventData] = [
        ev.InboxQueued(
            message_id=message_id,
            queue="next-turn",
            source=Human(),
            text="Go on.",
            method="turn/prompt",
            outcome="started",
        ),
        ev.TurnStart(turn=number, trigger="human"),
        ev.InboxClaimed(message_ids=[message_id], **place),
        ev.StepStart(**place),
        ev.UserMessage(message_id=message_id, source=Human(), text="Go on.", **place),
    ]
    if number == 1:
        events.append(ev.RequestHeader(model="m", params={}, system="You are.", tools=[], **place))
    events += [ev.AssistantChunk(attempt=1, deltas=[Delta(text=WORDS)], **place)] * CHUNKS
    usage = Usage(requests=1, input_tokens=10, output_tokens=10)
    text = WORDS * CHUNKS
    return [
        *events,
        ev.AssistantMessage(text=text, tool_calls=[], finish_reason="stop", usage=usage, **place),
        ev.StepEnd(usage=usage, **place),
        ev.TurnEnd(turn=number, reason=ev.Completed()),
    ]
