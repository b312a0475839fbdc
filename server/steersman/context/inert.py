"""Data must not look like the host: its own wrapper tags are made harmless in whatever others wrote."""

from __future__ import annotations

import re
from typing import Final

_TAGS: Final = re.compile(
    r"<(?=/?(?:goal_round|goal_state|goal_complete|goal_blocked|notice|attached"
    r"|earlier_conversation|user_said)\b)",
    re.IGNORECASE,
)


def inert(text: str) -> str:
    """Text in which the host's own wrapper tags are harmless."""
    return _TAGS.sub("&lt;", text)
