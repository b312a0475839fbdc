"""The environment of children: what a person's shell would give, less secrets and the server's own traces.

The provider's key must never be in it, under whatever name.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from steersman.processes.interpreter import folder_environment, scripts

_SECRET = re.compile(
    r"^OPENAI_|^STEERSMAN_"
    r"|(^|_)(TOKEN|SECRETS?|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)(_|$)"
    r"|(_KEY|API_?KEY|ACCESS_KEY_ID|TOKEN|SECRET|PASSWORD)$",
    re.IGNORECASE,
)
_INTERPRETER = {
    "__PYVENV_LAUNCHER__",
    "PYTEST_CURRENT_TEST",
    "PYTHONBREAKPOINT",
    "PYTHONEXECUTABLE",
    "PYTHONHOME",
    "PYTHONINSPECT",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "VIRTUAL_ENV",
    "VIRTUAL_ENV_PROMPT",
}
_INJECTING = {"BASH_ENV", "DYLD_INSERT_LIBRARIES", "ELECTRON_RUN_AS_NODE", "ENV", "LD_AUDIT", "LD_PRELOAD"}
_ASKING = {"EDITOR", "GIT_ASKPASS", "SSH_ASKPASS", "SUDO_ASKPASS", "VISUAL"}
"""Each of these can open a window or a prompt, and wait there."""
_COLOURING = {"CLICOLOR_FORCE", "FORCE_COLOR"}
_DROPPED = _INTERPRETER | _INJECTING | _ASKING | _COLOURING
_NON_INTERACTIVE = {
    "CI": "1",
    "DEBIAN_FRONTEND": "noninteractive",
    "GIT_EDITOR": "true",
    "GIT_PAGER": "cat",
    "GIT_SEQUENCE_EDITOR": "true",
    "GIT_TERMINAL_PROMPT": "0",
    "MANPAGER": "cat",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "PIP_NO_INPUT": "1",
    "PYTHONUNBUFFERED": "1",
    "TERM": "dumb",
}
KEY_CHARACTERS = 8
"""A provider key shorter than this is no key: its value is not searched for in other variables."""


def child_environment(own: Mapping[str, str], cwd: Path, extra: Mapping[str, str] = {}) -> dict[str, str]:
    """The environment of a child in `cwd`, from the server's `own`. `extra` is added as it stands.

    The folder's virtual environment comes first on PATH, so that its tools are the ones that are found.
    """
    keys = [value for name, value in own.items() if _is_provider_key(name) and len(value) >= KEY_CHARACTERS]
    env = {
        name: value
        for name, value in own.items()
        if not _is_private(name) and not any(key in value for key in keys)
    }
    env["PATH"] = clean_path(own.get("PATH", os.defpath))
    found = folder_environment(cwd)
    if found is not None:
        env["PATH"] = os.pathsep.join(filter(None, [str(scripts(found)), env["PATH"]]))
        env["VIRTUAL_ENV"] = str(found)
    return env | _NON_INTERACTIVE | dict(extra)


def clean_path(path: str) -> str:
    """A search path without the server's private virtual environment."""
    if sys.prefix == sys.base_prefix:
        return path
    private = os.path.realpath(scripts(Path(sys.prefix)))
    return os.pathsep.join(
        entry for entry in path.split(os.pathsep) if entry and os.path.realpath(entry) != private
    )


def _is_private(name: str) -> bool:
    return name.upper() in _DROPPED or name.startswith("VSCODE_") or _SECRET.search(name) is not None


def _is_provider_key(name: str) -> bool:
    return name.upper().startswith("OPENAI_") and name.upper().endswith("KEY")
