"""Any endpoint of the chat-completions protocol, through the openai client.

The client library brings authentication, endpoints and connections. It is imported at the first request, in
a thread; it gets the encoded body as it stands and must neither retry, nor follow a redirect, nor parse.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

import msgspec

from steersman.domain.messages import Delta
from steersman.domain.settings import ModelSettings
from steersman.errors import ModelFailed
from steersman.models.answer import Answer, refuse_failures
from steersman.models.failures import certificate_failure, setting_failure, unreachable_failure
from steersman.models.reader import ReplyReader
from steersman.models.secrecy import Secrets
from steersman.models.watch import Watch
from steersman.ports.model import Finish, ModelRequest

if TYPE_CHECKING:
    import ssl

    import httpx2
    from openai import AsyncOpenAI, Omit

CONNECT_SECONDS: Final = 15.0
KEEP_ALIVE_SECONDS: Final = 30.0
_ODD_CHARACTERS: Final = "a value holds characters that cannot be sent"


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Where requests go. The settings are the user's own; `proxy` is resolved already."""

    base_url: str
    settings: ModelSettings
    proxy: str | None = None

    def __repr__(self) -> str:
        return "Endpoint(***)"


class OpenAIChatModel:
    """The model behind one endpoint. Requests of all sessions share its connections."""

    def __init__(self, endpoint: Endpoint, secrets: Secrets) -> None:
        self._endpoint = endpoint
        self._secrets = secrets
        self._client: AsyncOpenAI | None = None
        self._building = asyncio.Lock()

    async def warm(self) -> None:
        """Load the client library and certificates before the first request needs them. Sends nothing."""
        with suppress(ModelFailed):
            await self._ready()

    async def close(self) -> None:
        """Close all connections. A later request opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | Finish]:
        """See the port. The connection is closed when the iterator is closed or its task is cancelled."""
        settings = self._endpoint.settings
        reader = ReplyReader(settings.prices)
        try:
            client = await self._ready()
            watch = Watch(settings.idle_timeout_seconds, settings.total_timeout_seconds)
            answer = Answer(await self._open(client, request.body, watch), watch)
            try:
                while not reader.done and (piece := await answer.read(reader.finish_reason is not None)):
                    known = reader.progress
                    for part in answer.unpacked(piece):
                        for delta in reader.feed(part):
                            yield delta
                        if part is not piece:
                            await asyncio.sleep(0)  # a little packed data may be much to read
                    if reader.progress != known:
                        watch.progress()
                if reader.done:
                    await answer.drain()
                for item in reader.end():
                    yield item
            finally:
                await answer.close()
        except ModelFailed as failure:
            raise self._redacted(failure) from None

    async def _ready(self) -> AsyncOpenAI:
        async with self._building:
            if self._client is None:
                self._client = await asyncio.to_thread(self._build)
            return self._client

    def _build(self) -> AsyncOpenAI:
        """Import the library and make a client. Raises ModelFailed for settings that cannot be used."""
        import httpx2
        from openai import AsyncOpenAI

        settings = self._endpoint.settings
        certificates = _certificates(settings.ca_file)
        try:
            http_client = httpx2.AsyncClient(
                verify=certificates,
                proxy=self._endpoint.proxy,
                trust_env=False,
                follow_redirects=False,
                timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
                limits=httpx2.Limits(keepalive_expiry=KEEP_ALIVE_SECONDS),
                event_hooks={"response": [refuse_failures]},
            )
        except ImportError:
            raise setting_failure("model.proxy", "proxies of this kind need the package socksio") from None
        except (ValueError, httpx2.InvalidURL):
            raise setting_failure("model.proxy", "it is not the URL of a proxy") from None
        return AsyncOpenAI(
            api_key=self._current_key,
            base_url=self._endpoint.base_url,
            default_headers={"Accept-Encoding": "identity", **settings.headers},
            default_query=dict(settings.query),
            max_retries=0,
            http_client=http_client,
        )

    async def _current_key(self) -> str:
        return self._secrets.key

    def _authorization(self) -> dict[str, str | Omit]:
        """Nothing to add to what the client does – unless there is no key, which it must be told is meant."""
        import openai

        own = any(name.lower() == "authorization" for name in self._endpoint.settings.headers)
        return {} if self._secrets.key or own else {"Authorization": openai.Omit()}

    async def _open(self, client: AsyncOpenAI, body: bytes, watch: Watch) -> httpx2.Response:
        """Send the request; the response's body is not read yet. Raises ModelFailed."""
        import httpx2
        import openai

        host = urlsplit(self._endpoint.base_url).netloc.rpartition("@")[2]
        try:
            async with watch.waiting():
                response = await client.post(
                    "/chat/completions",
                    cast_to=httpx2.Response,  # the bare response: nothing of it is parsed
                    content=body,
                    options={"headers": self._authorization()},
                    stream=True,
                    stream_cls=openai.AsyncStream[Any],
                )
                return cast("httpx2.Response", response)
        except TimeoutError:
            raise watch.failure() from None
        except openai.APITimeoutError:
            raise unreachable_failure(host, f"no connection within {CONNECT_SECONDS:g} s") from None
        except openai.APIConnectionError as problem:
            raise _connection_failure(host, problem) from None
        except (ValueError, httpx2.InvalidURL):
            raise setting_failure("model.headers or model.query", _ODD_CHARACTERS) from None

    def _redacted(self, failure: ModelFailed) -> ModelFailed:
        return ModelFailed(
            failure.code,
            self._secrets.redact(str(failure)),
            retryable=failure.retryable,
            retry_after=failure.retry_after,
        )


def _certificates(ca_file: str | None) -> ssl.SSLContext:
    """The usual authorities and the user's own. Raises ModelFailed."""
    import httpx2

    context = httpx2.create_ssl_context(trust_env=False)
    if ca_file is not None:
        try:
            context.load_verify_locations(cafile=ca_file)
        except OSError as problem:  # ssl.SSLError is one
            reason = problem.strerror or "it holds no certificate"
            raise setting_failure("model.caFile", reason) from None
    return context


def _connection_failure(host: str, problem: BaseException) -> ModelFailed:
    """A certificate that nobody vouches for, or a network that fails: only the latter is tried again."""
    import ssl

    import httpx2

    cause: BaseException | None = problem
    reason = ""
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return certificate_failure(host, cause.verify_message)
        if isinstance(cause, httpx2.LocalProtocolError):
            return setting_failure("model.headers", _ODD_CHARACTERS)
        reason = str(cause) or reason
        cause = cause.__cause__ or cause.__context__
    return unreachable_failure(host, reason)
