"""A provider's response on the wire: refused by its status, or read piece by piece under deadlines."""

from __future__ import annotations

import asyncio
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from steersman.models.failures import cut_failure, http_failure, protocol_failure, redirect_failure
from steersman.models.inflate import Inflater
from steersman.models.watch import Watch

if TYPE_CHECKING:
    import httpx2

ERROR_BODY_BYTES: Final = 64 * 1024
_REST_SECONDS: Final = 0.02
"""How long the end of the body may take after `[DONE]`: with it the connection can be used again."""


class Answer:
    """The body of a response that began well."""

    def __init__(self, response: httpx2.Response, watch: Watch) -> None:
        self._response = response
        self._watch = watch
        self._raw = response.aiter_raw()
        self._inflater = _inflater(response)

    async def read(self, finished: bool) -> bytes:
        """The next bytes as they came; empty at the end of the body.

        An answer that is `finished` but for formalities ends here whatever happens to its connection.
        Raises ModelFailed.
        """
        import httpx2

        if finished:
            self._watch.finishing()
        try:
            async with self._watch.waiting():
                return await anext(self._raw, b"")
        except TimeoutError:
            if finished:
                return b""
            raise self._watch.failure() from None
        except httpx2.TransportError as problem:
            if finished:
                return b""
            raise cut_failure(str(problem)) from None

    def unpacked(self, piece: bytes) -> Iterator[bytes]:
        """The piece without its compression. Raises ModelFailed."""
        if self._inflater is None:
            yield piece
            return
        try:
            yield from self._inflater.feed(piece)
        except zlib.error as problem:
            raise cut_failure(str(problem)) from None

    async def drain(self) -> None:
        """Read the end of a body whose content is complete, if it is there already."""
        import httpx2

        with suppress(TimeoutError, httpx2.TransportError):
            async with asyncio.timeout(_REST_SECONDS):
                async for _ in self._raw:
                    pass

    async def close(self) -> None:
        """Give the connection back if the body was read to its end, else close it."""
        await self._raw.aclose()
        await self._response.aclose()


async def refuse_failures(response: httpx2.Response) -> None:
    """A hook on every response: raises ModelFailed for each status but success."""
    if response.is_success:
        return
    if response.is_redirect:
        location = urlsplit(response.headers.get("location", ""))
        raise redirect_failure(response.status_code, f"{location.scheme}://{location.netloc}{location.path}")
    body = await _beginning(response)
    headers = {name.lower(): value for name, value in response.headers.items()}
    raise http_failure(response.status_code, body, headers, time.time())


async def _beginning(response: httpx2.Response) -> bytes:
    """The first bytes of an error's body, without its compression."""
    import httpx2

    inflater = _inflater(response)
    body = bytearray()
    with suppress(httpx2.TransportError, zlib.error):
        async for piece in response.aiter_raw():
            for part in inflater.feed(piece) if inflater else (piece,):
                body += part
                if len(body) >= ERROR_BODY_BYTES:
                    return bytes(body[:ERROR_BODY_BYTES])
    return bytes(body)


def _inflater(response: httpx2.Response) -> Inflater | None:
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding in ("", "identity"):
        return None
    if encoding in ("gzip", "x-gzip", "deflate"):
        return Inflater()
    raise protocol_failure(f"it packs its answer as {encoding[:40]}, which was not asked for")
