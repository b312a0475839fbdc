"""Which Python belongs to a folder: its own virtual environment, else the system's; never the server's."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

NAMES = (".venv", "venv")
PYTHONS = ("python", "python3")


def scripts(environment: Path) -> Path:
    """The folder of a virtual environment's programs."""
    return environment / ("Scripts" if sys.platform == "win32" else "bin")


def folder_environment(folder: Path) -> Path | None:
    """The virtual environment of a folder, or of a folder above it inside the same repository."""
    above = _within_repository(folder)
    for place in above:
        for name in NAMES:
            if _python_in(place / name) is not None:
                return place / name
    return None


def folder_interpreter(folder: Path, path: str) -> Path | None:
    """The Python that runs a folder's code; `path` is the search path without the server's own."""
    environment = folder_environment(folder)
    if environment is not None:
        return _python_in(environment)
    for name in reversed(PYTHONS):
        found = shutil.which(name, path=path)
        if found is not None:
            return Path(found)
    return None


def _within_repository(folder: Path) -> list[Path]:
    """The folder and those above it up to the repository's root; without a repository only the folder.

    A virtual environment further up (in a temporary folder, in a home) is somebody else's.
    """
    places = [folder, *folder.parents]
    for count, place in enumerate(places, start=1):
        if (place / ".git").exists():
            return places[:count]
    return [folder]


def _python_in(environment: Path) -> Path | None:
    suffix = ".exe" if sys.platform == "win32" else ""
    for name in PYTHONS:
        python = scripts(environment) / f"{name}{suffix}"
        if python.is_file():
            return python
    return None
