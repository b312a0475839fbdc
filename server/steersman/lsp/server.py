"""The language server: what `initialize` builds, and the features of LSP that it answers."""

from __future__ import annotations

import asyncio
import functools
import logging
from asyncio import Task
from collections.abc import Callable
from typing import Any, Final

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.protocol import default_converter

from steersman import __version__
from steersman.domain.settings import Settings
from steersman.lsp.abilities import abilities_of
from steersman.lsp.dispatch import Dispatcher
from steersman.lsp.documents import OpenDocuments
from steersman.lsp.editor import LspEditor
from steersman.lsp.features.progress import ProgressFeed
from steersman.lsp.feed import Feeds, LspFeed
from steersman.lsp.folders import WorkspaceFolders
from steersman.lsp.offers import offers_of
from steersman.lsp.options import read_options
from steersman.lsp.protocol import SteersmanProtocol
from steersman.lsp.watch import start_watch
from steersman.sessions.api import SessionApi
from steersman.sessions.client_ports import ClientPorts

log = logging.getLogger(__name__)
Build = Callable[[Settings, ClientPorts], SessionApi]
"""Makes the sessions for a client. Raises StorageFailed where the state folder cannot be used."""

STOP_SECONDS: Final = 1.6
"""How long the sessions have to stop."""

converter = functools.cache(default_converter)
"""One converter for the process: making one costs tens of milliseconds."""


class SteersmanServer(LanguageServer):
    """One client's server. `build` is called once, by `initialize`."""

    protocol: SteersmanProtocol
    documents: OpenDocuments
    folders: WorkspaceFolders

    def __init__(self, build: Build, ending: Callable[[], None]) -> None:
        super().__init__(
            "steersman",
            __version__,
            protocol_cls=SteersmanProtocol,
            converter_factory=converter,
            text_document_sync_kind=types.TextDocumentSyncKind.Incremental,
        )
        self._build = build
        self._ending = ending
        self._api: SessionApi | None = None
        self._progress: ProgressFeed | None = None
        self._problems: list[str] = []
        self._watch: Task[None] | None = None
        self._stopping: Task[None] | None = None

    def begin(self, params: types.InitializeParams, encoding: Any) -> None:
        """Build everything for the client that sent `initialize`."""
        abilities = abilities_of(params.capabilities, getattr(encoding, "value", encoding))
        settings, self._problems = read_options(_plain(params.initialization_options))
        self.documents = OpenDocuments(abilities.encoding)
        self.folders = WorkspaceFolders(params)
        seconds = settings.loop.client_request_timeout_seconds
        editor = LspEditor(
            self.protocol, self.documents, self.folders, abilities, request_timeout_seconds=seconds
        )
        feeds = Feeds(lambda error: log.error("a feed failed", exc_info=error))
        offers = offers_of(self.protocol, abilities, editor, feeds, settings)
        api = self._build(settings, offers.ports)
        if "events" in abilities.extension:
            feeds.add(LspFeed(self.protocol.out))
        if abilities.work_done_progress:
            self._progress = ProgressFeed(self.protocol, api.cancel, request_timeout_seconds=seconds)
            feeds.add(self._progress)
        self._api = api
        self.protocol.dispatcher = Dispatcher(
            api, self.protocol.send_body, self._first_folder, offers.listeners
        )
        if params.process_id is not None and params.process_id > 0:
            self._watch = start_watch(params.process_id, self._ending)

    def stop(self) -> Task[None]:
        """Begin the ordered stop if it has not begun; safe before `initialize` too. The task never fails."""
        if self._stopping is None:
            self._stopping = asyncio.create_task(self._stop(), name="stop")
        return self._stopping

    async def _stop(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
        if self._api is not None:
            stopping = asyncio.create_task(self._api.stop(), name="stop sessions")
            # Bounded, and not awaited: what will not end, or not even be cancelled, holds nobody.
            await asyncio.wait({stopping}, timeout=STOP_SECONDS)
            if not stopping.done():
                log.error("the sessions did not stop within %g s", STOP_SECONDS)
                stopping.cancel()
            elif not stopping.cancelled() and (error := stopping.exception()) is not None:
                log.error("the sessions did not stop in order", exc_info=error)
        if self.protocol.dispatcher is not None:
            self.protocol.dispatcher.close()

    def report_server_error(self, error: Exception, source: Any) -> None:
        """pygls would show a message box; an error of ours belongs into the log."""
        log.error("%s: %s", getattr(source, "__name__", source), error)

    def _first_folder(self) -> str | None:
        folders = self.folders.all()
        return folders[0].uri if folders else None

    def initialized(self) -> None:
        """Get ready; tell once what was wrong with the settings (nothing may be sent before)."""
        if self._problems:
            text = "Steersman ignores some settings:\n" + "\n".join(f"- {p}" for p in self._problems)
            message = types.ShowMessageParams(type=types.MessageType.Warning, message=text)
            self.window_show_message(message)
        if self._api is not None:
            self._api.warm()

    def progress_cancelled(self, token: int | str) -> None:
        """A person pressed the stop of a turn's progress."""
        if self._progress is not None:
            self._progress.cancelled(token)


def _plain(value: Any) -> Any:
    """Untyped JSON as pygls gives it (named tuples where there were objects), as plain JSON."""
    if hasattr(value, "_asdict"):
        return {key: _plain(item) for key, item in value._asdict().items()}
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
