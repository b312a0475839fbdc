"""Where a conversation is cut when it is made shorter, and what takes the room in a request. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from steersman.domain.messages import GoalSource
from steersman.domain.state import AssistantEntry, Entry, ResultEntry, SessionState, UserEntry

KEPT: Final = 0.25
"""The part of a request that the newest exchanges may take and stay whole."""
WORDS: Final = 0.2
"""The part of the window that people's own words of the summarised conversation may take."""
GAIN: Final = 0.1
"""A compaction that saves less than this part is dropped: it would come again at the next step."""


def cut(history: Sequence[Entry], sizes: Sequence[int], keep_bytes: float) -> int:
    """The index of the first entry that stays: the newest exchanges in `keep_bytes`, one at the least.

    A call stays with its results. Of goal rounds only the running one stays: what the others were told is
    told anew from the state.
    """
    first, kept = len(history), 0
    for index in range(len(history) - 1, -1, -1):
        entry = history[index]
        kept += sizes[index]
        if isinstance(entry, ResultEntry):
            continue
        if kept > keep_bytes and first < len(history):
            break
        first = index
        if isinstance(entry, UserEntry) and isinstance(entry.source, GoalSource):
            break
    return first if first < len(history) else 0


def shares(state: SessionState, sizes: Sequence[int], body_bytes: int, tokens: int) -> str:
    """What takes the room in a request of so many bytes and tokens, the largest first, for people."""
    parts = {"messages": 0, "answers": 0, "tool results": 0}
    for entry, size in zip(state.history, sizes, strict=True):
        match entry:
            case UserEntry():
                parts["messages"] += size
            case AssistantEntry():
                parts["answers"] += size
            case ResultEntry():
                parts["tool results"] += size
    parts["instructions, tools and what was summed up"] = max(body_bytes - sum(parts.values()), 0)
    per_byte = tokens / body_bytes
    ordered = sorted(parts.items(), key=lambda part: -part[1])
    return ", ".join(f"{name} about {round(size * per_byte)}" for name, size in ordered if size)
