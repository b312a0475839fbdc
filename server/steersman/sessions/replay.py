"""What a log says of any moment: the folded state, and the request that the model had been sent by then.

It only reads, and sends nothing to anybody.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from steersman.context.request import RequestBuilder
from steersman.domain.events import StoredEvent
from steersman.ports.event_log import EventReader
from steersman.sessions.loading import Loaded

_PAGE = 500
_POLL_SECONDS = 0.1


def last_request(loaded: Loaded) -> bytes | None:
    """The body of the last request of a step, byte for byte as it was sent; None if there was none yet."""
    if loaded.asked is None or loaded.asked.header is None:
        return None
    return RequestBuilder().build(loaded.asked)


async def follow(reader: EventReader, after_seq: int) -> AsyncIterator[Sequence[StoredEvent]]:
    """The events after one, and then each that is appended, without end.

    Raises SessionNotFound when the session is deleted, SessionCorrupt, StorageFailed.
    """
    while True:
        rows = await reader.read(after_seq, _PAGE)
        if rows:
            after_seq = rows[-1].seq
            yield rows
        else:
            await asyncio.sleep(_POLL_SECONDS)
