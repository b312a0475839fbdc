"""The state folder: what is on the disk, who may read it, and what strange things in it do."""

from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path

import pytest

from steersman.errors import SessionNotFound, StorageFailed
from steersman.store import schema
from tests.unit.store.rows import ClosingStore, rows

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions and links")


@POSIX
async def test_only_the_owner_may_look(store: ClosingStore, database: Path) -> None:
    old = os.umask(0)
    try:
        log = await store.create("s-1", None)
        await log.append(rows(1, 1))
        await store.write_header("s-1", b"{}")
    finally:
        os.umask(old)
    folder = database.parent
    for private in (folder, folder.parent, folder.parent.parent):
        assert stat.S_IMODE(private.stat().st_mode) == 0o700
    files = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert files.keys() == {"session.db", "session.db-wal", "session.db-shm", "lock", "header.json"}
    assert set(files.values()) == {0o600}


@POSIX
async def test_a_sessions_folder_that_is_open_to_others_is_closed(
    store: ClosingStore, database: Path
) -> None:
    database.parent.parent.mkdir(parents=True, mode=0o755)
    await store.create("s-1", None)
    assert stat.S_IMODE(database.parent.parent.stat().st_mode) == 0o700


async def test_junk_in_the_state_folder_is_not_a_session(store: ClosingStore, database: Path) -> None:
    await (await store.create("s-1", None)).close()
    sessions = database.parent.parent
    (sessions / ".new-left-by-a-crash").mkdir()
    (sessions / "Not An Id").mkdir()
    (sessions / "a-file").write_text("x")
    assert [ref.session_id for ref in await store.list()] == ["s-1"]
    assert await store.count() == 1


@POSIX
async def test_a_link_is_no_session(store: ClosingStore, database: Path, tmp_path: Path) -> None:
    await (await store.create("s-1", None)).close()
    (database.parent.parent / "s-2").symlink_to(database.parent)
    assert await store.count() == 1
    with pytest.raises(SessionNotFound):
        await store.open("s-2")
    with pytest.raises(SessionNotFound):
        await store.delete("s-2")


async def test_a_header_that_cannot_be_read_is_no_header(store: ClosingStore, database: Path) -> None:
    for name in ("s-1", "s-2", "s-3"):
        await (await store.create(name, None)).close()
    sessions = database.parent.parent
    (sessions / "s-1" / "header.json").mkdir()
    (sessions / "s-2" / "header.json").write_bytes(b"x" * 2_000_000)
    (sessions / "s-3" / "header.json").write_bytes(b"\xff no json")
    found = {ref.session_id: ref.header for ref in await store.list()}
    assert found == {"s-1": None, "s-2": None, "s-3": b"\xff no json"}
    await store.write_header("s-1", b"{}")  # a folder is in the way: no header, and no error
    assert not list(sessions.glob("s-1/.header-*"))


async def test_a_header_is_replaced_whole(
    store: ClosingStore, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await (await store.create("s-1", None)).close()
    await store.write_header("s-1", b'{"old":true}')

    def fail(self: Path, target: Path) -> Path:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    await store.write_header("s-1", b'{"new":true}')
    assert [ref.header for ref in await store.list()] == [b'{"old":true}']
    assert sorted(path.name for path in database.parent.iterdir()) == ["header.json", "lock", "session.db"]


async def test_a_session_that_cannot_be_made_leaves_nothing(
    store: ClosingStore, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(schema, "create", fail)
    with pytest.raises(StorageFailed, match="Free some space"):
        await store.create("s-1", None)
    assert list(database.parent.parent.iterdir()) == []


async def test_a_state_folder_that_is_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    store = ClosingStore(tmp_path / "state")
    with pytest.raises(StorageFailed, match="state"):
        await store.create("s-1", None)
    with pytest.raises(StorageFailed):
        await store.list()
    with pytest.raises(SessionNotFound):
        await store.open("s-1")
    await store.write_header("s-1", b"{}")


async def test_a_state_folder_may_have_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a b", "50%25", "why?mode=memory", "#1", "ünïcödé", "file:x"):
        store = ClosingStore(Path(name))  # relative, too
        log = await store.create("s-1", None)
        await log.append(rows(1, 2))
        assert await (await store.open_reader("s-1")).last_seq() == 2
        assert (tmp_path / name / "sessions" / "s-1" / "session.db").is_file()
        await store.close()


async def test_deleting_takes_whatever_is_in_the_folder(store: ClosingStore, database: Path) -> None:
    await (await store.create("s-1", None)).close()
    (database.parent / "kept" / "deep").mkdir(parents=True)
    (database.parent / "kept" / "deep" / "file").write_text("x")
    await store.delete("s-1")
    assert not database.parent.exists()
