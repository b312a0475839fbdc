"""Whatever happens to a stored log: it is refused with a seq and a reason, and a person can still list it,
read it, export it, and cut it back to what is whole. On real files."""

from __future__ import annotations

import contextlib
import json
import random
import sqlite3
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from steersman.domain.events import StoredEvent
from steersman.errors import SessionCorrupt, StorageFailed
from steersman.ports.event_log_memory import MemoryStore
from steersman.ports.model_double import ScriptedReplies, says
from steersman.sessions import requests as rq
from steersman.store import seed
from tests.unit.sessions.logs import ID, edited_run, folded
from tests.unit.sessions.test_service import Desk
from tests.unit.store.rows import ClosingStore

Damage = Callable[[Path], None]
Change = Callable[[list[StoredEvent]], list[StoredEvent]]


class Sessions:
    """A state folder with one closed session, the same in every test."""

    def __init__(self, state: Path, rows: list[StoredEvent], blobs: dict[str, bytes]) -> None:
        self.state, self.rows, self.blobs = state, rows, blobs
        self.store = ClosingStore(state)
        self.database = state / "sessions" / ID / "session.db"
        self.desk = Desk(MemoryStore(), ScriptedReplies([says("ok")]), state.parent)
        self.desk.store = self.store  # type: ignore[assignment]
        self.desk = self.desk.again()

    async def refused(self) -> tuple[int, str]:
        """How the session is refused when it is opened for writing."""
        with pytest.raises(SessionCorrupt) as refused:
            await self.desk.service.open(rq.OpenSession(session_id=ID))
        return refused.value.data["seq"], refused.value.data["reason"]

    async def still_serves(self, seq: int, reason: str) -> int:
        """Everything that a person may do with a damaged session; the last event that is whole."""
        service = self.desk.service
        listed = (await service.list(rq.ListSessions())).sessions
        assert [info.session_id for info in listed] == [ID]
        seen = await service.open(rq.OpenSession(session_id=ID, read_only=True))
        assert seen.read_only
        assert seen.damaged is not None
        assert (seen.damaged.seq, seen.damaged.reason) == (seq, reason)
        for form in ("jsonl", "markdown"):
            params = rq.ExportSession(session_id=ID, format=form)  # type: ignore[arg-type]
            text = (await service.export(params)).text
            if form == "jsonl":
                lines = [json.loads(line) for line in text.splitlines()]
                assert [line["seq"] for line in lines[: seq - 1]] == list(range(1, seq))
            else:
                assert f"damaged at event {seq}" in text
        return seen.last_seq

    async def repaired(self, seq: int) -> None:
        """Cut before the damage, and work on."""
        service, original = self.desk.service, self.database.read_bytes()
        await service.repair(rq.RepairSession(session_id=ID, through_seq=seq - 1))
        assert self.database.with_name("damaged-1.db").read_bytes() == original
        await service.prompt(rq.Prompt(session_id=ID, text="go on"))
        await self.desk.idle(ID)
        await service.close(rq.SessionOnly(session_id=ID))
        rows = await (await self.store.open_reader(ID)).read(0, 10_000)
        assert [(row.type, row.data) for row in rows[: seq - 1]] == [
            (row.type, row.data) for row in self.rows[: seq - 1]
        ]
        folded(rows)


@pytest.fixture
async def sessions(tmp_path: Path) -> AsyncIterator[Sessions]:
    written = await edited_run()
    made = Sessions(tmp_path / "state", list(written.rows), dict(written.blobs))
    await (await made.store.create(ID, None)).append(made.rows, made.blobs)
    await made.store.close()
    yield made
    await made.desk.service.stop()
    await made.store.close()


def sql(statement: str) -> Damage:
    def damage(database: Path) -> None:
        with contextlib.closing(sqlite3.connect(database)) as connection, connection:
            connection.execute(statement)

    return damage


