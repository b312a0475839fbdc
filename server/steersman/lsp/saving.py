"""Before something reads the disk: the editor saves what is unsaved, or the person is asked to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from lsprotocol import types

from steersman.domain.value import clean_text
from steersman.lsp.abilities import ClientAbilities
from steersman.lsp.channel import ClientChannel
from steersman.lsp.client_messages import SAVE
from steersman.lsp.unsaved import UnsavedDocuments
from steersman.lsp.uris import path_key, path_of_uri, real_path

RUN_ANYWAY: Final = "Run with what is on the disk"
_LOOK_SECONDS: Final = 0.2
_NAMED: Final = 10


class Saving:
    """`steersman/document/save` for a client that answers it; a standard message for one that does not."""

    def __init__(
        self,
        channel: ClientChannel,
        abilities: ClientAbilities,
        unsaved: UnsavedDocuments,
        uri_of: Callable[[Path], str],
        timeout_seconds: float,
    ) -> None:
        self._channel = channel
        self._abilities = abilities
        self._unsaved = unsaved
        self._uri_of = uri_of
        self._timeout = timeout_seconds
        self._left: frozenset[tuple[Path, int]] = frozenset()

    async def save(self, paths: tuple[Path, ...]) -> tuple[Path, ...]:
        """The paths that the editor says it saved; none without that ability, an answer or sense in it."""
        if not self._editor_saves or not paths:
            return ()
        params = {"uris": [self._uri_of(path) for path in paths]}
        try:
            result = await self._channel.call(SAVE, params, timeout=self._timeout)
        except Exception:  # an error or no answer: nothing was saved as far as anyone told
            return ()
        told = result.get("saved") if isinstance(result, dict) else None
        named = [path_of_uri(uri) for uri in told if isinstance(uri, str)] if isinstance(told, list) else []
        saved = {path_key(real_path(path)) for path in named if path is not None}
        return tuple(path for path in paths if path_key(path) in saved)

    async def ask(self, paths: tuple[Path, ...]) -> None:
        """Ask the person to save (protocol.md section 6), until it is done, answered or nobody came.

        Returns at once where the editor saves by itself or shows no messages. Files that the person, or
        nobody, left unsaved are not asked about again before they were saved.
        """
        if self._editor_saves or not self._shows_messages or self._unsaved.marks(paths) <= self._left:
            return
        answer = asyncio.create_task(self._message(paths))
        saved = asyncio.create_task(self._until_saved(frozenset(paths)))
        try:
            await asyncio.wait((answer, saved), return_when=asyncio.FIRST_COMPLETED)
        finally:
            answer.cancel()
            saved.cancel()
            await asyncio.gather(answer, saved, return_exceptions=True)
        self._left = self._unsaved.marks(paths)

    @property
    def _editor_saves(self) -> bool:
        return "save" in self._abilities.extension

    @property
    def _shows_messages(self) -> bool:
        return self._abilities.messages or not self._abilities.speaks_extension

    async def _message(self, paths: tuple[Path, ...]) -> None:
        names = ", ".join(path.name for path in paths[:_NAMED])
        names += f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
        params = {
            "type": int(types.MessageType.Warning),
            "message": clean_text(
                f"Steersman is about to run something that reads the disk, and {names} "
                f"{'has' if len(paths) == 1 else 'have'} unsaved changes. Save, and it goes on."
            ),
            "actions": [{"title": RUN_ANYWAY}],
        }
        with suppress(Exception):  # an error or no answer: nobody is there to save
            await self._channel.call("window/showMessageRequest", params, timeout=self._timeout)

    async def _until_saved(self, paths: frozenset[Path]) -> None:
        # Looked at again and again: an editor may save without a word.
        while not paths.isdisjoint(self._unsaved.paths()):  # noqa: ASYNC110
            await asyncio.sleep(_LOOK_SECONDS)
