"""Showing a file to the person, where the client can."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol


class Viewer(Protocol):
    async def show(self, path: Path) -> bool:
        """Open the file in the person's editor. Whether it is shown; never raises for a client's refusal."""
        ...