BROKEN_CHAIN = {
    "dropped": ("DELETE FROM events WHERE seq = 9", 9),
    "first dropped": ("DELETE FROM events WHERE seq = 1", 1),
    "last dropped": ("DELETE FROM events WHERE seq = (SELECT max(seq) FROM events)", None),
    "data changed": ("UPDATE events SET data = CAST('{}' AS BLOB) WHERE seq = 9", 9),
    "time back": ("UPDATE events SET time = 0 WHERE seq = 9", 9),
    "type changed": ("UPDATE events SET type = 'turn/start' WHERE seq = 9", 9),
    "hash changed": ("UPDATE events SET hash = zeroblob(32) WHERE seq = 9", 9),
    "doubled": (
        "INSERT INTO events SELECT session, last_seq + 1, time, type, ignorable, data, hash "
        "FROM events JOIN meta USING (session) WHERE seq = 9",
        None,
    ),
    "head changed": ("UPDATE meta SET last_hash = zeroblob(32)", None),
    "blob missing": ("DELETE FROM blobs", 10),
}


@pytest.mark.parametrize("kind", BROKEN_CHAIN)
async def test_bytes_that_are_not_those_that_were_written(sessions: Sessions, kind: str) -> None:
    statement, expected = BROKEN_CHAIN[kind]
    sql(statement)(sessions.database)
    seq, reason = await sessions.refused()
    if expected is not None and kind != "blob missing":
        assert seq == expected
    if kind == "blob missing":
        assert sessions.rows[seq - 1].type == "edit/planned"
    await sessions.still_serves(seq, reason)
    if seq > 1:
        await sessions.repaired(seq)


def dropped(rows: list[StoredEvent], at: int) -> list[StoredEvent]:
    return rows[:at] + rows[at + 1 :]


def swapped(rows: list[StoredEvent], at: int) -> list[StoredEvent]:
    return [*rows[:at], rows[at + 1], rows[at], *rows[at + 2 :]]


def doubled(rows: list[StoredEvent], at: int) -> list[StoredEvent]:
    return [*rows[: at + 1], *rows[at:]]


def back_in_time(rows: list[StoredEvent], at: int) -> list[StoredEvent]:
    return [replace(row, time=0) if n == at else row for n, row in enumerate(rows)]


def of_another_type(rows: list[StoredEvent], at: int) -> list[StoredEvent]:
    return [replace(row, type="session/configured") if n == at else row for n, row in enumerate(rows)]


def of_no_type(rows: list[StoredEvent], at: int) -> list[StoredEvent]:
    return [replace(row, type="turn/undo") if n == at else row for n, row in enumerate(rows)]


