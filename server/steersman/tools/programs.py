"""What a command's argument vector is: a shell, something that wraps one, a line that can hide a failure.

Pure: it looks at words, never at files. When in doubt it says shell: that only means asking.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import PurePath, PureWindowsPath
from typing import Final

_SHELLS: Final = frozenset(
    ("sh", "bash", "rbash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "busybox", "toybox",
     "cmd", "command.com", "powershell", "pwsh", "nu", "elvish", "xonsh", "osh", "wsl")
)  # fmt: skip
_PRIVILEGED: Final = frozenset(("sudo", "doas", "su", "pkexec", "runas", "runuser", "gosu", "su-exec"))
_WRAPPERS: Final = frozenset(
    ("env", "xargs", "nohup", "timeout", "gtimeout", "nice", "ionice", "chrt", "taskset", "setsid", "setpriv",
     "stdbuf", "unbuffer", "time", "watch", "find", "fd", "parallel", "script", "flock", "chroot", "unshare",
     "nsenter", "strace", "ltrace", "systemd-run", "tmux", "screen", "at", "batch", "exec", "command",
     "builtin", "eval", "start", "entr", "caffeinate", "arch", "firejail", "bwrap", "ssh", "docker", "podman")
)  # fmt: skip
_ENDINGS: Final = (".exe", ".cmd", ".bat", ".com")
_WORD: Final = re.compile(r"[^\s\"'=;|&()]+")
_COMMAND_OPTION: Final = re.compile(r"-[a-z]*c[a-z]*|/[ck]|-command|-encodedcommand", re.IGNORECASE)
_MASKING: Final = re.compile(r"[|;&\n]")


def program_name(word: str) -> str:
    """The bare name of a program: no folder, no `.exe`, lower case."""
    name = PureWindowsPath(PurePath(word).name).name.casefold()
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    return name


def shell_reason(argv: Sequence[str]) -> str | None:
    """Why a command counts as one with a shell (asked each time, never remembered), or None."""
    name = program_name(argv[0])
    if name in _SHELLS:
        return f"{name} is a shell: it can run anything"
    if name in _PRIVILEGED:
        return f"{name} runs a program with other rights"
    words = [program_name(word) for argument in argv[1:] for word in _WORD.findall(argument)]
    hidden = next((word for word in words if word in _SHELLS or word in _PRIVILEGED), None)
    if name in _WRAPPERS and hidden is not None:
        return f"{name} wraps {hidden}"
    for first, second in pairwise(argv[1:]):
        if program_name(first) in _SHELLS and _COMMAND_OPTION.fullmatch(second):
            return f"it starts the shell {program_name(first)}"
    return None


def can_hide_failure(argv: Sequence[str]) -> bool:
    """Whether exit code 0 can hide that a part failed: a shell line with `|`, `;`, `&` or several lines."""
    if shell_reason(argv) is None:
        return False
    return any(_MASKING.search(argument) for argument in argv[1:])
