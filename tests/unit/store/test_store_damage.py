"""A damaged database: what is read is what was written, or it is refused. Nothing is repaired silently."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.domain.events import StoredEvent
from steersman.errors import LogViolation, SessionCorrupt, SteersmanError, StorageFailed
from tests.unit.store.rows import ClosingStore, rows, scanned


@pytest.fixture
async def written(store: ClosingStore, database: Path) -> Path:
    """The database of a closed session with ten rows."""
    log = await store.create("s-1", None)
    await log.append(rows(1, 10))
    await log.close()
    return database


def change(database: Path, sql: str) -> None:
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(sql)


@pytest.mark.parametrize(
    ("sql", "seq"),
    [
        ("UPDATE events SET data = CAST('{\"n\":5} ' AS BLOB) WHERE seq = 5", 5),
        ("UPDATE events SET time = time + 1 WHERE seq = 4", 4),
        ("UPDATE events SET type = 'step/end' WHERE seq = 1", 1),
        ("UPDATE events SET type = 'assistant/chunk' WHERE seq = 7", 7),
        ("UPDATE events SET ignorable = 1 WHERE seq = 2", 2),
        ("UPDATE events SET hash = zeroblob(32) WHERE seq = 3", 3),
        ("UPDATE events SET hash = zeroblob(32) WHERE seq = 10", 10),
        ("UPDATE events SET seq = 11 WHERE seq = 10", 10),
        ("UPDATE events SET seq = 0 WHERE seq = 1", 1),
        ("UPDATE events SET session = 's-2' WHERE seq = 6", 6),
        ("DELETE FROM events WHERE seq = 1", 1),
        ("DELETE FROM events WHERE seq = 6", 6),
        ("DELETE FROM events WHERE seq = 10", 10),
        ("DELETE FROM events", 1),
        ("INSERT INTO events SELECT session, 11, time, type, 0, data, hash FROM events WHERE seq = 10", 11),
        ("INSERT INTO events SELECT 's-0', seq, time, type, ignorable, data, hash FROM events", 11),
        ("UPDATE meta SET last_seq = 9", 10),
        ("UPDATE meta SET last_seq = 12", 11),
        ("UPDATE meta SET last_hash = zeroblob(32)", 10),
    ],
)
@pytest.mark.parametrize("reading", ["writer", "beside"])
async def test_a_changed_row_is_a_violation_at_its_seq(
    store: ClosingStore, written: Path, sql: str, seq: int, reading: str
) -> None:
    change(written, sql)
    reader = await (store.open("s-1") if reading == "writer" else store.open_reader("s-1"))
    with pytest.raises(LogViolation) as refused:
        await scanned(reader)
    assert refused.value.seq == seq
    assert refused.value.reason
    await reader.close()


async def test_swapped_rows_are_a_violation(store: ClosingStore, written: Path) -> None:
    for sql in ("SET seq = 100 WHERE seq = 4", "SET seq = 4 WHERE seq = 5", "SET seq = 5 WHERE seq = 100"):
        change(written, f"UPDATE events {sql}")
    with pytest.raises(LogViolation, match="event 4"):
        await scanned(await store.open_reader("s-1"))


async def test_the_rows_before_a_violation_are_given_first(store: ClosingStore, written: Path) -> None:
    change(written, "UPDATE events SET time = 0 WHERE seq = 8")
    reader = await store.open_reader("s-1")
    batches = reader.scan()
    assert [event.seq for event in await anext(batches)] == list(range(1, 8))
    with pytest.raises(LogViolation, match="event 8"):
        await anext(batches)


async def test_a_page_that_sqlite_cannot_read_is_a_violation_at_its_first_row(
    store: ClosingStore, database: Path
) -> None:
    """So a person can still cut the log back to its last good event."""
    log = await store.create("s-1", None)
    await log.append(rows(1, 1_000))
    await log.close()
    content = bytearray(database.read_bytes())
    page = content.index(b'{"n":500}') // 4096 * 4096
    content[page : page + 4096] = bytes(4096)
    database.write_bytes(content)
    batches = (await store.open_reader("s-1")).scan()
    good = await anext(batches)
    assert [event.seq for event in good] == list(range(1, len(good) + 1))
    assert 0 < len(good) < 500
    with pytest.raises(LogViolation, match="the file is damaged here") as refused:
        await anext(batches)
    assert refused.value.seq == len(good) + 1


async def test_a_damaged_blob_is_never_given(store: ClosingStore, written: Path) -> None:
    change(written, "INSERT INTO blobs VALUES ('" + "a" * 64 + "', x'00')")
    reader = await store.open_reader("s-1")
    with pytest.raises(StorageFailed, match="damaged"):
        await reader.blob("a" * 64)


async def test_damaged_bytes_in_a_message_of_sqlite_are_damage(store: ClosingStore, written: Path) -> None:
    """A byte of the table's definition, which SQLite quotes when it complains of it."""
    content = written.read_bytes()
    written.write_bytes(content.replace(b"CREATE TABLE meta", b"CREATE\xc5TABLE meta", 1))
    for refused in (store.open, store.open_reader):
        with pytest.raises(SessionCorrupt, match="damaged"):
            await refused("s-1")


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_whatever_byte_of_the_file_flips_the_rows_are_the_written_ones_or_refused(
    data: st.DataObject,
) -> None:
    async def flip() -> None:
        with tempfile.TemporaryDirectory() as folder:
            store = ClosingStore(Path(folder))
            log = await store.create("s-1", None)
            await log.append(rows(1, 40))
            expected = await scanned(log)
            await log.close()
            database = Path(folder) / "sessions" / "s-1" / "session.db"
            content = bytearray(database.read_bytes())
            at = data.draw(st.integers(0, len(content) - 1), label="offset")
            content[at] ^= data.draw(st.integers(1, 255), label="flipped bits")
            database.write_bytes(content)
            found: list[StoredEvent] = []
            try:
                reader = await store.open_reader("s-1")
                async for batch in reader.scan():
                    found += batch
            except (LogViolation, SessionCorrupt, StorageFailed):
                assert found == expected[: len(found)]
            else:
                assert found == expected
            with contextlib.suppress(SteersmanError):
                await (await store.open_reader("s-1")).read(0, 100)
            with contextlib.suppress(SteersmanError):
                await scanned(await store.open("s-1"))
            await store.close()

    asyncio.run(flip())


