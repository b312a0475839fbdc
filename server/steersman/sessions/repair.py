"""Whether a log may be cut back to an earlier event, on a person's word. A whole one never is."""

from __future__ import annotations

from collections.abc import Callable

from steersman.errors import SessionCorrupt, Unsupported
from steersman.ports.event_log import SessionStore
from steersman.sessions import requests as rq
from steersman.sessions.loading import examine


async def require_damage(
    store: SessionStore, params: rq.RepairSession, require_here: Callable[[str | None], None]
) -> None:
    """Refuse a cut after `through_seq` unless the log is damaged behind it, and whole so far.

    Raises:
        SessionNotFound, StorageFailed, WorkspaceMismatch.
        SessionCorrupt: the damage begins before `through_seq`; its `seq` says where.
        Unsupported: the log is whole.
    """
    loaded = await examine(store, params.session_id)
    if loaded.damaged is None:
        raise Unsupported(
            "The log of this session is whole: there is nothing to repair. "
            "To go on from an earlier event, fork the session there."
        )
    kept = (await examine(store, params.session_id, through=params.through_seq)).state
    if params.through_seq >= loaded.damaged.seq or kept.last_seq != params.through_seq:
        raise SessionCorrupt.at(loaded.damaged.seq, loaded.damaged.reason)
    require_here(kept.workspace_folder)
