"""Which entries listing and searching pass over: `.gitignore` and `.ignore`, nested, and a private list.

A path that is named exactly is never ignored: that is the caller's to decide.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore.base import GitIgnorePatternError

_FILES: Final = (".gitignore", ".ignore")
_LARGEST: Final = 256 * 1024
"""Bytes of an ignore file that are read at most."""
_PRIVATE: Final = frozenset(
    (".git", ".hg", ".svn", ".jj", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".nox", ".eggs",
     ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", ".gradle", ".next", ".nuxt", ".turbo",
     ".parcel-cache", ".terraform", ".DS_Store")
)  # fmt: skip
_BRACES: Final = re.compile(r"\{([^{}]*)\}")
_MOST_ALTERNATIVES: Final = 64


class Ignores:
    """The rules that hold in one folder: its own, and those of the folders above."""

    def __init__(self, folder: Path, above: Ignores | None = None) -> None:
        self._folder = folder
        self._above = above
        self._spec = _spec_of(folder)

    def below(self, folder: Path) -> Ignores:
        """The rules of a folder directly below."""
        return Ignores(folder, self)

    def ignored(self, entry: Path, is_folder: bool) -> bool:
        """Whether an entry of this folder is passed over. The nearest rule that says anything decides."""
        if entry.name in _PRIVATE:
            return True
        level: Ignores | None = self
        while level is not None:
            if level._spec is not None:
                relative = entry.relative_to(level._folder).as_posix() + ("/" if is_folder else "")
                verdict = level._spec.check_file(relative).include
                if verdict is not None:
                    return verdict
            level = level._above
        return False


def rules_for(start: Path, root: Path) -> Ignores:
    """The rules that hold in `start`, from `root` down; only its own where it is ignored itself."""
    rules = Ignores(root)
    folder = root
    for part in start.relative_to(root).parts:
        folder = folder / part
        if rules.ignored(folder, True):
            return Ignores(start)
        rules = rules.below(folder)
    return rules


def glob_spec(glob: str) -> GitIgnoreSpec:
    """A matcher for a glob such as `*.py`, `src/**/*.{ts,tsx}`: without `/` it fits names at any depth.

    Raises:
        ValueError: not a glob.
    """
    patterns = ["\\" + p if p.startswith(("!", "#")) else p for p in _alternatives(glob.strip())]
    try:
        return GitIgnoreSpec.from_lines(patterns)
    except re.error as error:
        raise ValueError(str(error)) from None


def _alternatives(glob: str) -> list[str]:
    done: list[str] = []
    pending = [glob]
    while pending:
        current = pending.pop()
        braces = _BRACES.search(current)
        if braces is None:
            done.append(current)
        else:
            before, after = current[: braces.start()], current[braces.end() :]
            pending += [before + choice + after for choice in braces.group(1).split(",")]
        if len(done) + len(pending) > _MOST_ALTERNATIVES:
            raise ValueError(f"more than {_MOST_ALTERNATIVES} alternatives")
    return done


def _spec_of(folder: Path) -> GitIgnoreSpec | None:
    lines: list[str] = []
    for name in _FILES:
        try:
            with (folder / name).open("rb") as file:
                lines += file.read(_LARGEST).decode("utf-8", "replace").splitlines()
        except OSError:
            continue
    usable = [line for line in lines if _is_pattern(line)]
    return GitIgnoreSpec.from_lines(usable) if usable else None


def _is_pattern(line: str) -> bool:
    """Whether git would make anything of a line; a broken one is passed over, as git does."""
    if not line.strip() or line.startswith("#"):
        return False
    try:
        GitIgnoreSpec.from_lines([line])
    except (GitIgnorePatternError, re.error):
        return False
    return True
