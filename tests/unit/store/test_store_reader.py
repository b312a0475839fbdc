"""Reading beside a writer: without its lock, without traces, and never torn."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from pathlib import Path

import pytest

from steersman.errors import SessionNotFound
from steersman.store import rows as queries
from steersman.store.sqlite_reader import Beside
from tests.unit.store.rows import ClosingStore, rows, scanned


async def test_reading_a_closed_session_leaves_no_files_behind(store: ClosingStore, database: Path) -> None:
    log = await store.create("s-1", None)
    await log.append(rows(1, 5))
    await log.close()
    before = sorted(path.name for path in database.parent.iterdir())
    reader = await store.open_reader("s-1")
    assert len(await scanned(reader)) == 5
    await reader.close()
    assert sorted(path.name for path in database.parent.iterdir()) == before


async def test_a_reader_takes_no_lock(store: ClosingStore) -> None:
    await (await store.create("s-1", None)).close()
    reader = await store.open_reader("s-1")
    log = await store.open("s-1")
    await log.append(rows(1, 1))
    assert await reader.last_seq() == 1


async def test_scans_beside_a_busy_writer_are_whole_prefixes(store: ClosingStore) -> None:
    log = await store.create("s-1", None)
    reader = await store.open_reader("s-1")

    async def write() -> None:
        for first in range(1, 2_000, 20):
            await log.append(rows(first, first + 19))

    writing = asyncio.create_task(write())
    seen = [0]
    while not writing.done():
        found = await scanned(reader)
        assert [event.seq for event in found] == list(range(1, len(found) + 1))
        assert len(found) >= seen[-1]
        seen.append(len(found))
    await writing
    assert len(await scanned(reader)) == 2_000
    assert len(set(seen)) > 2


async def test_a_page_that_a_writer_changed_meanwhile_is_read_again(
    store: ClosingStore, database: Path
) -> None:
    await (await store.create("s-1", None)).close()
    answers: list[int] = []

    def read_while_a_writer_comes_and_goes(connection: sqlite3.Connection) -> int:
        answers.append(queries.read_head(connection, "s-1").seq)
        if len(answers) == 1:
            with contextlib.closing(sqlite3.connect(database)) as writer, writer:
                writer.execute("UPDATE meta SET last_seq = 7")
        return answers[-1]

    assert await Beside(database, "s-1").run(read_while_a_writer_comes_and_goes) == 7
    assert answers == [0, 7]


async def test_a_session_that_disappears_under_a_reader_is_told(store: ClosingStore) -> None:
    await (await store.create("s-1", None)).close()
    reader = await store.open_reader("s-1")
    await store.delete("s-1")
    with pytest.raises(SessionNotFound, match="deleted"):
        await reader.read(0, 1)


async def test_a_large_scan_does_not_hold_up_the_event_loop(store: ClosingStore) -> None:
    log = await store.create("s-1", None)
    await log.append(rows(1, 30_000))
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0)
            ticks += 1

    ticking = asyncio.create_task(tick())
    count = len(await scanned(log))
    ticking.cancel()
    assert count == 30_000
    assert ticks > 100
