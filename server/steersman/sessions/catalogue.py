"""Lists of sessions, and pages of events of any session, open here or not. It only reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from steersman.domain.events import StoredEvent
from steersman.domain.fold import empty
from steersman.domain.value import encode
from steersman.domain.views import Damage, SessionInfo
from steersman.errors import InvalidParams, SessionCorrupt, SessionNotFound, StorageFailed
from steersman.ports.event_log import EventReader, SessionRef, SessionStore
from steersman.sessions import requests as rq
from steersman.sessions.loading import Loaded, examine
from steersman.sessions.open_session import OpenSession
from steersman.sessions.projection import seen
from steersman.sessions.uris import uri_path

PAGE = 50
_info_decoder = msgspec.json.Decoder(SessionInfo)


class OpenHere(Protocol):
    """The sessions that this process has open; the registry is one."""

    def sessions(self) -> Sequence[OpenSession]: ...

    def find(self, session_id: str) -> OpenSession | None: ...


class NothingOpen:
    """A process that opens no session."""

    def sessions(self) -> Sequence[OpenSession]:
        return ()

    def find(self, session_id: str) -> OpenSession | None:
        return None


class Catalogue:
    def __init__(self, store: SessionStore, registry: OpenHere) -> None:
        self._store = store
        self._registry = registry

    async def list(self, params: rq.ListSessions) -> rq.SessionList:
        """A page of sessions, newest first. The cursor is opaque to clients. Raises InvalidParams."""
        after = _position(params.cursor)
        infos = [info for info in await self._infos() if _matches(info, params)]
        infos.sort(key=_order)
        if after is not None:
            infos = [info for info in infos if _order(info) > after]
        page = infos[: params.limit or PAGE]
        cursor = None
        if len(infos) > len(page):
            cursor = f"{page[-1].updated_at}:{page[-1].session_id}"
        return rq.SessionList(sessions=page, next_cursor=cursor)

    async def latest(self, workspace_folder: str | None) -> str | None:
        """The id of the session that changed last in a workspace folder; open ones go before."""
        path = uri_path(workspace_folder) if workspace_folder else None
        here = self._registry.sessions()
        fit = [s for s in here if path is None or _path(s.state.workspace_folder) == path]
        if fit:
            # Of two that changed in the same millisecond, the one that was opened later.
            return max(reversed(fit), key=lambda s: s.state.last_time).state.session_id
        found = await self.list(rq.ListSessions(workspace_folder=workspace_folder, limit=1))
        return found.sessions[0].session_id if found.sessions else None

    async def events(self, params: rq.ReadEvents) -> rq.EventPage:
        """Events after a seq. Raises SessionNotFound, SessionCorrupt, StorageFailed."""
        session = self._registry.find(params.session_id)
        if session is not None:
            return await self._page(session.journal.log, params, session.state.last_seq)
        reader = await self._store.open_reader(params.session_id)
        try:
            return await self._page(reader, params, await reader.last_seq())
        finally:
            await reader.close()

    async def _page(self, reader: EventReader, params: rq.ReadEvents, last_seq: int) -> rq.EventPage:
        rows = _json_rows(await reader.read(params.after_seq, params.limit))
        events = [rq.event_view(params.session_id, row) for row in rows]
        last_shown = rows[-1].seq if rows else params.after_seq
        return rq.EventPage(events=events, last_seq=max(last_seq, last_shown), has_more=last_shown < last_seq)

    async def _infos(self) -> Sequence[SessionInfo]:
        infos = []
        for ref in await self._store.list():
            session = self._registry.find(ref.session_id)
            info = session.info() if session is not None else await self._closed(ref)
            if info is not None:
                infos.append(info)
        return infos

    async def _closed(self, ref: SessionRef) -> SessionInfo | None:
        """What a session that is not open here shows: its header, or – if that is missing – its log."""
        if ref.header is not None:
            try:
                return _info_decoder.decode(ref.header)
            except msgspec.MsgspecError:
                pass
        try:
            loaded = await examine(self._store, ref.session_id)
        except SessionNotFound:
            return None
        except StorageFailed as failed:  # of a newer version, or not to be read now: it is there all the same
            loaded = Loaded(state=empty(ref.session_id), damaged=Damage(seq=1, reason=str(failed)))
        info = seen(loaded, read_only=False)
        if loaded.damaged is None:
            await self._store.write_header(ref.session_id, encode(info))
        return info


def _json_rows(rows: Sequence[StoredEvent]) -> Sequence[StoredEvent]:
    """The rows before the first whose data is no JSON: sent, it would break the frame that it is in.

    Raises SessionCorrupt where that is the first row.
    """
    for count, row in enumerate(rows):
        try:
            msgspec.json.decode(row.data)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            if not count:
                raise SessionCorrupt.at(row.seq, f"{row.type}: {error}") from error
            return rows[:count]
    return rows


def _path(uri: str | None) -> object:
    return uri_path(uri) if uri else None


def _order(info: SessionInfo) -> tuple[int, str]:
    return (-info.updated_at, info.session_id)


def _position(cursor: str | None) -> tuple[int, str] | None:
    if cursor is None:
        return None
    time, _, session_id = cursor.partition(":")
    if not time.isdigit() or not session_id:
        raise InvalidParams("cursor is not one that a list gave", ["$.cursor: not a cursor of this list"])
    return (-int(time), session_id)


def _matches(info: SessionInfo, params: rq.ListSessions) -> bool:
    if params.workspace_folder and _path(info.workspace_folder) != uri_path(params.workspace_folder):
        return False
    return params.query is None or params.query.casefold() in info.title.casefold()
