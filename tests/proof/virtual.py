"""An event loop with a clock of its own and an order of its own, both drawn from a seed.

Time passes only when nothing is ready, and then at once to the next timer. Tasks that are ready run in a
random order, and some of them later than they could: so does work that waits for a slow disk or a slow
peer. Plain callbacks keep their order, which asyncio promises and the product relies on.
"""

from __future__ import annotations

import asyncio
import contextvars
import random
import selectors
from collections.abc import Callable
from typing import Any


class Deadlock(Exception):
    """Nothing is ready, no timer runs, and the program still waits."""


class Killed(KeyboardInterrupt):
    """The simulated process died at this point: nothing of it runs any more.

    A kind of KeyboardInterrupt, because asyncio lets nothing else out of a callback.
    """


class _Selector(selectors.SelectSelector):
    """Never blocks: the time that would be waited passes at once."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise Deadlock
        self.now += max(timeout, 0.0)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """`steps` counts what ran; the loop raises Killed before step number `die_at`."""

    def __init__(self, seed: int, die_at: int | None = None) -> None:
        self._clock = _Selector()
        super().__init__(self._clock)
        self._dice = random.Random(seed)
        self._lazy = self._dice.choice((0.0, 0.1, 0.4))
        self._waiting: list[tuple[Callable[..., Any], tuple[Any, ...], contextvars.Context | None]] = []
        self.steps = 0
        self.die_at = die_at
        self._resolution = 1e-9  # a timer is due at its time, not a tick before

    def time(self) -> float:
        return self._clock.now

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., Any], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        if isinstance(getattr(callback, "__self__", None), asyncio.Task):
            self._waiting.append((callback, args, context))
            return super().call_soon(self._one)
        return super().call_soon(self._counted, callback, *args, context=context)

    def _one(self) -> None:
        """Let one of the tasks that are ready go on, or let all of them wait a little longer."""
        if self._dice.random() < self._lazy:
            super().call_soon(self._one)
            return
        self._count(self._one)
        callback, args, context = self._waiting.pop(self._dice.randrange(len(self._waiting)))
        if context is None:
            callback(*args)
        else:
            context.run(callback, *args)

    def _counted(self, callback: Callable[..., Any], *args: Any) -> None:
        self._count(callback, *args)
        callback(*args)

    def _count(self, callback: Callable[..., Any], *args: Any) -> None:
        """One more step, unless the process dies before it (then it stays to be done, for the burial)."""
        self.steps += 1
        if self.steps == self.die_at:
            super().call_soon(callback, *args)
            raise Killed
