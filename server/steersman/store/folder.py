"""The state folder: one folder a session, holding its database, its lock and its header for lists.

No name reaches the file system that is not a session id; listing opens no database.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from steersman.domain.events import StoredEvent
from steersman.domain.ids import is_session_id
from steersman.errors import SessionNotFound, StorageFailed
from steersman.ports.event_log import EventLog, EventReader, SessionRef, SessionStore
from steersman.store import rows, schema, seed
from steersman.store.failures import ERRORS, read_failed, storage_failed
from steersman.store.mounts import refuse_network
from steersman.store.seed import sync_folder
from steersman.store.sqlite_log import open_log, take_lock
from steersman.store.sqlite_reader import Beside, SqliteReader

_DATABASE: Final = "session.db"
_HEADER: Final = "header.json"
_TRANSCRIPT: Final = "transcript.md"
_LOCK: Final = "lock"
_HEADER_BYTES: Final = 1024 * 1024

_log = logging.getLogger(__name__)


class FolderStore:
    """A `SessionStore` at `state_dir`, which is made when it is first needed."""

    def __init__(self, state_dir: Path) -> None:
        self._state_dir = state_dir.absolute()
        self._sessions = self._state_dir / "sessions"
        self._header_order = asyncio.Lock()

    async def create(self, session_id: str, workspace_folder: str | None) -> EventLog:
        def draw(database: Path) -> None:
            schema.create(database, session_id, workspace_folder)

        await asyncio.to_thread(self._make, session_id, draw)
        return await self.open(session_id)

    async def fork(
        self, session_id: str, workspace_folder: str | None, first: Sequence[StoredEvent], blobs_of: str
    ) -> EventLog:
        parent = self._folder(blobs_of) / _DATABASE

        def draw(database: Path) -> None:
            def fill(source: sqlite3.Connection) -> None:
                database.unlink(missing_ok=True)
                seed.make(database, session_id, workspace_folder, first, rows.readable_blobs(source))

            Beside(parent, blobs_of).read(fill)

        await asyncio.to_thread(self._make, session_id, draw)
        return await self.open(session_id)

    async def cut(self, session_id: str, through_seq: int) -> None:
        path = self._folder(session_id) / _DATABASE
        try:
            await asyncio.to_thread(seed.cut, path, session_id, through_seq)
        except ERRORS as error:
            raise read_failed(error, path) from error

    async def keep_transcript(self, session_id: str, text: str) -> Path:
        path = self._folder(session_id) / _TRANSCRIPT
        try:
            await asyncio.to_thread(_replace, path, text.encode())
        except OSError as error:
            raise storage_failed(error, path) from error
        return path

    async def open(self, session_id: str) -> EventLog:
        folder = self._folder(session_id)
        try:
            return await open_log(folder / _DATABASE, session_id)
        except FileNotFoundError as error:
            raise _not_found(session_id) from error

    async def open_reader(self, session_id: str) -> EventReader:
        path = self._folder(session_id) / _DATABASE
        reader = SqliteReader(session_id, path, Beside(path, session_id))
        await reader.last_seq()  # a file that cannot be read is told now
        return reader

    async def list(self) -> list[SessionRef]:
        return await asyncio.to_thread(lambda: [_ref(folder) for folder in self._folders()])

    async def count(self) -> int:
        return await asyncio.to_thread(lambda: sum(1 for _ in self._folders()))

    async def write_header(self, session_id: str, header: bytes) -> None:
        async with self._header_order:  # the last one told is the last one stored
            with contextlib.suppress(SessionNotFound):
                await asyncio.to_thread(_replace_header, self._folder(session_id), header)

    async def delete(self, session_id: str) -> None:
        await asyncio.to_thread(_delete, self._folder(session_id), session_id)

    def _folder(self, session_id: str) -> Path:
        folder = self._sessions / session_id if is_session_id(session_id) else None
        if folder is None or not _is_folder(folder):
            raise _not_found(session_id)
        return folder

    def _folders(self) -> Iterator[Path]:
        try:
            entries = list(self._sessions.iterdir())
        except FileNotFoundError:
            return
        except OSError as error:
            raise storage_failed(error, self._sessions) from error
        yield from (entry for entry in entries if is_session_id(entry.name) and _is_folder(entry))

    def _make(self, session_id: str, draw: Callable[[Path], None]) -> None:
        """Build the folder under another name and rename it: a session exists whole or not at all.

        `draw` makes the database at the path that it is given.
        """
        if not is_session_id(session_id):
            raise StorageFailed(f"{session_id!r} is not a session id.")
        target = self._sessions / session_id
        try:
            self._prepare()
            refuse_network(self._sessions)
            if target.exists():
                raise StorageFailed(f"There is a session {session_id} already. Open it, or use another id.")
            draft = Path(tempfile.mkdtemp(prefix=".new-", dir=self._sessions))
            try:
                draw(draft / _DATABASE)
                sync_folder(draft)
                draft.rename(target)
            except BaseException:
                with contextlib.suppress(OSError):
                    seed.remove(draft / _DATABASE)  # by name: there may be no descriptor left to look
                    draft.rmdir()
                raise
            sync_folder(self._sessions)
        except (OSError, sqlite3.Error) as error:
            raise storage_failed(error, target) from error

    def _prepare(self) -> None:
        self._state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._sessions.mkdir(mode=0o700, exist_ok=True)
        if stat.S_IMODE(self._sessions.stat().st_mode) & 0o077:
            self._sessions.chmod(0o700)


def _is_folder(path: Path) -> bool:
    """Whether `path` is a folder of its own, not a link to one."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


def _not_found(session_id: str) -> SessionNotFound:
    return SessionNotFound(
        f"There is no session {session_id[:80]!r}. List the sessions to see which there are."
    )


def _ref(folder: Path) -> SessionRef:
    header: bytes | None = None
    with contextlib.suppress(OSError), (folder / _HEADER).open("rb") as file:
        content = file.read(_HEADER_BYTES + 1)
        header = content if len(content) <= _HEADER_BYTES else None
    return SessionRef(session_id=folder.name, header=header)


def _replace_header(folder: Path, header: bytes) -> None:
    try:
        _replace(folder / _HEADER, header)
    except OSError as error:
        _log.warning("the header of %s was not stored: %s", folder.name, error)


def _replace(path: Path, content: bytes) -> None:
    """Write a file whole, or leave the one that is there. Raises OSError."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.stem}-", dir=path.parent)
    draft = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        draft.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise


def _delete(folder: Path, session_id: str) -> None:
    """Empty the folder under its lock; then the lock can go, since it guards nothing any more."""
    try:
        lock = take_lock(folder, session_id)
        try:
            for entry in folder.iterdir():
                if entry.name != _LOCK:
                    _remove(entry)
        finally:
            lock.release()
        shutil.rmtree(folder)
    except FileNotFoundError as error:
        raise _not_found(session_id) from error
    except OSError as error:
        raise storage_failed(error, folder) from error


def _remove(entry: Path) -> None:
    if _is_folder(entry):
        shutil.rmtree(entry)
    else:
        entry.unlink()


_port: type[SessionStore] = FolderStore  # the type checker holds the adapter to the port
