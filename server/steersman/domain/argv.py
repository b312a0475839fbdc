"""A command line as words, for what is run without a shell. Pure."""

from __future__ import annotations

import re
import shlex
from typing import Final

_QUOTED: Final = re.compile(r"""\\.|'[^']*'|"(?:\\.|[^"\\])*\"""", re.DOTALL)
_SHELL_MARK: Final = re.compile(r"[|&;<>]+")


def split_command(text: str) -> list[str]:
    """A command as POSIX words.

    Raises:
        ValueError: no command, a quote without its end, or an unquoted mark that only a shell understands
            (it would hide the exit code); the message is for people and says what to do.
    """
    words = shlex.split(text)
    if mark := _SHELL_MARK.search(_QUOTED.sub("", text)):
        raise ValueError(
            f"{mark[0]!r} needs a shell, and there is none. Quote it if it is a part of a word; give each "
            "command a --check of its own, or put them into a script."
        )
    if not words or not words[0]:
        raise ValueError("a command is missing")
    return words
