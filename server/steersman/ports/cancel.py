"""The one way in which work is told to stop. An `asyncio.Event` fits; so does the turn's abort signal."""

from __future__ import annotations

from typing import Literal, Protocol


class Cancel(Protocol):
    """Set once, never cleared."""

    def is_set(self) -> bool: ...

    async def wait(self) -> Literal[True]: ...
