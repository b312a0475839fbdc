"""Walking the workspace's folders on the disk, in a thread: breadth first, ignore rules obeyed, bounded.

It never follows links to folders, so it neither leaves the workspace nor goes in circles.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from steersman.errors import Aborted
from steersman.ports.cancel import Cancel
from steersman.ports.editor import Folder
from steersman.tools.ignore import Ignores, rules_for

R = TypeVar("R")
Stopped = Callable[[], bool]
MOST_ENTRIES: Final = 200_000
"""Entries that one walk looks at; beyond that it ends and says so."""


class Found(msgspec.Struct, frozen=True):
    """An entry. A link is neither followed nor a folder."""

    path: Path
    is_folder: bool
    is_link: bool


class Walk:
    """One walk. `complete` tells afterwards whether it saw everything."""

    def __init__(self, stopped: Stopped) -> None:
        self._stopped = stopped
        self._left = MOST_ENTRIES
        self.complete = True

    def entries(self, start: Path, folder: Folder) -> Iterator[Found]:
        """The entries below `start`, nearest first, sorted by name in each folder."""
        pending: deque[tuple[Path, Ignores]] = deque([(start, rules_for(start, folder.path))])
        while pending:
            current, rules = pending.popleft()
            for found in self._children(current, rules):
                if self._stopped() or self._left < 0:
                    self.complete = False
                    return
                yield found
                if found.is_folder:
                    pending.append((found.path, rules.below(found.path)))

    def _children(self, folder: Path, rules: Ignores) -> Iterator[Found]:
        try:
            children = sorted(folder.iterdir())
        except OSError:
            return
        for path in children:
            self._left -= 1
            try:
                is_link = path.is_symlink()
                is_folder = not is_link and path.is_dir()
            except OSError:
                continue
            if not rules.ignored(path, is_folder):
                yield Found(path, is_folder, is_link)


async def in_thread(cancel: Cancel, work: Callable[[Stopped], R]) -> R:
    """Run synchronous work in a thread; it is told to stop when `cancel` is set or nobody waits any more.

    Raises:
        Aborted: `cancel` was set meanwhile.
    """
    left = threading.Event()
    try:
        result = await asyncio.to_thread(work, lambda: left.is_set() or cancel.is_set())
    finally:
        left.set()
    if cancel.is_set():
        raise Aborted("the workspace was not looked through to the end")
    return result
