"""A session as text to keep or to read: every event as JSON Lines, or a Markdown transcript. It only reads.

A damaged session is exported as far as it reads. What looks like a secret never leaves through here.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from steersman.domain import events as ev
from steersman.domain.messages import Delta
from steersman.domain.reply import ReplyAssembler
from steersman.domain.value import encode
from steersman.errors import LogViolation, SessionCorrupt
from steersman.ports.event_log import EventReader, SessionStore
from steersman.sessions.loading import examine
from steersman.sessions.projection import seen
from steersman.sessions.requests import event_view
from steersman.sessions.transcript import Transcript
from steersman.tools.masking import masked

Format = Literal["jsonl", "markdown"]
Redact = Callable[[str], str]


async def export(store: SessionStore, session_id: str, form: Format, redact: Redact) -> str:
    """The text of a session, open anywhere or damaged. `redact` hides the secrets that the process knows.

    Raises SessionNotFound, StorageFailed.
    """
    rows = [row async for batch in readable_rows(store, session_id) for row in batch]
    info = seen(await examine(store, session_id), read_only=True)

    def write() -> str:
        def hide(text: str) -> str:
            return redact(masked(text))

        shown = _without_secrets(session_id, rows, hide)
        if form == "jsonl":
            return "".join(encode(event_view(session_id, row)).decode() + "\n" for row in shown)
        transcript = Transcript(info)
        for row in shown:
            transcript.take(row)
        return hide(transcript.text())

    return await asyncio.to_thread(write)


async def readable_rows(store: SessionStore, session_id: str) -> AsyncIterator[Sequence[ev.StoredEvent]]:
    """The rows of a session up to its first damaged one, in batches, chunks with their data.

    Raises SessionNotFound, StorageFailed.
    """
    try:
        reader = await store.open_reader(session_id)
    except SessionCorrupt:
        return
    try:
        async with aclosing(reader.scan()) as batches:  # type: ignore[type-var]
            async for rows in batches:
                yield await _whole(reader, rows)
    except (LogViolation, SessionCorrupt):
        return
    finally:
        await reader.close()


async def _whole(reader: EventReader, rows: Sequence[ev.StoredEvent]) -> Sequence[ev.StoredEvent]:
    """Verified rows with the data of their chunks, which a scan leaves out."""
    if all(row.type != ev.CHUNK for row in rows):
        return rows
    full = {row.seq: row.data for row in await reader.read(rows[0].seq - 1, len(rows))}
    return [replace(row, data=full.get(row.seq, b"{}")) if row.type == ev.CHUNK else row for row in rows]


def _without_secrets(
    session_id: str, rows: Sequence[ev.StoredEvent], hide: Redact
) -> Iterator[ev.StoredEvent]:
    telling = _telling_chunks(session_id, rows, hide)
    for row in rows:
        if row.type != ev.CHUNK:
            yield _hidden(row, hide)
        else:
            yield row if row.seq not in telling else _without_text(session_id, row)


def _hidden(row: ev.StoredEvent, hide: Redact) -> ev.StoredEvent:
    """The row as it is, unless a text in it holds a secret."""
    try:
        value = msgspec.json.decode(row.data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return replace(row, data=encode({"unreadable": True}))
    shown = _walk(value, hide)
    return row if shown == value else replace(row, data=encode(shown))


def _walk(value: Any, hide: Redact) -> Any:
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, list):
        return [_walk(item, hide) for item in value]
    if isinstance(value, dict):
        return {hide(key): _walk(item, hide) for key, item in value.items()}
    return value


def _telling_chunks(session_id: str, rows: Iterable[ev.StoredEvent], hide: Redact) -> set[int]:
    """The pieces of the replies that hold a secret, which may be in pieces too; and what cannot be read."""
    telling: set[int] = set()
    replies: dict[tuple[int, int, int], tuple[ReplyAssembler, list[int]]] = {}
    for row in rows:
        if row.type != ev.CHUNK:
            continue
        chunk = _chunk(session_id, row)
        if chunk is None:
            telling.add(row.seq)
            continue
        reply, seqs = replies.setdefault((chunk.turn, chunk.step, chunk.attempt), (ReplyAssembler(), []))
        seqs.append(row.seq)
        for delta in chunk.deltas:
            reply.feed(delta)
    for reply, seqs in replies.values():
        texts = (reply.text, reply.reasoning, *(call.arguments for call in reply.tool_calls))
        if any(hide(text) != text for text in texts):
            telling.update(seqs)
    return telling


def _without_text(session_id: str, row: ev.StoredEvent) -> ev.StoredEvent:
    """A chunk whose text is left out: it comes again, masked, in the message."""
    chunk = _chunk(session_id, row)
    if chunk is None:
        return replace(row, data=encode({"unreadable": True}))
    bare: list[Delta] = []
    return replace(row, data=ev.encode_data(replace(chunk, deltas=bare)))


def _chunk(session_id: str, row: ev.StoredEvent) -> ev.AssistantChunk | None:
    try:
        data = ev.from_stored(session_id, row).data
    except ValueError:
        return None
    return data if isinstance(data, ev.AssistantChunk) else None
