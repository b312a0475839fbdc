"""What a tool says, made fit for the model and the log: secrets masked, size limited, nothing lost.

Every tool is offered inside `Bounded`, so that no tool can forget it.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any, Final

import msgspec

from steersman.domain.digest import digest
from steersman.domain.events import CallMode
from steersman.domain.messages import ToolError
from steersman.domain.value import clean_text
from steersman.errors import Aborted, ToolFailed
from steersman.tools.base import AnyTool, Arguments, Permit, ToolContext, ToolOutcome
from steersman.tools.masking import masked

_OFF_LOOP: Final = 64 * 1024
"""Characters above which masking is done in a thread."""
_TELLING: Final = re.compile(
    r"\berror\b|\bfail(?:ed|ure|ures)?\b|\bexception\b|\btraceback\b|\bpanic(?:ked)?\b|\bfatal\b|^E  ",
    re.IGNORECASE,
)
_WIDEST: Final = 300
"""Characters of a telling line that are kept."""


class Bounded:
    """A tool whose outcomes are masked and limited. Everything else is the tool's own."""

    def __init__(self, tool: AnyTool) -> None:
        self.tool = tool
        self.name = tool.name
        self.description = tool.description
        self.arguments: type[Any] = tool.arguments
        self.deadline_seconds = tool.deadline_seconds

    def mode(self, arguments: Arguments, context: ToolContext) -> CallMode:
        return self.tool.mode(arguments, context)

    def permit(self, arguments: Arguments, context: ToolContext) -> Permit:
        return self.tool.permit(arguments, context)

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolOutcome:
        """Run the tool. Raises ToolFailed with a message that is masked and limited too."""
        try:
            outcome = await self.tool.run(arguments, context)
        except ToolFailed as failure:
            shown, _ = await bounded(str(failure), context)
            raise ToolFailed(failure.code, shown) from None
        except Aborted as stopped:
            return ToolOutcome(outcome="aborted", content=f"Stopped: {stopped}.")
        content, whole = await bounded(outcome.content, context)
        error = outcome.error and ToolError(
            code=outcome.error.code, message=masked(clean_text(outcome.error.message))[:_WIDEST]
        )
        seen = outcome.seen if whole else {}
        return msgspec.structs.replace(outcome, content=content, error=error, seen=seen)


async def bounded(text: str, context: ToolContext) -> tuple[str, bool]:
    """Text as the model may see it, and whether that is the whole text, unmasked.

    A text above the limit is stored whole (masked) and shown as head, telling lines, tail and handle.
    """
    text = clean_text(text)
    shown = await asyncio.to_thread(masked, text) if len(text) > _OFF_LOOP else masked(text)
    limit = context.settings.context.result_limit_bytes
    data = shown.encode()
    if len(data) <= limit:
        return shown, shown == text
    handle = digest(shown)
    await context.record(blobs={handle: data})
    return excerpt(shown, limit, handle), False


def excerpt(text: str, limit: int, handle: str) -> str:
    """Head and tail of a long text in about `limit` bytes, with its error lines and its handle between."""
    head, tail = _head(text, limit * 2 // 5), _tail(text, limit * 2 // 5)
    middle = text[len(head) : len(text) - len(tail)]
    telling = _telling_lines(middle, limit // 6)
    lines = [
        "",
        f"[… {len(middle)} of {len(text)} characters left out here; read_result with handle {handle} "
        f"and offset {len(head)} shows them]",
    ]
    if telling:
        lines += ["[lines in it that tell of failures:]", *telling, "[…]"]
    return head.removesuffix("\n") + "\n".join(lines) + "\n" + tail


def _head(text: str, size: int) -> str:
    """The longest beginning of at most `size` bytes, up to a line's end if one is near."""
    part = text[:size].encode()[:size].decode("utf-8", "ignore")
    line = part.rfind("\n") + 1
    return part[:line] if line > len(part) // 2 else part


def _tail(text: str, size: int) -> str:
    """The longest end of at most `size` bytes, from a line's start if one is near."""
    part = text[-size:].encode()[-size:].decode("utf-8", "ignore")
    line = part.find("\n") + 1
    return part[line:] if 0 < line < len(part) // 2 else part


def _telling_lines(text: str, size: int) -> list[str]:
    """The first lines that tell of a failure, each cut to a sensible width, within `size` bytes."""
    kept: list[str] = []
    for line in text.split("\n"):
        if _TELLING.search(line[:_WIDEST]):
            size -= len(line[:_WIDEST].encode()) + 1
            if size < 0:
                break
            kept.append(line[:_WIDEST])
    return kept
