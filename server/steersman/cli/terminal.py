"""What the commands on sessions share: the store, ids by their beginning, output, exit codes."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Coroutine
from enum import IntEnum
from pathlib import Path
from typing import Any, Final

from steersman.composition import session_store
from steersman.domain.value import encode
from steersman.errors import RequestRefused
from steersman.ports.event_log import SessionStore
from steersman.sessions.transcript import without_controls

_SHORTEST: Final = 3
"""Fewer characters of an id mean nobody."""
_PIPE_CLOSED: Final = 141
"""What a shell tells of a program whose reader has gone: 128 + SIGPIPE."""


class ExitCode(IntEnum):
    DONE = 0
    REFUSED = 1
    """It was not done, or the session is damaged."""
    USAGE = 2
    """No such session, or more than one."""


class NotOne(Exception):
    """A word that names no session, or several."""


def run(command: str, work: Coroutine[Any, Any, int]) -> int:
    """Do the work of a command; the exit code. Refusals are told on stderr."""
    try:
        code = asyncio.run(work)
        sys.stdout.flush()
    except NotOne as problem:
        return _fail(command, problem, ExitCode.USAGE)
    except RequestRefused as refused:
        return _fail(command, refused, ExitCode.REFUSED)
    except BrokenPipeError:
        # The interpreter would fail once more when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _PIPE_CLOSED
    return code


def store_at(state_dir: Path | None) -> SessionStore:
    """The sessions in a state folder, or in the usual one."""
    return session_store(None if state_dir is None else str(state_dir.resolve()))


async def named(store: SessionStore, word: str) -> str:
    """The id of the one session that a word names: its id or the beginning of it.

    Raises:
        NotOne: there is none, or there are several.
    """
    known = [ref.session_id for ref in await store.list()]
    if word in known:
        return word
    fit = sorted(session_id for session_id in known if session_id.startswith(word))
    if len(word) < _SHORTEST or not fit:
        raise NotOne(f"there is no session {word!r}; `steersman sessions list` shows which there are")
    if len(fit) > 1:
        raise NotOne(f"{word!r} may be {', '.join(fit[:5])}{' …' if len(fit) > 5 else ''}")
    return fit[0]


def say(text: str) -> None:
    """Print a line for people. What would command the terminal is left out."""
    say_bytes(without_controls(text).encode("utf-8", "replace") + b"\n")


def say_json(value: object) -> None:
    say_bytes(encode(value) + b"\n")


def say_bytes(data: bytes) -> None:
    """Print bytes as they are, all of them: an unbuffered stdout may take less at once."""
    left = memoryview(data)
    while left:
        left = left[sys.stdout.buffer.write(left) :]
    sys.stdout.buffer.flush()


def _fail(command: str, problem: Exception, code: ExitCode) -> int:
    print(f"steersman {command}: {problem}", file=sys.stderr)
    return code
