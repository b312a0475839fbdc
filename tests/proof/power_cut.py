"""Power cuts: what a disk may hold after one, whatever of the unsynced writes reached it.

SQLite runs the product's own statements and pragmas over a file system that records each write and sync. An
image of a moment holds everything that was synced before it, and of the rest a random part, the last of it
torn. The product opens each image and must find every row that was acknowledged before that moment.
"""

from __future__ import annotations

import asyncio
import random
import shutil
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any, Final
from unittest import mock

import apsw

from steersman.domain.events import StoredEvent
from steersman.errors import SteersmanError
from steersman.store import schema, sqlite_log
from steersman.store.folder import FolderStore
from steersman.store.sqlite_log import SqliteLog
from tests.proof.store import scratch

SESSION: Final = "s-power"
APPENDS: Final = 110
"""Enough of them that the log is carried over into the database (a checkpoint) more than once."""
IMAGES: Final = 50
"""Images of one workload."""
CONTROLS: Final = 5
"""Every so many-th image is made with weaker settings too, which must lose something."""
_SECTOR: Final = 512
_names = count()


class Op:
    """One thing that was asked of a file: bytes at an offset, a new length, or (neither) a sync."""

    __slots__ = ("data", "file", "kind", "offset")

    def __init__(self, kind: str, file: str, offset: int = 0, data: bytes = b"") -> None:
        self.kind, self.file, self.offset, self.data = kind, file, offset, data


