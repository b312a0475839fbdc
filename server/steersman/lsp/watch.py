"""Watching the process that started us: when it dies, so do we."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Final

POLL_SECONDS: Final = 0.5


async def parent_died(pid: int) -> None:
    """Return when the process has ended. At once if there is none."""
    with suppress(OSError, OverflowError, AttributeError, NotImplementedError):
        await _by_pidfd(pid)
        return
    while _alive(pid):  # noqa: ASYNC110 - nothing tells of the end of a stranger's process
        await asyncio.sleep(POLL_SECONDS)


async def _by_pidfd(pid: int) -> None:
    """Linux: a descriptor that becomes readable when the process ends, also as a zombie."""
    loop = asyncio.get_running_loop()
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    ended = asyncio.Event()
    try:
        loop.add_reader(descriptor, ended.set)
        await ended.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def start_watch(pid: int, died: Callable[[], None]) -> asyncio.Task[None]:
    """Call `died` when the process has ended."""

    async def watch() -> None:
        await parent_died(pid)
        died()

    return asyncio.create_task(watch(), name=f"watch {pid}")