def _junk(database: Path) -> None:
    database.write_bytes(b"this is no database, but long enough to look at" * 100)


def _truncate(database: Path) -> None:
    database.write_bytes(database.read_bytes()[:5_000])


def _cut_header(database: Path) -> None:
    database.write_bytes(database.read_bytes()[:60])


def _empty(database: Path) -> None:
    database.write_bytes(b"")


def _folder(database: Path) -> None:
    database.unlink()
    database.mkdir()


def _foreign(database: Path) -> None:
    database.unlink()
    change(database, "CREATE TABLE events (x)")


def _other_session(database: Path) -> None:
    change(database, "UPDATE meta SET session = 's-2'")


def _no_meta(database: Path) -> None:
    change(database, "DELETE FROM meta")


def _old(database: Path) -> None:
    change(database, "PRAGMA user_version = 0")


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (_junk, "damaged"),
        (_cut_header, "not a Steersman session"),
        (_empty, "is empty"),
        (_folder, "no file"),
        (Path.unlink, "is missing"),
        (_foreign, "not a Steersman session"),
        (_other_session, "does not hold the session s-1"),
        (_no_meta, "does not hold the session s-1"),
        (_old, "does not hold the session s-1"),
    ],
)
async def test_a_file_that_is_not_this_log_is_refused_and_left_alone(
    store: ClosingStore, written: Path, damage: object, told: str
) -> None:
    assert callable(damage)
    damage(written)
    before = written.read_bytes() if written.is_file() else None
    for attempt in (store.open, store.open_reader) * 2:
        with pytest.raises(SessionCorrupt, match=told) as refused:
            await attempt("s-1")
        assert refused.value.data["seq"] == 1
        assert refused.value.data["reason"]
    with pytest.raises(SessionCorrupt, match=told):
        await store.cut("s-1", 1)
    assert (written.read_bytes() if written.is_file() else None) == before
    assert [ref.session_id for ref in await store.list()] == ["s-1"]
    await store.delete("s-1")


async def test_a_newer_format_is_refused_with_what_to_do(store: ClosingStore, written: Path) -> None:
    change(written, "PRAGMA user_version = 99")
    for refused in (store.open, store.open_reader):
        with pytest.raises(StorageFailed, match=r"newer version.*update Steersman"):
            await refused("s-1")


async def test_a_truncated_database_is_refused_or_damaged_at_a_seq(
    store: ClosingStore, written: Path
) -> None:
    _truncate(written)
    before = written.read_bytes()
    for _ in range(2):
        with pytest.raises((SessionCorrupt, LogViolation), match="damaged"):
            await scanned(await store.open_reader("s-1"))
    assert written.read_bytes() == before
