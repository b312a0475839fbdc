"""Writing: all or nothing, nothing after a failure, nothing after another owner, whatever is cancelled."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import sqlite3
import threading
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from steersman.domain.events import StoredEvent
from steersman.errors import SessionCorrupt, SessionLocked, StorageFailed
from steersman.ports.event_log import EventLog
from steersman.store import schema, sqlite_log
from steersman.store.failures import storage_failed
from steersman.store.sqlite_log import SqliteLog
from tests.unit.store.rows import ClosingStore, row, rows, scanned


async def inside(log: EventLog, work: Callable[[sqlite3.Connection], Any]) -> Any:
    """Run a function with the log's own connection."""
    assert isinstance(log, SqliteLog)
    return await log._source.run(work)


def large(seq: int) -> StoredEvent:
    return row(seq, "x" * 200_000)


async def fill_the_disk(log: EventLog) -> None:
    """Let the database not grow any more: SQLite then fails as it does on a full disk."""

    def limit(connection: sqlite3.Connection) -> None:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages + 8}")

    await inside(log, limit)


async def test_after_a_full_disk_nothing_is_written_until_the_session_is_opened_again(
    store: ClosingStore,
) -> None:
    log = await store.create("s-1", None)
    await log.append(rows(1, 3))
    await fill_the_disk(log)
    digest = sha256(b"small").hexdigest()
    with pytest.raises(StorageFailed, match=r"disk is full.*open the session again"):
        await log.append([row(4), large(5)], {digest: b"small"})
    with pytest.raises(StorageFailed, match=r"Suspended.*disk is full"):
        await log.append([row(4)])  # this one would fit
    assert await log.read(0, 10) == rows(1, 3)
    assert await log.blob(digest) is None
    await log.close()

    again = await store.open("s-1")
    assert len(await scanned(again)) == 3
    await again.append([row(4)])


async def test_a_blob_that_does_not_fit_takes_its_events_with_it(store: ClosingStore) -> None:
    log = await store.create("s-1", None)
    await fill_the_disk(log)
    content = b"x" * 200_000
    with pytest.raises(StorageFailed, match="disk is full"):
        await log.append([row(1)], {sha256(content).hexdigest(): content})
    assert await log.last_seq() == 0
    assert await log.read(0, 10) == []


@pytest.mark.parametrize(
    "bad", [row(2**63), StoredEvent(seq=1, time=2**63, type="a", data=b""), row(1, type_="\ud800")]
)
async def test_what_cannot_be_stored_is_refused_whole(store: ClosingStore, bad: StoredEvent) -> None:
    log = await store.create("s-1", None)
    with pytest.raises(StorageFailed):
        await log.append([bad])
    assert await log.last_seq() == 0


@pytest.mark.parametrize("ticks", range(8))
async def test_a_cancelled_append_is_whole_or_absent_and_the_log_stays_usable(
    store: ClosingStore, ticks: int
) -> None:
    log = await store.create("s-1", None)
    digest = sha256(b"content").hexdigest()
    writing = asyncio.create_task(log.append([large(seq) for seq in range(1, 6)], {digest: b"content"}))
    for _ in range(ticks):
        await asyncio.sleep(0)
    writing.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await writing
    last = await log.last_seq()
    assert last in (0, 5)
    assert (await log.blob(digest) is not None) == (last == 5)
    await log.append([row(last + 1)])
    assert len(await scanned(log)) == last + 1


async def test_a_caller_that_changes_its_list_changes_nothing_that_is_under_way(store: ClosingStore) -> None:
    log = await store.create("s-1", None)
    events, blobs = rows(1, 3), {sha256(b"a").hexdigest(): b"a"}
    writing = asyncio.create_task(log.append(events, blobs))
    await asyncio.sleep(0)
    events.clear()
    blobs.clear()
    await writing
    assert await log.last_seq() == 3


@pytest.mark.parametrize("ticks", range(6))
async def test_a_cancelled_open_gives_the_lock_back(store: ClosingStore, ticks: int) -> None:
    await (await store.create("s-1", None)).close()
    opening = asyncio.create_task(store.open("s-1"))
    for _ in range(ticks):
        await asyncio.sleep(0)
    opening.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await (await opening).close()
    await store.open("s-1")


async def test_an_owner_that_was_only_paused_cannot_write_after_its_successor(
    store: ClosingStore, database: Path
) -> None:
    """The lock is lost without the owner's knowledge; the epoch still tells."""
    paused = await store.create("s-1", None)
    await paused.append(rows(1, 2))
    database.with_name("lock").unlink()
    successor = await store.open("s-1")
    with pytest.raises(StorageFailed, match="Another server has taken the session"):
        await paused.append(rows(3, 3))
    with pytest.raises(StorageFailed, match="Suspended"):
        await paused.append(rows(3, 3))
    await successor.append(rows(3, 4))
    assert len(await scanned(successor)) == 4


async def test_a_failed_open_gives_the_lock_back(store: ClosingStore, database: Path) -> None:
    await (await store.create("s-1", None)).close()
    content = database.read_bytes()
    database.write_bytes(b"junk" * 1000)
    with pytest.raises(SessionCorrupt):
        await store.open("s-1")
    database.write_bytes(content)
    await store.open("s-1")


