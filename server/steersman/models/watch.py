"""How long an answer may take: in all, and without anything new in it. Bytes alone are nothing new."""

from __future__ import annotations

import asyncio
from typing import Final

from steersman.errors import ModelFailed

FINISHED_GRACE_SECONDS: Final = 2.0
"""After a finish reason only the usage and `[DONE]` are to come; a provider that goes silent then is done."""


class Watch:
    """The deadlines of one request, in seconds of the running loop's clock."""

    def __init__(self, idle_seconds: float, total_seconds: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._idle = idle_seconds
        self._total = total_seconds
        self._end = self._loop.time() + total_seconds
        self._next = self._loop.time() + idle_seconds

    def progress(self) -> None:
        """Something new came; the idle limit starts again."""
        self._next = self._loop.time() + self._idle

    def finishing(self) -> None:
        """The answer is whole but for its last formalities."""
        self._next = min(self._next, self._loop.time() + FINISHED_GRACE_SECONDS)

    def waiting(self) -> asyncio.Timeout:
        """A block that ends in TimeoutError at the first deadline."""
        return asyncio.timeout_at(min(self._next, self._end))

    def failure(self) -> ModelFailed:
        """What to tell when `waiting` has timed out."""
        if self._loop.time() >= self._end:
            words = f"The answer was not finished within {self._total:g} s (model.totalTimeoutSeconds)."
        else:
            words = f"Nothing new came for {self._idle:g} s (model.idleTimeoutSeconds)."
        return ModelFailed("timeout", words, retryable=True)
