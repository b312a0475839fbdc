"""Databases that hold rows from the start: forks, and what a cut keeps of a damaged log."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import stat
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from steersman.errors import LogViolation, SessionCorrupt, StorageFailed
from steersman.store import seed
from tests.unit.store.rows import ClosingStore, rows, scanned

WITH_A_WAL = """
import asyncio, os, sys
from pathlib import Path
from steersman.domain.events import StoredEvent
from steersman.store.folder import FolderStore

async def main():
    log = await FolderStore(Path(sys.argv[1])).create("s-1", None)
    for seq in range(1, 10):
        await log.append([StoredEvent(seq=seq, time=seq, type="step/start", data=b"{}")])
    os._exit(0)

asyncio.run(main())
"""


def change(database: Path, sql: str) -> None:
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(sql)


@pytest.fixture
async def damaged(store: ClosingStore, database: Path) -> Path:
    """Ten rows with two blobs; row 7 is not what was written, and one blob neither."""
    log = await store.create("s-1", "file:///w")
    blobs = {sha256(content).hexdigest(): content for content in (b"one", b"two")}
    await log.append(rows(1, 10), blobs)
    await log.close()
    change(database, "UPDATE events SET time = time + 1 WHERE seq = 7")
    change(database, "UPDATE blobs SET content = x'00' WHERE content = x'6f6e65'")
    return database


async def test_the_damaged_original_is_kept_beside_byte_for_byte(store: ClosingStore, damaged: Path) -> None:
    before = damaged.read_bytes()
    await store.cut("s-1", 6)
    kept = damaged.with_name("damaged-1.db")
    assert kept.read_bytes() == before
    assert stat.S_IMODE(kept.stat().st_mode) == stat.S_IMODE(damaged.stat().st_mode) == 0o600
    log = await store.open("s-1")
    assert [event.seq for event in await scanned(log)] == [1, 2, 3, 4, 5, 6]
    assert await log.read(0, 10) == rows(1, 6)
    assert await log.blob(sha256(b"two").hexdigest()) == b"two"
    assert await log.blob(sha256(b"one").hexdigest()) is None


async def test_a_second_cut_keeps_the_first_original(store: ClosingStore, damaged: Path) -> None:
    first = damaged.read_bytes()
    await store.cut("s-1", 6)
    second = damaged.read_bytes()
    await store.cut("s-1", 5)
    assert damaged.with_name("damaged-1.db").read_bytes() == first
    assert damaged.with_name("damaged-2.db").read_bytes() == second


async def test_a_cut_past_the_damage_is_refused_and_changes_nothing(
    store: ClosingStore, damaged: Path
) -> None:
    before = damaged.read_bytes()
    with pytest.raises(SessionCorrupt) as refused:
        await store.cut("s-1", 8)
    assert refused.value.data["seq"] == 7
    assert damaged.read_bytes() == before
    assert sorted(path.name for path in damaged.parent.iterdir()) == ["lock", "session.db"]


async def test_rows_in_the_write_ahead_log_are_cut_and_kept_too(
    tmp_path: Path, store: ClosingStore, database: Path
) -> None:
    """The log of a process that was killed: its last rows are in the `-wal` file alone."""
    done = subprocess.run([sys.executable, "-c", WITH_A_WAL, str(tmp_path / "state")], check=False)
    assert done.returncode == 0
    wal = database.with_name("session.db-wal")
    contents = wal.read_bytes()
    assert contents
    await store.cut("s-1", 7)
    assert not wal.exists()
    assert database.with_name("damaged-1.db-wal").read_bytes() == contents
    log = await store.open("s-1")
    assert [event.seq for event in await log.read(0, 100)] == list(range(1, 8))
    # The kept pair is a whole log: put back, it holds everything.
    await log.close()
    for suffix in ("", "-wal"):
        shutil.copy(database.with_name(f"damaged-1.db{suffix}"), database.with_name(f"session.db{suffix}"))
    reader = await store.open_reader("s-1")
    assert len(await scanned(reader)) == 9


@pytest.mark.parametrize("step", ["make", "_keep", "replace"])
async def test_a_cut_that_fails_on_the_way_leaves_what_was_there(
    store: ClosingStore, damaged: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    before = damaged.read_bytes()

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    if step == "replace":
        monkeypatch.setattr(Path, "replace", fail)
    else:
        monkeypatch.setattr(seed, step, fail)
    with pytest.raises(StorageFailed, match="disk is full"):
        await store.cut("s-1", 6)
    monkeypatch.undo()
    assert damaged.read_bytes() == before
    assert not list(damaged.parent.glob(".repair*"))
    await store.cut("s-1", 6)


async def test_a_fork_with_a_gap_is_never_there(store: ClosingStore, database: Path) -> None:
    await (await store.create("s-1", None)).append(rows(1, 3))
    with pytest.raises(LogViolation):
        await store.fork("s-2", None, [*rows(1, 2), *rows(4, 5)], "s-1")
    assert [path.name for path in database.parent.parent.iterdir()] == ["s-1"]


async def test_a_transcript_is_private_and_replaced_whole(store: ClosingStore, database: Path) -> None:
    await (await store.create("s-1", None)).close()
    path = await store.keep_transcript("s-1", "first\n")
    assert await store.keep_transcript("s-1", "second ü\n") == path
    assert path.read_text(encoding="utf-8") == "second ü\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    await store.delete("s-1")
    assert not path.exists()
