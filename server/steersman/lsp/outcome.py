"""What became of a change: the client's answer weighed against its notifications and the disk.

The answer alone proves nothing. Nothing here sends or writes.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from steersman.errors import ToolFailed
from steersman.lsp import disk
from steersman.lsp.documents import OpenDocuments, Watch
from steersman.ports.editor import Applied

_POLL_SECONDS: Final = 0.05
"""How often the disk is looked at, which tells nothing by itself."""

_QUIET_SECONDS: Final = 0.25
"""A changed text may still be on its way to the expected one: editors batch their notifications."""


class Answer(NamedTuple):
    """What the client said to a workspace edit. `silent` covers answers that make no sense."""

    kind: Literal["applied", "refused", "error", "silent"]
    reason: str | None = None


def answer_of(result: Any) -> Answer:
    """Read an `ApplyWorkspaceEditResult`."""
    told = result.get("applied") if isinstance(result, dict) else None
    if told is True:
        return Answer("applied")
    if told is False:
        reason = result.get("failureReason")
        return Answer("refused", reason if isinstance(reason, str) and reason else None)
    return Answer("silent", "the editor gave no usable answer")


class EditCheck:
    """The text of one file before, meant, and now. `before` is None for a file that is being created."""

    def __init__(
        self, documents: OpenDocuments, watch: Watch, path: Path, before: str | None, expected: str
    ) -> None:
        self._documents = documents
        self._watch = watch
        self._path = path
        self._before = before
        self._expected = expected
        self._now: str | None = None
        self._is_open = False
        self._signature: disk.Signature | None = None
        self._on_disk: str | None = None

    @property
    def is_hidden(self) -> bool:
        """Nothing is to be seen of the change: it may stand in a buffer that the client does not tell of."""
        return not self._is_open and self._is_untouched

    async def look(self) -> None:
        """See what is true now: the editor's text if the file is open, else the disk's."""
        opened = self._documents.find(self._path)
        if opened is None:
            await self._look_at_disk()
            opened = self._documents.find(self._path)
        self._is_open = opened is not None
        self._now = opened.document().text if opened is not None else self._on_disk

    async def settle(self, limit_seconds: float) -> None:
        """Wait until the expected text was there, or another one stays, or the limit has passed."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + limit_seconds
        await self.look()
        last, quiet_at = self._now, clock() + _QUIET_SECONDS
        while not self._is_reached and clock() < deadline:
            if not self._is_untouched and clock() >= quiet_at:
                return
            await self._watch.changed(_POLL_SECONDS)
            await self.look()
            if self._now != last:
                last, quiet_at = self._now, clock() + _QUIET_SECONDS

    def verdict(self, answer: Answer) -> Applied:
        """What is true, after `look` or `settle`."""
        if self._is_reached:
            return Applied(status="applied", text=self._expected)
        if answer.kind == "silent":
            return Applied(status="unknown", text=self._now, reason=answer.reason)
        if answer.kind == "applied":
            return self._believed(answer)
        if self._is_untouched:
            reason = answer.reason or "the editor refused the edit"
            return Applied(status="refused", text=self._now, reason=reason)
        if answer.kind == "error":
            return Applied(status="unknown", text=self._now, reason=answer.reason)
        return Applied(status="stale", text=self._now, reason="the document changed in the editor meanwhile")

    def _believed(self, answer: Answer) -> Applied:
        if self.is_hidden:
            reason = "the editor said it applied the edit, but neither a notification nor the disk shows it"
            return Applied(status="unknown", text=None, reason=reason)
        if self._is_untouched:
            reason = "the editor said it applied the edit, but the document did not change"
            return Applied(status="lost", text=self._now, reason=reason)
        if self._now is None:
            return Applied(status="unknown", reason="the file is gone, or is no readable text any more")
        reason = "the text is not exactly what was meant: a formatter or a person changed it too"
        return Applied(status="applied-differently", text=self._now, reason=reason)

    @property
    def _is_reached(self) -> bool:
        return self._watch.reached or self._now == self._expected

    @property
    def _is_untouched(self) -> bool:
        # A created file is empty on the disk until its buffer is saved.
        return self._now == self._before or (self._before is None and not self._is_open and not self._now)

    async def _look_at_disk(self) -> None:
        signature = disk.signature_of(self._path)
        if signature is not None and signature == self._signature:
            return
        try:
            found = await asyncio.to_thread(disk.read_text, self._path)
        except ToolFailed:
            found = None
        self._signature = found.signature if found else None
        self._on_disk = found.text if found else None


class PathCheck:
    """Whether a path went away, and another came where one was to come."""

    def __init__(self, *, gone: Path, there: Path | None) -> None:
        self._gone = gone
        self._there = there

    async def settle(self, limit_seconds: float) -> None:
        """Wait until it is done, or the limit has passed."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + limit_seconds
        while not self._is_done and clock() < deadline:  # noqa: ASYNC110 - a disk sets no event
            await asyncio.sleep(_POLL_SECONDS)

    def verdict(self, answer: Answer) -> Applied:
        """What the disk shows now."""
        if self._is_done:
            return Applied(status="applied")
        if not self._is_untouched or answer.kind == "silent":
            return Applied(status="unknown", reason=answer.reason or "the disk shows only a part of it")
        if answer.kind == "applied":
            return Applied(
                status="lost", reason="the editor said it is done, but the disk shows nothing of it"
            )
        return Applied(status="refused", reason=answer.reason or "the editor refused it")

    @property
    def _is_done(self) -> bool:
        return not disk.is_there(self._gone) and (self._there is None or disk.is_there(self._there))

    @property
    def _is_untouched(self) -> bool:
        return disk.is_there(self._gone) and (self._there is None or not disk.is_there(self._there))
