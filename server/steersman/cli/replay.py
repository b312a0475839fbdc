"""`steersman replay`: what a log says of any of its events, and the events as they come."""

from __future__ import annotations

import argparse

import msgspec

from steersman.cli import terminal
from steersman.cli.terminal import ExitCode, named, say_bytes, say_json, store_at
from steersman.domain.value import Value
from steersman.domain.views import SessionInfo
from steersman.errors import SessionCorrupt
from steersman.ports.event_log import SessionStore
from steersman.sessions.loading import Loaded, examine
from steersman.sessions.projection import seen
from steersman.sessions.replay import follow, last_request
from steersman.sessions.requests import event_view


class Replayed(Value, frozen=True, omit_defaults=False):
    """A moment of a session. `request` is the last one by then, its JSON as it was sent."""

    session: SessionInfo
    request: msgspec.Raw | None


def run(arguments: argparse.Namespace) -> int:
    """Replay or follow; the exit code of the process."""
    return terminal.run("replay", _replay(store_at(arguments.state_dir), arguments))


async def _replay(store: SessionStore, arguments: argparse.Namespace) -> int:
    session_id = await named(store, arguments.session)
    if arguments.follow:
        await _follow(store, session_id, arguments.at)
        return ExitCode.DONE
    loaded = await examine(store, session_id, through=arguments.at)
    _require_whole(loaded, arguments.at)
    request = last_request(loaded)
    if not arguments.request:
        raw = msgspec.Raw(request) if request is not None else None
        say_json(Replayed(session=seen(loaded, read_only=True), request=raw))
    elif request is None:
        raise terminal.NotOne(f"the model had been asked nothing by event {loaded.state.last_seq}")
    else:
        say_bytes(request)
    return ExitCode.DONE


async def _follow(store: SessionStore, session_id: str, after: int | None) -> None:
    """Print events, one JSON a line, until the session or the reader of the output is gone."""
    reader = await store.open_reader(session_id)
    try:
        async for rows in follow(reader, await reader.last_seq() if after is None else after):
            for row in rows:
                say_json(event_view(session_id, row))
    finally:
        await reader.close()


def _require_whole(loaded: Loaded, at: int | None) -> None:
    """Refuse a moment that the log does not have, or not any more."""
    if loaded.damaged is not None:
        raise SessionCorrupt.at(loaded.damaged.seq, loaded.damaged.reason)
    if at is not None and loaded.state.last_seq < at:
        raise terminal.NotOne(f"the session has no event {at}: the last is {loaded.state.last_seq}")
