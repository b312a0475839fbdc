"""Real processes on one state folder: killed, racing, holding. No acknowledged event is ever missing."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from steersman.errors import SessionLocked
from tests.unit.store.rows import ClosingStore, row, scanned

PRELUDE = """
import asyncio, subprocess, sys
from hashlib import sha256
from pathlib import Path
from steersman.domain.events import StoredEvent
from steersman.errors import SteersmanError
from steersman.store.folder import FolderStore

store = FolderStore(Path(sys.argv[1]))

def say(*words):
    print(*words, flush=True)

def row(seq):
    return StoredEvent(seq=seq, time=seq, type="step/start", data=b"x" * 500)
"""

WRITE = """
async def main():
    log = await store.open("s-1")
    seq = await log.last_seq()
    say("open", seq)
    while True:
        events = [row(seq + n) for n in range(1, 4)]
        content = str(seq + 3).encode()
        await log.append(events, {sha256(content).hexdigest(): content})
        seq += 3
        say(seq)

asyncio.run(main())
"""

HOLD = """
async def main():
    log = await store.open("s-1")
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    say(child.pid)
    await asyncio.sleep(60)

asyncio.run(main())
"""

CREATE = """
async def main():
    say("ready")
    sys.stdin.readline()
    try:
        log = await store.create("s-1", None)
    except SteersmanError as error:
        say(type(error).__name__)
        return
    await log.append([row(1)])
    say("made")
    sys.stdin.readline()
    await log.close()

asyncio.run(main())
"""

Start = Callable[[str], "subprocess.Popen[str]"]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def start(state: Path) -> Iterator[Start]:
    """Starts programs that use the state folder; ends those that are left."""
    running: list[subprocess.Popen[str]] = []

    def start_one(program: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", PRELUDE + program, str(state)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        return process

    yield start_one
    for process in running:
        process.kill()
        process.communicate()


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def tell(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


async def test_a_killed_writer_loses_no_acknowledged_event_and_its_lock_is_free(
    state: Path, start: Start
) -> None:
    store = ClosingStore(state)
    await (await store.create("s-1", None)).close()
    for seed in range(6):
        writer = start(WRITE)
        assert line(writer).startswith("open")
        acknowledged = 0
        for _ in range(random.Random(seed).randrange(1, 60)):
            acknowledged = int(line(writer))
        writer.kill()
        unread, _ = writer.communicate()
        acknowledged = max([acknowledged, *map(int, unread.split())])

        began = time.monotonic()
        log = await store.open("s-1")
        assert time.monotonic() - began < 2
        last = await log.last_seq()
        assert last >= acknowledged
        assert last % 3 == 0
        assert [event.seq for event in await scanned(log)] == list(range(1, last + 1))
        for seq in range(3, last + 1, 3):
            assert await log.blob(sha256(str(seq).encode()).hexdigest()) == str(seq).encode()
        await log.close()


async def test_a_reader_beside_a_killed_writer_sees_everything(state: Path, start: Start) -> None:
    store = ClosingStore(state)
    await (await store.create("s-1", None)).close()
    writer = start(WRITE)
    line(writer)
    acknowledged = int(line(writer))
    writer.kill()
    writer.communicate()
    reader = await store.open_reader("s-1")
    assert len(await scanned(reader)) >= acknowledged
    await reader.close()


async def test_a_session_held_elsewhere_names_its_holder_and_may_be_read(state: Path, start: Start) -> None:
    store = ClosingStore(state)
    await (await store.create("s-1", None)).close()
    holder = start(HOLD)
    child = int(line(holder))
    try:
        with pytest.raises(SessionLocked) as refused:
            await store.open("s-1")
        assert refused.value.data["holder"]["pid"] == holder.pid
        with pytest.raises(SessionLocked):
            await store.delete("s-1")
        reader = await store.open_reader("s-1")
        assert await reader.last_seq() == 0

        holder.kill()
        holder.wait()
        log = await store.open("s-1")  # the holder's child lives on, and does not hold the lock
        os.kill(child, 0)
        await log.append([row(1)])
        assert await reader.last_seq() == 1
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGTERM)
        await store.close()


async def test_one_of_many_processes_creates_a_session(state: Path, start: Start) -> None:
    creators = [start(CREATE) for _ in range(4)]
    for creator in creators:
        assert line(creator) == "ready"
    for creator in creators:
        tell(creator)
    told = sorted(line(creator) for creator in creators)
    assert told == ["StorageFailed"] * 3 + ["made"]
    for creator in creators:
        with contextlib.suppress(BrokenPipeError):
            tell(creator)
        assert creator.wait(20) == 0
    store = ClosingStore(state)
    log = await store.open("s-1")
    assert [event.seq for event in await scanned(log)] == [1]
    assert [ref.session_id for ref in await store.list()] == ["s-1"]
    await store.close()
