"""What every store promises the core: the test double in memory and the real one, held to the same words."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path

import pytest

from steersman.domain.events import CHUNK, StoredEvent
from steersman.errors import SessionCorrupt, SessionLocked, SessionNotFound, StorageFailed
from steersman.ports.event_log import SessionStore
from steersman.ports.event_log_memory import MemoryStore
from tests.unit.store.rows import ClosingStore, row, rows, scanned

ID = "s-0123456789"


@pytest.fixture(params=["memory", "folder"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[SessionStore]:
    if request.param == "memory":
        yield MemoryStore()
        return
    folder = ClosingStore(tmp_path / "state")
    yield folder
    await folder.close()


async def test_a_new_log_is_empty(store: SessionStore) -> None:
    log = await store.create(ID, None)
    assert log.session_id == ID
    assert await log.last_seq() == 0
    assert await log.read(0, 10) == []
    assert await scanned(log) == []
    await log.close()


async def test_what_was_appended_is_read_back_byte_for_byte(store: SessionStore) -> None:
    log = await store.create(ID, "file:///w")
    first = StoredEvent(seq=1, time=-5, type="a/ü", data=b'{"t":"\xe2\x80\xa8 \\u0000"}', ignorable=True)
    second = StoredEvent(seq=2, time=2**62, type="b/b", data=b"")
    await log.append([first, second])
    await log.append([row(3)])
    assert await log.read(0, 10) == [first, second, row(3)]
    await log.close()


async def test_rows_outlive_the_writer(store: SessionStore) -> None:
    log = await store.create(ID, None)
    await log.append(rows(1, 7))
    await log.close()
    again = await store.open(ID)
    assert await again.last_seq() == 7
    await again.append(rows(8, 9))
    assert await again.read(0, 100) == rows(1, 9)
    await again.close()


@pytest.mark.parametrize(
    ("after", "limit", "seqs"),
    [
        (0, 2, [1, 2]),
        (3, 2, [4, 5]),
        (4, 9, [5]),
        (5, 9, []),
        (99, 9, []),
        (2**70, 9, []),
        (0, 0, []),
        (0, -1, []),
        (3, 2**70, [4, 5]),
    ],
)
async def test_a_page_follows_a_seq(store: SessionStore, after: int, limit: int, seqs: list[int]) -> None:
    log = await store.create(ID, None)
    await log.append(rows(1, 5))
    assert [event.seq for event in await log.read(after, limit)] == seqs
    await log.close()


async def test_a_scan_gives_every_row_and_leaves_out_the_data_of_chunks(store: SessionStore) -> None:
    log = await store.create(ID, None)
    await log.append(rows(1, 3_000))
    await log.append(rows(3_001, 5_000))
    found = await scanned(log)
    assert [event.seq for event in found] == list(range(1, 5_001))
    for event, written in zip(found, rows(1, 5_000), strict=True):
        assert event.data == (b"" if event.type == CHUNK else written.data)
        assert (event.time, event.type, event.ignorable) == (written.time, written.type, written.ignorable)
    await log.close()


@pytest.mark.parametrize("wrong", [[5], [2], [0], [-1], [3, 5], [3, 3], [4, 3]])
async def test_a_wrong_seq_is_refused_and_suspends(store: SessionStore, wrong: list[int]) -> None:
    log = await store.create(ID, None)
    await log.append(rows(1, 2))
    with pytest.raises(StorageFailed):
        await log.append([row(seq) for seq in wrong])
    with pytest.raises(StorageFailed):
        await log.append([row(3)])
    assert await log.read(0, 10) == rows(1, 2)
    await log.close()
    again = await store.open(ID)
    await again.append(rows(3, 3))
    assert await again.last_seq() == 3
    await again.close()


async def test_blobs_are_found_by_their_digest(store: SessionStore) -> None:
    log = await store.create(ID, None)
    content = b"\x00 any bytes \xff"
    digest = sha256(content).hexdigest()
    assert await log.blob(digest) is None
    await log.append([row(1)], {digest: content})
    await log.append([row(2)], {digest: content, sha256(b"").hexdigest(): b""})
    await log.append([], {sha256(b"alone").hexdigest(): b"alone"})
    assert await log.blob(digest) == content
    assert await log.blob(sha256(b"").hexdigest()) == b""
    assert await log.blob(sha256(b"alone").hexdigest()) == b"alone"
    assert await log.blob("no digest ü") is None
    await log.close()


async def test_a_blob_under_another_digest_is_refused_before_anything_is_written(store: SessionStore) -> None:
    log = await store.create(ID, None)
    with pytest.raises(ValueError, match="digest"):
        await log.append([row(1)], {"0" * 64: b"something"})
    assert await log.last_seq() == 0
    await log.append([row(1)])
    await log.close()


async def test_a_blob_goes_with_its_events_or_not_at_all(store: SessionStore) -> None:
    log = await store.create(ID, None)
    digest = sha256(b"content").hexdigest()
    with pytest.raises(StorageFailed):
        await log.append([row(7)], {digest: b"content"})
    assert await log.blob(digest) is None
    await log.close()


async def test_appends_that_are_not_awaited_in_turn_keep_their_order(store: SessionStore) -> None:
    log = await store.create(ID, None)
    await asyncio.gather(*(log.append([row(seq)]) for seq in range(1, 51)))
    assert [event.seq for event in await log.read(0, 100)] == list(range(1, 51))
    await log.close()


async def test_one_writer_a_session(store: SessionStore) -> None:
    log = await store.create(ID, None)
    with pytest.raises(SessionLocked) as refused:
        await store.open(ID)
    assert {"pid", "host"} <= refused.value.data["holder"].keys()
    other = await store.create("s-other", None)
    await log.close()
    await (await store.open(ID)).close()
    await other.close()


async def test_a_reader_sees_what_a_live_writer_commits(store: SessionStore) -> None:
    log = await store.create(ID, None)
    reader = await store.open_reader(ID)
    assert await reader.last_seq() == 0
    content = sha256(b"content").hexdigest()
    await log.append(rows(1, 4), {content: b"content"})
    assert reader.session_id == ID
    assert await reader.last_seq() == 4
    assert await reader.read(2, 10) == rows(3, 4)
    assert [event.seq for event in await scanned(reader)] == [1, 2, 3, 4]
    assert await reader.blob(content) == b"content"
    await log.close()
    assert await reader.read(0, 10) == rows(1, 4)
    await reader.close()


async def test_a_closed_log_refuses_everything_and_closes_again(store: SessionStore) -> None:
    log = await store.create(ID, None)
    reader = await store.open_reader(ID)
    for closed in (log, reader):
        await closed.close()
        await closed.close()
        with pytest.raises(StorageFailed):
            await closed.read(0, 1)
        with pytest.raises(StorageFailed):
            await closed.last_seq()
        with pytest.raises(StorageFailed):
            await closed.blob("0" * 64)
    with pytest.raises(StorageFailed):
        await log.append([row(1)])


async def test_closing_one_log_twice_does_not_take_the_lock_from_its_successor(store: SessionStore) -> None:
    first = await store.create(ID, None)
    await first.close()
    second = await store.open(ID)
    await first.close()
    with pytest.raises(SessionLocked):
        await store.open(ID)
    await second.close()


async def test_an_id_is_used_once(store: SessionStore) -> None:
    await (await store.create(ID, None)).close()
    with pytest.raises(StorageFailed):
        await store.create(ID, None)
    assert await store.count() == 1


@pytest.mark.parametrize(
    "bad", ["", ".", "..", "../s-1", "a/b", "a\\b", "A", "s\x00", "s\n", "ü", "x" * 65, "-s"]
)
async def test_what_is_no_session_id_names_no_session(store: SessionStore, bad: str) -> None:
    with pytest.raises(StorageFailed):
        await store.create(bad, None)
    with pytest.raises(SessionNotFound):
        await store.open(bad)
    with pytest.raises(SessionNotFound):
        await store.open_reader(bad)
    with pytest.raises(SessionNotFound):
        await store.delete(bad)
    await store.write_header(bad, b"{}")
    assert await store.list() == []


async def test_lists_show_each_session_with_its_last_header(store: SessionStore) -> None:
    assert await store.list() == []
    assert await store.count() == 0
    for name in ("s-a", "s-b"):
        await (await store.create(name, None)).close()
    await asyncio.gather(*(store.write_header("s-a", b'{"n":%d}' % n) for n in range(20)))
    await store.write_header("s-unknown", b"{}")
    found = {ref.session_id: ref.header for ref in await store.list()}
    assert found == {"s-a": b'{"n":19}', "s-b": None}
    assert await store.count() == 2


async def test_a_deleted_session_is_gone_and_its_id_free(store: SessionStore) -> None:
    log = await store.create(ID, None)
    await store.write_header(ID, b"{}")
    with pytest.raises(SessionLocked):
        await store.delete(ID)
    await log.append([row(1)])
    await log.close()
    await store.delete(ID)
    assert await store.count() == 0
    for gone in (store.open, store.open_reader, store.delete):
        with pytest.raises(SessionNotFound):
            await gone(ID)
    await (await store.create(ID, None)).close()


async def test_the_double_fails_on_demand() -> None:
    store = MemoryStore()
    log = await store.create(ID, None)
    store.fail_next = StorageFailed("The disk is full.")
    with pytest.raises(StorageFailed, match="disk is full"):
        await log.append([row(1)])
    with pytest.raises(StorageFailed, match="suspended"):
        await log.append([row(1)])
    await log.close()
    again = await store.open(ID)
    await again.append([row(1)])
    assert store.sessions[ID].rows == [row(1)]
    await again.close()


async def test_a_fork_begins_with_rows_and_has_the_blobs_of_the_other(store: SessionStore) -> None:
    parent = await store.create(ID, None)
    key = sha256(b"content").hexdigest()
    await parent.append(rows(1, 5), {key: b"content"})
    child = await store.fork("s-child", "file:///w", rows(1, 3), ID)
    assert await child.read(0, 10) == rows(1, 3)
    assert await child.blob(key) == b"content"
    await child.append(rows(4, 4))
    assert len(await scanned(child)) == 4
    assert await parent.read(0, 10) == rows(1, 5)
    await child.close()
    await parent.close()


async def test_a_fork_of_nobody_leaves_nothing(store: SessionStore) -> None:
    with pytest.raises(SessionNotFound):
        await store.fork("s-child", None, rows(1, 3), "s-nobody")
    assert await store.count() == 0


async def test_a_cut_log_ends_where_it_was_cut_and_goes_on_there(store: SessionStore) -> None:
    log = await store.create(ID, None)
    key = sha256(b"content").hexdigest()
    await log.append(rows(1, 9), {key: b"content"})
    await log.close()
    await store.cut(ID, 6)
    again = await store.open(ID)
    assert await again.read(0, 100) == rows(1, 6)
    assert await again.blob(key) == b"content"
    await again.append(rows(7, 8))
    assert [event.seq for event in await scanned(again)] == list(range(1, 9))
    await again.close()


async def test_a_log_that_is_open_or_too_short_is_not_cut(store: SessionStore) -> None:
    log = await store.create(ID, None)
    await log.append(rows(1, 3))
    with pytest.raises(SessionLocked):
        await store.cut(ID, 2)
    await log.close()
    with pytest.raises(SessionCorrupt):
        await store.cut(ID, 4)
    with pytest.raises(SessionNotFound):
        await store.cut("s-nobody", 1)
    reader = await store.open_reader(ID)
    assert await reader.read(0, 10) == rows(1, 3)


async def test_absent_blobs_are_those_that_nobody_stored(store: SessionStore) -> None:
    log = await store.create(ID, None)
    key = sha256(b"content").hexdigest()
    await log.append([], {key: b"content"})
    assert await log.absent_blobs([key, "f" * 64]) == {"f" * 64}
    assert await log.absent_blobs([]) == set()
    await log.close()
