"""File URIs of workspace folders, as clients and logs name them."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname


def uri_path(uri: str) -> Path | None:
    """The real path of a file URI, or None for anything else."""
    parts = urlsplit(uri)
    if parts.scheme != "file":
        return None
    try:
        return Path(url2pathname(parts.path)).resolve()
    except (OSError, ValueError):
        return None
