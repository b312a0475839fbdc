"""read_result: a big result that was stored whole, a page at a time. It reads blobs and nothing else."""

from __future__ import annotations

from typing import Annotated

import msgspec

from steersman.domain.events import CallMode
from steersman.domain.messages import Verified
from steersman.errors import ToolFailed
from steersman.tools.base import Allow, Arguments, Permit, ToolContext, ToolOutcome

_NOTES = 200
"""Bytes of a page that are left for the words around it."""


class ReadResultArguments(Arguments, frozen=True):
    """`offset` counts characters (code points) from 0."""

    handle: str
    offset: Annotated[int, msgspec.Meta(ge=0)] = 0


class ReadResult:
    name = "read_result"
    description = "Read on in a long result that was cut, by the handle and offset that it names."
    arguments = ReadResultArguments
    deadline_seconds = 30.0

    def mode(self, arguments: ReadResultArguments, context: ToolContext) -> CallMode:
        return "parallel"

    def permit(self, arguments: ReadResultArguments, context: ToolContext) -> Permit:
        return Allow()

    async def run(self, arguments: ReadResultArguments, context: ToolContext) -> ToolOutcome:
        """One page. Raises ToolFailed: `NOT_FOUND` (no such result), `INVALID_ARGUMENTS` (past its end)."""
        data = await context.blob(arguments.handle.strip())
        if data is None:
            raise ToolFailed("NOT_FOUND", "no result has this handle: copy it exactly from the cut result")
        text = data.decode("utf-8", "replace")
        start = arguments.offset
        if start >= len(text):
            raise ToolFailed("INVALID_ARGUMENTS", f"the result ends at offset {len(text)}")
        size = max(context.settings.context.result_limit_bytes - _NOTES, _NOTES)
        page = text[start : start + size].encode()[:size].decode("utf-8", "ignore")
        end = start + len(page)
        rest = f"go on with offset {end}" if end < len(text) else "the end"
        return ToolOutcome(
            content=f"{page}\n[characters {start} to {end} of {len(text)}; {rest}]",
            verified=Verified(ok=True, check="not-empty", note=f"{len(page)} characters"),
        )
