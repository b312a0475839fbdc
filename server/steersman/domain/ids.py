"""Identifiers: short, sortable enough for people, unique enough for a life time."""

from __future__ import annotations

import re
import secrets

_SESSION_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,63}\Z")


def new_id(prefix: str) -> str:
    """A new random id such as `s-3f9c2a…` (80 random bits)."""
    return f"{prefix}-{secrets.token_hex(10)}"


def is_session_id(text: str) -> bool:
    """Whether a text can name a session's folder: nothing else may reach the file system."""
    return _SESSION_ID.match(text) is not None