class RecordingFile(apsw.VFSFile):
    """A file whose writes are kept in order."""

    def __init__(self, base: str, name: Any, flags: list[int], ops: list[Op]) -> None:
        self._name = Path(name.filename() if isinstance(name, apsw.URIFilename) else name or "temp").name
        self._ops = ops
        super().__init__(base, name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's names
        self._ops.append(Op("write", self._name, offset, bytes(data)))
        super().xWrite(data, offset)

    def xTruncate(self, size: int) -> None:  # noqa: N802
        self._ops.append(Op("truncate", self._name, size))
        super().xTruncate(size)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._ops.append(Op("sync", self._name))
        super().xSync(flags)


class RecordingDisk(apsw.VFS):
    """The real file system, with a record."""

    def __init__(self) -> None:
        self.name = f"recording-{next(_names)}"
        self.ops: list[Op] = []
        super().__init__(self.name, base="")

    def xOpen(self, name: Any, flags: list[int]) -> RecordingFile:  # noqa: N802
        return RecordingFile("", name, flags, self.ops)


class _Rows(list[Any]):
    """What a statement gave, as sqlite3's cursors offer it."""

    rowcount = -1

    def fetchone(self) -> Any:
        return self[0] if self else None


class ProductsView:
    """An apsw connection with the few methods of sqlite3's that the store uses."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def execute(self, statement: str, values: Iterable[Any] = ()) -> _Rows:
        rows = _Rows(self._connection.execute(statement, tuple(values)))
        rows.rowcount = self._connection.changes()
        return rows

    def executemany(self, statement: str, many: Iterable[Iterable[Any]]) -> None:
        self._connection.executemany(statement, [tuple(values) for values in many])

    @property
    def in_transaction(self) -> bool:
        return self._connection.in_transaction


class Recording:
    """A workload that ran: the files before it, all operations, and which row each moment acknowledged."""

    def __init__(self) -> None:
        self.before: dict[str, bytes] = {}
        self.ops: list[Op] = []
        self.acknowledged: list[tuple[int, int]] = []
        self.rows: list[StoredEvent] = []

    def last_seq(self, moment: int) -> int:
        """The last row acknowledged when `moment` operations had happened."""
        place = bisect_right(self.acknowledged, (moment, 1 << 60))
        return self.acknowledged[place - 1][1] if place else 0

    def image(self, moment: int, dice: random.Random) -> dict[str, bytes]:
        """What the disk may hold if the power fails after `moment` operations."""
        files: dict[str, bytearray] = defaultdict(bytearray)
        files.update({name: bytearray(content) for name, content in self.before.items()})
        unsynced: dict[str, list[Op]] = defaultdict(list)
        for op in self.ops[:moment]:
            if op.kind == "sync":
                _apply(files[op.file], unsynced.pop(op.file, []))
            else:
                unsynced[op.file].append(op)
        share = dice.choice((0.0, 0.5, 0.9, 1.0))
        for name, ops in unsynced.items():
            reached = [op for op in ops if dice.random() < share]
            if reached and reached[-1].kind == "write":
                whole = reached.pop()
                sectors = dice.randrange(len(whole.data) // _SECTOR + 1)
                reached.append(Op("write", name, whole.offset, whole.data[: sectors * _SECTOR]))
            _apply(files[name], reached)
        return {name: bytes(content) for name, content in files.items()}


def _apply(content: bytearray, ops: Iterable[Op]) -> None:
    for op in ops:
        if op.kind == "truncate":
            del content[op.offset :]
            continue
        if len(content) < op.offset:
            content.extend(bytes(op.offset - len(content)))
        content[op.offset : op.offset + len(op.data)] = op.data


@lru_cache(maxsize=2)
def recorded(seed: int, sync: str | None) -> Recording:
    """Run a workload. `sync` replaces the product's PRAGMA synchronous (for the controls)."""
    pragmas = sqlite_log._PRAGMAS
    if sync is not None:
        pragmas = tuple(f"PRAGMA synchronous = {sync}" if "synchronous" in p else p for p in pragmas)
    folder, recording, disk = scratch(), Recording(), RecordingDisk()
    try:
        path = folder / "session.db"
        schema.create(path, SESSION, None)
        recording.before = {file.name: file.read_bytes() for file in folder.iterdir()}
        recording.ops = disk.ops
        connection = apsw.Connection(str(path), vfs=disk.name)
        view: Any = ProductsView(connection)
        with mock.patch.object(sqlite_log, "_PRAGMAS", pragmas):
            taken = sqlite_log._take(view, path, SESSION)
        log = SqliteLog(SESSION, path, None, taken)  # type: ignore[arg-type]
        _work(log, view, recording, random.Random(seed))
        # What a process leaves that does not come to its end: the operations of closing are not recorded.
        recording.ops = list(disk.ops)
        connection.close()
    finally:
        disk.unregister()
        shutil.rmtree(folder)
    return recording


def _work(log: SqliteLog, view: Any, recording: Recording, dice: random.Random) -> None:
    for _ in range(APPENDS):
        first = len(recording.rows) + 1
        new = [
            StoredEvent(seq, seq, "step/start", dice.randbytes(dice.choice((60, 900, 30_000))))
            for seq in range(first, first + dice.randint(1, 5))
        ]
        log._commit(view, tuple(new), {})
        recording.rows += new
        recording.acknowledged.append((len(recording.ops), new[-1].seq))


def lost(recording: Recording, moment: int, dice: random.Random) -> str | None:
    """Why an image is not good; None if the product finds all that was acknowledged, and can go on."""
    state = scratch()
    try:
        folder = state / "sessions" / SESSION
        folder.mkdir(parents=True)
        for name, content in recording.image(moment, dice).items():
            (folder / name).write_bytes(content)
        return asyncio.run(_judged(state, recording, recording.last_seq(moment)))
    finally:
        shutil.rmtree(state)


async def _judged(state: Path, recording: Recording, acknowledged: int) -> str | None:
    try:
        log = await FolderStore(state).open(SESSION)
    except SteersmanError as error:
        return f"cannot be opened: {error}"
    try:
        found = [event async for batch in log.scan() for event in batch]
        if found != recording.rows[: len(found)]:
            return "rows are there that nobody wrote"
        if len(found) < acknowledged:
            return f"{acknowledged} rows were acknowledged, {len(found)} are left"
        await log.append([StoredEvent(len(found) + 1, 1 << 40, "step/start", b"{}")])
    except SteersmanError as error:
        return f"cannot be read or written: {error}"
    finally:
        await log.close()
    return None


def moment_of(recording: Recording, dice: random.Random) -> int:
    """A moment for a cut: any operation, and often one right behind an acknowledgement."""
    if dice.random() < 0.5:
        return dice.choice(recording.acknowledged)[0]
    return dice.randrange(len(recording.ops) + 1)


def cut(number: int, sync: str | None = None) -> str | None:
    """The image of case `number`; `sync` for a control."""
    dice = random.Random(number)
    recording = recorded(number // IMAGES, sync)
    return lost(recording, moment_of(recording, dice), dice)


def power_case(number: int) -> Counter[str]:
    """One image with the product's own settings, which must hold everything; now and then the controls."""
    fault = cut(number)
    if fault is not None:
        raise AssertionError(f"a power cut lost something: {fault}")
    if number % CONTROLS:
        return Counter(images=1)
    normal, off = cut(number, "NORMAL"), cut(number, "OFF")
    return Counter(images=1, controls=1, lost_with_normal=normal is not None, lost_with_off=off is not None)
