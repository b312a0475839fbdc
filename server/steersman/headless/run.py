"""`steersman run`: one prompt on a folder, with live progress, and an exit code that says how it went."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
import signal
import sys
from collections.abc import Mapping, Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any, Final

import msgspec
from rich.console import Console

from steersman.headless.client import HeadlessClient
from steersman.headless.connection import RequestFailed, ServerGone
from steersman.headless.terminal import Person, Transcript, reason_text

SERVER: Final = [sys.executable, "-m", "steersman", "serve"]
_SHELL_MARKS: Final = "|&;<>"


class ExitCode(IntEnum):
    """What `steersman run` tells the shell."""

    SUCCESS = 0
    FAILURE = 1
    """The turn ended in an error, a limit or a policy, or its checks failed."""
    USAGE = 2
    STOPPED = 3
    """A person stopped it."""
    DENIED = 4
    """An approval was needed and nobody was there to ask."""
    NOT_STARTED = 5
    """No model is configured, or the server could not start."""


class UsageError(Exception):
    """The words on the command line do not fit."""


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """What to do. `timeout` is in seconds; `checks` are argument vectors; `options` go to the server."""

    workspace: Path
    prompt: str
    checks: Sequence[Sequence[str]] = ()
    options: Mapping[str, Any] = {}
    timeout: float | None = None


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a run went, and what it showed."""

    code: ExitCode
    reason: Mapping[str, Any] | None = None
    receipts: Sequence[Mapping[str, Any]] = ()


def split_check(command: str) -> list[str]:
    """A check's command as POSIX words. Raises UsageError for what only a shell could do."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=_SHELL_MARKS)
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError as error:
        raise UsageError(f"--check {command!r}: {error}") from None
    marks = [word for word in words if word and set(word) <= set(_SHELL_MARKS)]
    if marks:
        raise UsageError(
            f"--check {command!r}: {marks[0]!r} needs a shell, which would hide the exit code. "
            "Give each command its own --check, or quote the mark."
        )
    if not words:
        raise UsageError("--check needs a command")
    return words


async def run(what: Run, console: Console) -> Outcome:
    """Run one prompt to the end of its turn on a real server."""
    transcript = Transcript(console)
    person = Person(transcript, present=sys.stdin is not None and sys.stdin.isatty())
    try:
        client = await HeadlessClient.start(SERVER, what.workspace, what.options, person.approve)
    except (OSError, ServerGone, RequestFailed, TimeoutError) as error:
        transcript.line(f"The server could not start: {error}", "red")
        return Outcome(code=ExitCode.NOT_STARTED)
    try:
        return await _Turn(client, transcript, person).play(what)
    except ServerGone as error:
        transcript.line(str(error), "red")
        return Outcome(code=ExitCode.FAILURE, receipts=transcript.receipts)
    finally:
        await client.stop()


class _Turn:
    """One turn of one new session."""

    def __init__(self, client: HeadlessClient, transcript: Transcript, person: Person) -> None:
        self._client = client
        self._transcript = transcript
        self._person = person
        self._end: Mapping[str, Any] | None = None
        self._stops = 0
        self._timed_out = False
        self._session_id = ""
        client.on_event = self._event
        client.on_message = lambda text: transcript.line(text, "yellow")

    async def play(self, what: Run) -> Outcome:
        session = await self._client.request("steersman/session/new", {})
        self._session_id = session["sessionId"]
        params: dict[str, Any] = {"sessionId": self._session_id, "text": what.prompt}
        if what.checks:
            params["checks"] = [{"kind": "command", "argv": list(argv)} for argv in what.checks]
        try:
            await self._client.request("steersman/turn/prompt", params)
        except RequestFailed as refused:
            self._transcript.line(str(refused), "red")
            started = refused.kind == "notConfigured"
            return Outcome(code=ExitCode.NOT_STARTED if started else ExitCode.FAILURE)
        with _interrupts(self._interrupted):
            await self._ended(what.timeout)
        return self._outcome()

    async def _ended(self, timeout: float | None) -> None:  # noqa: ASYNC109 - the turn's, not a call's
        over = asyncio.create_task(self._client.until(lambda: self._end is not None or self._stops > 1))
        done, _ = await asyncio.wait({over}, timeout=timeout)
        if not done:
            self._timed_out = True
            self._transcript.line(f"The time is over ({timeout:g} s): stopping.", "yellow")
            self._stop()
        await over

    def _event(self, event: Mapping[str, Any]) -> None:
        self._transcript.event(event)
        if event["type"] == "turn/end":
            self._end = event["data"]["reason"]

    def _interrupted(self) -> None:
        """Ctrl-C: the first stops the turn, the second leaves."""
        self._stops += 1
        if self._stops == 1:
            self._transcript.line("Stopping. Press Ctrl-C again to leave at once.", "yellow")
            self._stop()
        else:
            self._client.wake()

    def _stop(self) -> None:
        request = self._client.request("steersman/turn/cancel", {"sessionId": self._session_id})
        self._stopping = asyncio.ensure_future(_quietly(request))

    def _outcome(self) -> Outcome:
        reason = self._end
        code = self._code(reason)
        said = reason_text(reason) if reason is not None else "left before the turn ended"
        self._transcript.line(f"{_SAID[code]}: {said}. The session {self._session_id} is kept.", "bold")
        return Outcome(code=code, reason=reason, receipts=self._transcript.receipts)

    def _code(self, reason: Mapping[str, Any] | None) -> ExitCode:
        if self._timed_out:
            return ExitCode.FAILURE
        if reason is None or reason["kind"] == "aborted":
            return ExitCode.STOPPED
        if reason["kind"] != "completed":
            return ExitCode.FAILURE
        return ExitCode.DENIED if self._person.absent else ExitCode.SUCCESS


_SAID: Final = {
    ExitCode.SUCCESS: "Done",
    ExitCode.FAILURE: "Failed",
    ExitCode.STOPPED: "Stopped",
    ExitCode.DENIED: "Something was denied because nobody was there to ask; run it in a terminal",
}


async def _quietly(request: Any) -> None:
    with contextlib.suppress(RequestFailed, ServerGone, TimeoutError):
        await request


@contextlib.contextmanager
def _interrupts(act: Any) -> Any:
    """Ctrl-C calls `act` while the block runs."""
    loop = asyncio.get_running_loop()
    with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
        loop.add_signal_handler(signal.SIGINT, act)
    try:
        yield
    finally:
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            loop.remove_signal_handler(signal.SIGINT)
