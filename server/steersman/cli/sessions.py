"""`steersman sessions`: looking at stored sessions, and the two verbs that change them. It asks no model."""

from __future__ import annotations

import argparse
import os
from datetime import datetime

import msgspec

from steersman.cli import terminal
from steersman.cli.terminal import ExitCode, named, say, say_json, store_at
from steersman.composition import redactor
from steersman.domain.value import encode
from steersman.domain.views import Damage, SessionInfo
from steersman.errors import SessionNotFound, StorageFailed
from steersman.ports.event_log import SessionStore
from steersman.sessions import requests as rq
from steersman.sessions.catalogue import Catalogue, NothingOpen
from steersman.sessions.export import export
from steersman.sessions.loading import examine
from steersman.sessions.projection import seen
from steersman.sessions.repair import require_damage

_TITLE = 60


class Verified(msgspec.Struct, rename="camel", omit_defaults=True):
    """What reading every event of a session found. `problem`: it could not be read at all now."""

    session_id: str
    last_seq: int
    damaged: Damage | None = None
    problem: str | None = None

    @property
    def whole(self) -> bool:
        return self.damaged is None and self.problem is None


def run(arguments: argparse.Namespace) -> int:
    """Carry out one verb; the exit code of the process."""
    verb = arguments.verb
    return terminal.run(f"sessions {verb}", _VERBS[verb](store_at(arguments.state_dir), arguments))


async def _list(store: SessionStore, arguments: argparse.Namespace) -> int:
    folder = arguments.workspace.resolve().as_uri() if arguments.workspace is not None else None
    catalogue, infos, cursor = Catalogue(store, NothingOpen()), [], None
    while True:
        page = await catalogue.list(rq.ListSessions(workspace_folder=folder, cursor=cursor, limit=1000))
        infos += page.sessions
        cursor = page.next_cursor
        if cursor is None:
            break
    if arguments.json:
        say_json(infos)
        return ExitCode.DONE
    for info in infos:
        damage = " (damaged)" if info.damaged is not None else ""
        title = " ".join(info.title.split())[:_TITLE] + damage
        say(f"{info.session_id}  {_time(info.updated_at)}  {info.last_seq:>6}  {info.task:<16} {title}")
    if not infos:
        say("There are no sessions.")
    return ExitCode.DONE


async def _show(store: SessionStore, arguments: argparse.Namespace) -> int:
    session_id = await named(store, arguments.session)
    info = seen(await examine(store, session_id), read_only=True)
    if arguments.json:
        say_json(info)
    else:
        for line in _lines(info):
            say(line)
    return ExitCode.DONE


async def _export(store: SessionStore, arguments: argparse.Namespace) -> int:
    session_id = await named(store, arguments.session)
    text = await export(store, session_id, arguments.format, redactor(os.environ))
    terminal.say_bytes(text.encode())
    return ExitCode.DONE


async def _verify(store: SessionStore, arguments: argparse.Namespace) -> int:
    ids = [await named(store, word) for word in arguments.session]
    if not arguments.session:
        ids = sorted(ref.session_id for ref in await store.list())
    found = []
    for session_id in ids:
        verified = await _verified(store, session_id)
        found.append(verified)
        if not arguments.json:
            say(_told(verified))
    if arguments.json:
        say_json(found)
    return ExitCode.DONE if all(verified.whole for verified in found) else ExitCode.REFUSED


async def _verified(store: SessionStore, session_id: str) -> Verified:
    try:
        loaded = await examine(store, session_id)
    except (SessionNotFound, StorageFailed) as failed:
        return Verified(session_id=session_id, last_seq=0, problem=str(failed))
    return Verified(session_id=session_id, last_seq=loaded.state.last_seq, damaged=loaded.damaged)


async def _repair(store: SessionStore, arguments: argparse.Namespace) -> int:
    session_id = await named(store, arguments.session)
    params = rq.RepairSession(session_id=session_id, through_seq=arguments.through)
    await require_damage(store, params, lambda folder: None)
    await store.cut(session_id, arguments.through)
    info = seen(await examine(store, session_id), read_only=True)
    await store.write_header(session_id, encode(info))  # lists still show what it was before
    if arguments.json:
        say_json(info)
    else:
        say(f"{session_id} now ends at event {arguments.through}. The damaged file is kept beside it.")
    return ExitCode.DONE


async def _delete(store: SessionStore, arguments: argparse.Namespace) -> int:
    ids = [await named(store, word) for word in arguments.session]
    for session_id in dict.fromkeys(ids):
        await store.delete(session_id)
        if not arguments.json:
            say(f"{session_id} is deleted.")
    if arguments.json:
        say_json({"deleted": list(dict.fromkeys(ids))})
    return ExitCode.DONE


_VERBS = {
    "list": _list,
    "show": _show,
    "export": _export,
    "verify": _verify,
    "repair": _repair,
    "delete": _delete,
}


def _told(verified: Verified) -> str:
    if verified.problem is not None:
        return f"unread   {verified.session_id}  {verified.problem}"
    if verified.damaged is not None:
        return f"damaged  {verified.session_id}  at event {verified.damaged.seq}: {verified.damaged.reason}"
    return f"whole    {verified.session_id}  {verified.last_seq} events"


def _lines(info: SessionInfo) -> list[str]:
    waiting = [*info.queue.next_turn, *info.queue.next_step]
    lines = [
        f"session    {info.session_id}",
        f"title      {info.title}",
        f"folder     {info.workspace_folder or 'none'}",
        f"created    {_time(info.created_at)}",
        f"updated    {_time(info.updated_at)}",
        f"events     {info.last_seq}",
        f"task       {info.task}" + (f", turn {info.turn} is open" if info.turn is not None else ""),
        f"model      {info.model or 'the default'}, mode {info.mode}",
        f"usage      {info.usage.requests} requests, {info.usage.input_tokens} tokens in, "
        f"{info.usage.output_tokens} out",
    ]
    if info.parent is not None:
        lines.append(f"forked     from {info.parent.session_id} after event {info.parent.seq}")
    if info.goal is not None:
        goal = info.goal
        lines.append(
            f"goal       {goal.phase}, round {goal.rounds_started}/{goal.max_rounds}: {goal.objective}"
        )
    if waiting:
        lines.append(f"waiting    {len(waiting)} messages" + (" (held)" if info.queue.held else ""))
    if info.damaged is not None:
        lines.append(f"damaged    at event {info.damaged.seq}: {info.damaged.reason}")
    return lines


def _time(milliseconds: int) -> str:
    if not milliseconds:
        return "-" * 16
    try:
        return f"{datetime.fromtimestamp(milliseconds / 1000).astimezone():%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError, OSError):
        return "?" * 16