async def test_a_database_kept_busy_by_another_program_suspends_with_advice(
    store: ClosingStore, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_log, "_BUSY_SECONDS", 0.05)
    log = await store.create("s-1", None)
    with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageFailed, match=r"[Bb]usy.*Close it"):
            await log.append(rows(1, 1))
        other.execute("ROLLBACK")
    with pytest.raises(StorageFailed, match="Suspended"):
        await log.append(rows(1, 1))


async def test_commits_are_synced_in_full_and_rolled_forward_from_a_wal(store: ClosingStore) -> None:
    log = await store.create("s-1", None)
    assert await inside(log, lambda c: c.execute("PRAGMA synchronous").fetchone()[0]) == 2
    assert await inside(log, lambda c: c.execute("PRAGMA journal_mode").fetchone()[0]) == "wal"


async def test_appending_costs_the_same_late_as_early(store: ClosingStore) -> None:
    log = await store.create("s-1", None)

    async def statements(seq: int) -> list[str]:
        seen: list[str] = []
        await inside(log, lambda c: c.set_trace_callback(seen.append))
        await log.append([row(seq)])
        await inside(log, lambda c: c.set_trace_callback(None))
        return [statement.split()[0] for statement in seen]

    await log.append(rows(1, 99))
    early = await statements(100)
    await log.append(rows(101, 19_999))
    late = await statements(20_000)
    assert early == late == ["BEGIN", "UPDATE", "INSERT", "COMMIT"]


async def test_the_wal_stays_bounded_and_goes_with_the_writer(store: ClosingStore, database: Path) -> None:
    log = await store.create("s-1", None)
    wal = database.with_name("session.db-wal")
    sizes = []
    for seq in range(1, 81):
        await log.append([large(seq)])
        sizes.append(wal.stat().st_size)
    assert max(sizes) < 8 * 1024 * 1024
    await log.close()
    assert sorted(path.name for path in database.parent.iterdir()) == ["lock", "session.db"]


async def test_closing_waits_for_what_was_appended_and_ends_the_thread(store: ClosingStore) -> None:
    before = set(threading.enumerate())
    log = await store.create("s-1", None)
    writing = asyncio.create_task(log.append([large(seq) for seq in range(1, 6)]))
    await asyncio.sleep(0)
    await asyncio.gather(log.close(), log.close())
    await writing
    deadline = time.monotonic() + 5
    while (left := {t for t in threading.enumerate() if "asyncio" not in t.name} - before) and (
        time.monotonic() < deadline
    ):
        await asyncio.sleep(0.01)
    assert not left
    assert await (await store.open("s-1")).last_seq() == 5


async def test_an_older_format_is_brought_forward_with_its_rows(
    store: ClosingStore, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = await store.create("s-1", None)
    await log.append(rows(1, 3))
    await log.close()
    monkeypatch.setattr(schema, "FORMAT_VERSION", 2)
    monkeypatch.setattr(
        schema, "MIGRATIONS", (*schema.MIGRATIONS, ("ALTER TABLE meta ADD note TEXT", "broken"))
    )
    with pytest.raises(StorageFailed):
        await store.open("s-1")
    assert len(await scanned(await store.open_reader("s-1"))) == 3

    monkeypatch.setattr(schema, "MIGRATIONS", (schema.MIGRATIONS[0], ("ALTER TABLE meta ADD note TEXT",)))
    log = await store.open("s-1")
    await log.append(rows(4, 4))
    assert len(await scanned(log)) == 4
    assert await inside(log, lambda c: c.execute("PRAGMA user_version").fetchone()[0]) == 2
    assert await inside(log, lambda c: c.execute("SELECT note FROM meta").fetchone()[0]) is None


def test_every_format_version_has_its_migration() -> None:
    assert len(schema.MIGRATIONS) == schema.FORMAT_VERSION


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (errno.ENOSPC, "Free some space"),
        (errno.EROFS, "Make it writable"),
        (errno.EMFILE, "limit of open files"),
        (errno.EIO, "Check the disk"),
        (errno.ELOOP, "Open the session again"),
    ],
)
def test_a_storage_error_says_what_to_do_next(code: int, advice: str) -> None:
    assert advice in str(storage_failed(OSError(code, "told by the system"), Path("/x")))
    assert "told by the system" in str(storage_failed(OSError(code, "told by the system"), Path("/x")))


async def test_two_logs_do_not_wait_for_each_other(store: ClosingStore) -> None:
    first, second = await store.create("s-1", None), await store.create("s-2", None)
    held = threading.Event()
    waiting = asyncio.create_task(inside(first, lambda c: held.wait(10)))
    await second.append(rows(1, 1))
    assert not waiting.done()
    held.set()
    assert await waiting


async def test_the_refusal_names_the_holder(store: ClosingStore) -> None:
    await store.create("s-1", None)
    with pytest.raises(SessionLocked, match=r"process \d+ on .* read-only"):
        await store.open("s-1")
