"""Time. Wall time is for records only; deadlines use the monotonic clock."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    def now_ms(self) -> int:
        """Wall time in milliseconds since the epoch. It may go back; the log clamps it."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start, never going back."""
        ...

    async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's clocks."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class ManualClock:
    """The test double: time passes only by `advance`, or by sleeping (which costs no real time)."""

    def __init__(self, start_ms: int = 1_000_000) -> None:
        self.wall_ms = start_ms
        self.elapsed = 0.0
        self.slept: list[float] = []

    def now_ms(self) -> int:
        return self.wall_ms

    def monotonic(self) -> float:
        return self.elapsed

    def advance(self, seconds: float) -> None:
        self.elapsed += seconds
        self.wall_ms += int(seconds * 1000)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.advance(seconds)
        await asyncio.sleep(0)