def cut_in_half(rows: list[StoredEvent], at: int) -> list[StoredEvent]:
    return [
        replace(row, data=row.data[: len(row.data) // 2]) if n == at else row for n, row in enumerate(rows)
    ]


def with_a_member_more(rows: list[StoredEvent], at: int) -> list[StoredEvent]:
    more = b'{"more":1' + (b"," if len(rows[at].data) > 2 else b"") + rows[at].data[1:]
    return [replace(row, data=more) if n == at else row for n, row in enumerate(rows)]


SEMANTIC = [
    dropped,
    swapped,
    doubled,
    back_in_time,
    of_another_type,
    of_no_type,
    cut_in_half,
    with_a_member_more,
]


@pytest.mark.parametrize("mutate", SEMANTIC)
async def test_a_log_whose_chain_is_whole_but_whose_events_cannot_have_happened(
    sessions: Sessions, mutate: Callable[[list[StoredEvent], int], list[StoredEvent]]
) -> None:
    """As a writer with a defect would leave it."""
    for kind in ("step/start", "tool/call", "tool/start"):
        place = next(n for n, row in enumerate(sessions.rows) if row.type == kind)
        rows = [replace(row, seq=n) for n, row in enumerate(mutate(sessions.rows, place), start=1)]
        sessions.database.unlink()
        seed.make(sessions.database, ID, None, rows, sessions.blobs.items())
        seq, reason = await sessions.refused()
        assert seq > place
        await sessions.still_serves(seq, reason)
    await sessions.repaired(seq)


def _empty(database: Path) -> None:
    database.write_bytes(b"")


def _missing(database: Path) -> None:
    database.unlink()


def _foreign(database: Path) -> None:
    database.unlink()
    sql("CREATE TABLE events (x)")(database)


def _text(database: Path) -> None:
    database.write_bytes(b"this is no database, but long enough to look at" * 100)


def _other_session(database: Path) -> None:
    sql("UPDATE meta SET session = 's-other'")(database)


@pytest.mark.parametrize("damage", [_empty, _missing, _foreign, _text, _other_session])
async def test_a_file_that_is_no_log_of_this_session(sessions: Sessions, damage: Damage) -> None:
    damage(sessions.database)
    seq, reason = await sessions.refused()
    assert seq == 1
    assert await sessions.still_serves(seq, reason) == 0
    with pytest.raises(SessionCorrupt):
        await sessions.desk.service.repair(rq.RepairSession(session_id=ID, through_seq=1))
    await sessions.desk.service.delete(rq.SessionOnly(session_id=ID))
    assert (await sessions.desk.service.list(rq.ListSessions())).sessions == []


async def test_a_file_that_was_cut_off_serves_what_is_left(sessions: Sessions) -> None:
    content = sessions.database.read_bytes()
    for size in range(len(content) - 1, 0, -3_000):
        sessions.database.write_bytes(content[:size])
        seq, reason = await sessions.refused()
        await sessions.still_serves(seq, reason)


async def test_whatever_byte_flips_the_session_is_whole_or_refused_and_serves(sessions: Sessions) -> None:
    content = sessions.database.read_bytes()
    random_bytes = random.Random(7)
    for _ in range(60):
        at = random_bytes.randrange(len(content))
        flipped = bytearray(content)
        flipped[at] ^= 1 << random_bytes.randrange(8)
        sessions.database.write_bytes(flipped)
        seen = await sessions.desk.service.open(rq.OpenSession(session_id=ID, read_only=True))
        if seen.damaged is None:
            assert seen.last_seq == len(sessions.rows)
        else:
            assert await sessions.refused() == (seen.damaged.seq, seen.damaged.reason)
            await sessions.still_serves(seen.damaged.seq, seen.damaged.reason)


async def test_a_page_of_events_never_holds_what_is_no_json(sessions: Sessions) -> None:
    sql("UPDATE events SET data = x'7b22ff' WHERE seq = 9")(sessions.database)
    service = sessions.desk.service
    page = await service.events(rq.ReadEvents(session_id=ID))
    assert [event.seq for event in page.events] == list(range(1, 9))
    assert page.has_more
    with pytest.raises(SessionCorrupt) as refused:
        await service.events(rq.ReadEvents(session_id=ID, after_seq=8))
    assert refused.value.data["seq"] == 9


async def test_a_session_of_a_newer_version_is_listed_and_refused_with_advice(sessions: Sessions) -> None:
    sql("PRAGMA user_version = 99")(sessions.database)
    service = sessions.desk.service
    with pytest.raises(StorageFailed, match="update Steersman"):
        await service.open(rq.OpenSession(session_id=ID))
    listed = (await service.list(rq.ListSessions())).sessions
    assert [(info.session_id, info.last_seq) for info in listed] == [(ID, 0)]
    assert listed[0].damaged is not None
    assert "update Steersman" in listed[0].damaged.reason


async def test_a_time_that_went_back_is_written_as_no_earlier(sessions: Sessions) -> None:
    """The clock of the machine was set back since the last event."""
    ahead = [replace(row, time=row.time + 10**12) for row in sessions.rows]
    sessions.database.unlink()
    seed.make(sessions.database, ID, None, ahead, sessions.blobs.items())
    info = await sessions.desk.service.open(rq.OpenSession(session_id=ID))
    assert info.updated_at == ahead[-1].time
    await sessions.desk.service.prompt(rq.Prompt(session_id=ID, text="now"))
    await sessions.desk.idle(ID)
    rows = await (await sessions.store.open_reader(ID)).read(len(ahead), 100)
    assert {row.time for row in rows} == {ahead[-1].time}
