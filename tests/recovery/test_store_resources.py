"""When disk, descriptors or permission run out: real limits, in a process of its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.store.rows import ClosingStore, rows, scanned

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX resource limits")

PRELUDE = """
import asyncio, contextlib, os, resource, signal, sys
from pathlib import Path
from steersman.domain.events import StoredEvent
from steersman.errors import StorageFailed
from steersman.store.folder import FolderStore

store = FolderStore(Path(sys.argv[1]))

def row(seq, size):
    return StoredEvent(seq=seq, time=seq, type="step/start", data=b"x" * size)

async def append_until_it_fails(log):
    seq = await log.last_seq()
    for seq in range(seq + 1, seq + 1_000):
        try:
            await log.append([row(seq, 100_000)])
        except StorageFailed as error:
            print(seq - 1, error)
            return
"""

FILE_LIMIT = """
async def main():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    log = await store.open("s-1")
    resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, resource.RLIM_INFINITY))
    await append_until_it_fails(log)
    with contextlib.suppress(StorageFailed):
        await log.append([row(4, 1)])
        print("written after a failure")
    await log.close()

asyncio.run(main())
"""

SMALL_DISK = """
async def main():
    log = await store.create("s-1", None)
    await append_until_it_fails(log)
    with contextlib.suppress(StorageFailed):
        await log.append([row(await log.last_seq() + 1, 1)])
        print("written after a failure")
    last = await log.last_seq()
    await log.close()
    await store.write_header("s-1", b"x" * 1_000_000)
    for refused in (store.fork("s-2", None, [row(1, 500_000)], "s-1"), store.cut("s-1", last)):
        try:
            await refused
            print("written to a full disk")
        except StorageFailed as error:
            print(error)
    reader = await store.open_reader("s-1")
    assert sum([len(batch) async for batch in reader.scan()]) == last

asyncio.run(main())
"""

NO_DESCRIPTORS = """
async def main():
    log = await store.open("s-1")
    await log.append([row(4, 1)])
    await store.count()  # the interpreter loads what it needs for threads while it can
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    taken = []
    with contextlib.suppress(OSError):
        while True:
            taken.append(os.open("/", os.O_RDONLY))
    for refused in (
        store.open("s-2"), store.create("s-3", None), store.open_reader("s-2"), store.cut("s-2", 1),
        store.fork("s-3", None, [row(1, 1)], "s-2"),
    ):
        try:
            await refused
        except StorageFailed as error:
            print(error)
    await store.write_header("s-1", b"{}")
    await log.append([row(5, 1)])
    print(await log.last_seq())
    for descriptor in taken:
        os.close(descriptor)
    await (await store.open("s-2")).close()
    await log.close()

asyncio.run(main())
"""

READ_ONLY = """
async def main():
    await store.count()  # the interpreter loads what it needs for threads while it can
    if os.geteuid() == 0:
        os.setuid(65534)  # nobody: the superuser may write everything
    for refused in (
        store.open("s-1"), store.create("s-3", None), store.delete("s-1"), store.cut("s-1", 2),
        store.fork("s-3", None, [row(1, 1)], "s-1"), store.keep_transcript("s-1", "words"),
    ):
        try:
            await refused
        except StorageFailed as error:
            print(error)
    await store.write_header("s-1", b"{}")
    reader = await store.open_reader("s-1")
    print(sum([len(batch) async for batch in reader.scan()]))
    await reader.close()

asyncio.run(main())
"""


def run(state: Path, program: str, before: list[str] | None = None) -> str:
    done = subprocess.run(
        [*(before or []), sys.executable, "-c", PRELUDE + program, str(state)],
        capture_output=True,
        text=True,
        timeout=40,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
async def state(tmp_path: Path) -> Path:
    """A state folder with two closed sessions, three rows in the first."""
    store = ClosingStore(tmp_path / "state")
    await (await store.create("s-1", None)).append(rows(1, 3))
    await store.create("s-2", None)
    await store.close()
    return tmp_path / "state"


async def test_a_file_that_may_not_grow_suspends_and_keeps_what_was_acknowledged(state: Path) -> None:
    told = run(state, FILE_LIMIT)
    acknowledged = int(told.split()[0])
    assert "open the session again" in told
    assert "written after" not in told
    store = ClosingStore(state)
    log = await store.open("s-1")
    assert await log.last_seq() >= acknowledged > 3
    assert len(await scanned(log)) == await log.last_seq()
    await store.close()


def test_a_full_disk_suspends_and_keeps_what_was_acknowledged(tmp_path: Path) -> None:
    """On a file system of one megabyte, mounted where only the test sees it."""
    small = tmp_path / "small"
    small.mkdir()
    mount = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
    if (
        shutil.which("unshare") is None
        or subprocess.run(
            [*mount, f"mount -t tmpfs -o size=1m none {small}"], capture_output=True, check=False
        ).returncode
    ):
        pytest.skip("this system lets nobody mount a small file system of his own")
    told = run(
        small / "state",
        SMALL_DISK,
        before=[*mount, f'mount -t tmpfs -o size=1m none {small} && exec "$@"', "sh"],
    )
    assert told.count("The disk is full") == 3
    assert "written" not in told


async def test_without_descriptors_new_sessions_are_refused_and_open_ones_go_on(state: Path) -> None:
    told = run(state, NO_DESCRIPTORS).splitlines()
    assert len(told) == 6
    assert all("limit of open files" in refusal for refusal in told[:5])
    assert told[5] == "5"
    assert sorted(path.name for path in (state / "sessions").iterdir()) == ["s-1", "s-2"]


@pytest.fixture
async def read_only() -> AsyncIterator[Path]:
    """A state folder in which nobody may write, at a place that everybody may enter."""
    folder = Path(tempfile.mkdtemp())
    store = ClosingStore(folder / "state")
    await (await store.create("s-1", None)).append(rows(1, 3))
    await store.close()
    entries = [folder, *folder.rglob("*")]
    for entry in entries:
        entry.chmod(0o555 if entry.is_dir() else 0o444)
    yield folder / "state"
    for entry in entries:
        entry.chmod(0o700 if entry.is_dir() else 0o600)
    shutil.rmtree(folder)


def test_a_folder_that_cannot_be_written_is_read_and_told(read_only: Path) -> None:
    before = sorted(read_only.rglob("*"))
    told = run(read_only, READ_ONLY).splitlines()
    assert len(told) == 7
    assert all("cannot be written" in refusal for refusal in told[:6])
    assert told[6] == "3"
    assert sorted(read_only.rglob("*")) == before
