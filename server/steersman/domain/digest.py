"""The content hash of a text. Pure; imports nothing of ours, so that the boundary can have it cheaply."""

from __future__ import annotations

import hashlib


def digest(text: str) -> str:
    """The content hash used everywhere: SHA-256 of the UTF-8 text, in hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
