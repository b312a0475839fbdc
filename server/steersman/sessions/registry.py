"""The sessions that this process has open. Opening is one future a session, so verbs queue up behind it."""

from __future__ import annotations

import asyncio
from asyncio import Future
from collections.abc import Coroutine
from typing import Any, Literal

from steersman.domain import events as ev
from steersman.domain.ids import is_session_id, new_id
from steersman.domain.value import clean_text
from steersman.domain.views import SessionInfo
from steersman.errors import InvalidParams, SessionBusy, SessionNotFound, WorkspaceMismatch
from steersman.loop.services import Services
from steersman.ports.event_log import SessionStore
from steersman.ports.feed import Feed
from steersman.sessions import requests as rq
from steersman.sessions.fork import prepare
from steersman.sessions.loading import examine
from steersman.sessions.open_session import SERVER, STOP_SECONDS, OpenSession
from steersman.sessions.projection import seen
from steersman.sessions.repair import require_damage
from steersman.sessions.uris import uri_path


class Registry:
    """Opens, finds and closes sessions. A failed opening leaves nothing behind."""

    def __init__(self, services: Services, store: SessionStore, feed: Feed) -> None:
        self._services = services
        self._store = store
        self._feed = feed
        self._open: dict[str, Future[OpenSession]] = {}

    def sessions(self) -> list[OpenSession]:
        """Those that are open now."""
        done = [f for f in self._open.values() if f.done() and not f.cancelled()]
        return [future.result() for future in done if future.exception() is None]

    def find(self, session_id: str) -> OpenSession | None:
        future = self._open.get(session_id)
        if future is None or not future.done() or future.cancelled() or future.exception():
            return None
        return future.result()

    def create(self, params: rq.NewSession) -> Future[OpenSession]:
        """A new session. Fails with InvalidParams, WorkspaceMismatch, StorageFailed."""
        session_id = new_id("s")
        return self._start(session_id, self._create(session_id, params))

    def opened(self, session_id: str) -> Future[OpenSession]:
        """The open session, opening it if need be.

        Fails with SessionNotFound, SessionLocked, SessionCorrupt, WorkspaceMismatch, StorageFailed.
        """
        known = self._open.get(session_id)
        if known is not None:
            return known
        return self._start(session_id, self._take(session_id))

    async def view(self, session_id: str) -> SessionInfo:
        """A session without taking it, damaged or not. Raises SessionNotFound, StorageFailed."""
        session = self.find(session_id)
        if session is not None:
            return session.info()
        return seen(await examine(self._store, _checked(session_id)), read_only=True)

    def reopened(self, session_id: str) -> Future[OpenSession]:
        """As `opened`; a session that a storage error has suspended is taken again from its log."""
        session = self.find(session_id)
        if session is None or session.journal.suspended is None:
            return self.opened(session_id)
        return self._start(session_id, self._take_again(session_id, session))

    def forked(self, params: rq.ForkSession) -> Future[OpenSession]:
        """A child of a session, which need not be open.

        Fails with SessionNotFound, SessionCorrupt, InvalidParams, WorkspaceMismatch, StorageFailed.
        """
        child_id = new_id("s")
        return self._start(child_id, self._fork(child_id, params))

    async def cut(self, params: rq.RepairSession) -> None:
        """Cut a damaged session back, as yet unopened; the damaged original stays beside it.

        Raises SessionNotFound, SessionBusy, SessionLocked, SessionCorrupt, WorkspaceMismatch, Unsupported,
        StorageFailed.
        """
        await require_damage(self._store, params, self._require_here)
        await self.close(params.session_id)
        await self._store.cut(params.session_id, params.through_seq)

    def repaired(self, session_id: str) -> Future[OpenSession]:
        """A session that has just been cut. Fails as `opened`."""
        return self._start(session_id, self._take(session_id, "repair"))

    async def close(self, session_id: str) -> None:
        """Give the session back. Raises SessionBusy while it runs, SessionNotFound if there is none."""
        future = self._open.get(session_id)
        if future is None:
            if session_id not in {ref.session_id for ref in await self._store.list()}:
                raise _not_found(session_id)
            return
        session = await asyncio.shield(future)
        if session.agent.phase != "idle":
            raise SessionBusy("The session is running: cancel the turn first, then close it.")
        if self._open.get(session_id) is future:
            del self._open[session_id]
            await session.close()

    async def close_all(self) -> None:
        """Stop every turn and close every session, all at once. What was being opened is not."""
        pending = [f for f in self._open.values() if not f.done()]
        for opening in pending:
            opening.cancel()
        if pending:
            await asyncio.wait(pending, timeout=STOP_SECONDS)
        sessions = self.sessions()
        await asyncio.gather(
            *(s.close(lambda s=s: s.agent.abort("shutdown")) for s in sessions),  # type: ignore[misc]
            return_exceptions=True,
        )
        self._open.clear()

    def _start(self, session_id: str, work: Coroutine[Any, Any, OpenSession]) -> Future[OpenSession]:
        task = asyncio.get_running_loop().create_task(work, name=f"open {session_id}")
        self._open[session_id] = task

        def done(task: Future[OpenSession]) -> None:
            if task.cancelled() or task.exception() is not None:
                if self._open.get(session_id) is task:
                    del self._open[session_id]
            else:
                # Behind the callbacks that answer the opening (and theirs), so the answer comes first.
                loop = asyncio.get_running_loop()
                loop.call_soon(loop.call_soon, task.result().announcer.start)

        task.add_done_callback(done)
        return task

    async def _create(self, session_id: str, params: rq.NewSession) -> OpenSession:
        folder = self._folder(params.workspace_folder)
        created = ev.SessionCreated(
            format_version=ev.FORMAT_VERSION,
            workspace_folder=folder,
            title=clean_text(params.title or "").strip(),
        )
        configured = None
        if params.model is not None or params.mode is not None:
            configured = ev.SessionConfigured(model=params.model, mode=params.mode)
        log = await self._store.create(session_id, folder)
        try:
            return await OpenSession.create(log, created, configured, self._services, self._feed, self._store)
        except BaseException:
            await log.close()
            raise

    async def _take_again(self, session_id: str, session: OpenSession) -> OpenSession:
        await session.close(lambda: session.agent.abort("shutdown"))  # what still runs must not go on unseen
        return await self._take(session_id)

    async def _fork(self, child_id: str, params: rq.ForkSession) -> OpenSession:
        parent = await self._store.open_reader(_checked(params.session_id))
        services = self._services
        try:
            fork = await prepare(parent, params.at_seq, child_id, SERVER, services.editor, services.clock)
        finally:
            await parent.close()
        folder = fork.state.workspace_folder
        self._require_here(folder)
        log = await self._store.fork(child_id, folder, fork.rows, parent.session_id)
        return OpenSession.forked(log, fork, services, self._feed, self._store)

    async def _take(self, session_id: str, reason: Literal["resume", "repair"] = "resume") -> OpenSession:
        log = await self._store.open(_checked(session_id))
        try:
            session = await OpenSession.take(
                log, self._services, self._feed, self._store, self._require_here, reason
            )
        except BaseException:
            await log.close()
            raise
        return session

    def _folder(self, wanted: str | None) -> str | None:
        """The workspace folder of a new session: the one named, which must be open, or the first."""
        folders = self._services.editor.folders()
        if wanted is None:
            return folders[0].uri if folders else None
        path = uri_path(wanted)
        if path is None or not path.is_dir():
            raise InvalidParams(
                f"workspaceFolder {wanted!r} is not a folder that exists",
                ["$.workspaceFolder: not a folder that exists"],
            )
        for folder in folders:
            if folder.path == path:
                return folder.uri
        raise self._mismatch(wanted)

    def _require_here(self, folder: str | None) -> None:
        """Raises WorkspaceMismatch where the session belongs to a folder that is not open here."""
        if folder is None:
            return
        path = uri_path(folder)
        if path not in {f.path for f in self._services.editor.folders()}:
            raise self._mismatch(folder)

    def _mismatch(self, folder: str) -> WorkspaceMismatch:
        here = [f.uri for f in self._services.editor.folders()]
        return WorkspaceMismatch(
            f"The session belongs to {folder}, which is not open here ({', '.join(here) or 'nothing is'}). "
            "Open that folder, or open the session read-only.",
            session=folder,
            open=here,
        )


def _checked(session_id: str) -> str:
    if not is_session_id(session_id):
        raise _not_found(session_id)
    return session_id


def _not_found(session_id: str) -> SessionNotFound:
    return SessionNotFound(f"There is no session {session_id!r} here; list the sessions to see which are.")
