"""`steersman run`: one prompt on a folder, with live progress, and an exit code that says how it went."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any, Final

import msgspec
from rich.console import Console

from steersman.domain.argv import split_command
from steersman.headless.client import HeadlessClient
from steersman.headless.connection import RequestFailed, ServerGone
from steersman.headless.terminal import Person, Transcript, reason_text

SERVER: Final = [sys.executable, "-P", "-m", "steersman", "serve"]
"""`-P`: a folder that is worked in must not replace the server's own modules."""
_LEAVE_SECONDS: Final = 10.0
"""How long a turn that was stopped by the time limit may take to end."""
_NOT_FOR_THE_SERVER: Final = ("PYTHONINSPECT", "PYTHONSTARTUP", "PYTHONBREAKPOINT", "PYTEST_CURRENT_TEST")


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
    """What to do. `timeout` is in seconds; `checks` are argument vectors; `options` go to the server.

    With `goal` the words are an objective that is worked on in rounds, else the prompt of one turn.
    """

    workspace: Path
    prompt: str
    goal: bool = False
    checks: Sequence[Sequence[str]] = ()
    options: Mapping[str, Any] = {}
    timeout: float | None = None


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a run went, and what it showed."""

    code: ExitCode
    reason: Mapping[str, Any] | None = None
    receipts: Sequence[Mapping[str, Any]] = ()


def split_check(command: str, option: str = "--check") -> list[str]:
    """An option's command as POSIX words. Raises UsageError for what only a shell could do."""
    try:
        return split_command(command)
    except ValueError as error:
        raise UsageError(f"{option} {command!r}: {error}") from None


async def run(what: Run, console: Console) -> Outcome:
    """Run one prompt to the end of its turn on a real server."""
    transcript = Transcript(console)
    asking = transcript if console.is_terminal else Transcript(Console(stderr=True, highlight=False))
    person = Person(asking, present=sys.stdin is not None and sys.stdin.isatty())
    try:
        client = await HeadlessClient.start(
            SERVER,
            what.workspace,
            what.options,
            person.approve,
            server_environment(os.environ),
            answer=person.answer if person.present else None,
        )
    except (OSError, ServerGone, RequestFailed, TimeoutError) as error:
        transcript.line(f"The server could not start: {str(error) or 'it did not answer in time'}", "red")
        return Outcome(code=ExitCode.NOT_STARTED)
    turn = _Turn(client, transcript, person, what)
    try:
        return await turn.play()
    except (ServerGone, RequestFailed, TimeoutError) as error:
        gone = "The server ended in the middle of the work. " if isinstance(error, ServerGone) else ""
        transcript.line(f"{gone}{str(error) or 'The server did not answer in time.'}", "red")
        transcript.line(f"Failed.{turn.kept()}", "bold")
        return Outcome(code=ExitCode.FAILURE, receipts=transcript.receipts)
    finally:
        await client.stop()


def server_environment(own: Mapping[str, str]) -> dict[str, str]:
    """The environment of a server: a person's own, less what makes a Python or a test run behave oddly."""
    return {name: value for name, value in own.items() if name not in _NOT_FOR_THE_SERVER}


class _Turn:
    """One turn of one new session."""

    def __init__(self, client: HeadlessClient, transcript: Transcript, person: Person, what: Run) -> None:
        self._client = client
        self._transcript = transcript
        self._person = person
        self._what = what
        self._end: Mapping[str, Any] | None = None
        self._verdict: str | None = None
        self._running = False
        self._phase = "active"
        self._interrupts = 0
        self._timed_out = False
        self._session_id: str | None = None
        self._stopping: asyncio.Future[None] | None = None
        client.on_event = self._event
        client.on_message = lambda text: transcript.line(text, "yellow")

    async def play(self) -> Outcome:
        """Raises ServerGone, RequestFailed, TimeoutError."""
        session = await self._client.request("steersman/session/new", {})
        self._session_id = session["sessionId"]
        words = "objective" if self._what.goal else "text"
        params: dict[str, Any] = {"sessionId": self._session_id, words: self._what.prompt}
        if self._what.checks:
            params["checks"] = [{"kind": "command", "argv": [*argv]} for argv in self._what.checks]
        with _interrupts(self._interrupted):
            try:
                method = "steersman/goal/create" if self._what.goal else "steersman/turn/prompt"
                await self._client.request(method, params)
            except RequestFailed as refused:
                if refused.kind != "notConfigured":
                    raise
                self._transcript.line(str(refused), "red")
                return Outcome(code=ExitCode.NOT_STARTED)
            await self._ended()
        return self._outcome()

    def kept(self) -> str:
        """What remains of the work, as a sentence to append."""
        return f" The session {self._session_id} is kept." if self._session_id is not None else ""

    async def _ended(self) -> None:
        """Wait for the end of the turn, or until nobody wants to wait any more."""
        try:
            async with asyncio.timeout(self._what.timeout):
                await self._client.until(self._is_over)
        except TimeoutError:
            self._timed_out = True
            self._transcript.line(f"The time is over ({self._what.timeout:g} s): stopping.", "yellow")
            self._stop()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LEAVE_SECONDS):
                    await self._client.until(self._is_over)

    def _is_over(self) -> bool:
        if self._interrupts > 1:
            return True
        if not self._what.goal:
            return self._end is not None
        # A goal moves on after a turn that completed; anything else ends or disarms it.
        settled = self._phase != "active" or (self._end is not None and self._end["kind"] in _DISARMS)
        return settled and not self._running

    def _event(self, event: Mapping[str, Any]) -> None:
        self._transcript.event(event)
        if event["type"] == "turn/start":
            self._running = True
        elif event["type"] == "turn/end":
            self._running = False
            self._end = event["data"]["reason"]
        elif event["type"] == "goal/change":
            self._phase = (event["data"]["goal"] or {}).get("phase", "cleared")
        elif event["type"] == "goal/verification":
            self._verdict = event["data"]["verdict"]

    def _interrupted(self) -> None:
        """Ctrl-C: the first stops the turn, the second leaves."""
        self._interrupts += 1
        if self._interrupts == 1:
            self._transcript.line("Stopping. Press Ctrl-C again to leave at once.", "yellow")
            self._stop()
        else:
            self._client.wake()

    def _stop(self) -> None:
        request = self._client.request("steersman/turn/cancel", {"sessionId": self._session_id})
        self._stopping = asyncio.ensure_future(_quietly(request))

    def _outcome(self) -> Outcome:
        code = self._code()
        said = reason_text(self._end) if self._end is not None else "left before the turn ended"
        if self._what.goal:
            said = f"the goal is {self._phase}; {said}"
        self._transcript.line(f"{_SAID[code]}: {said}.{self.kept()}", "bold")
        return Outcome(code=code, reason=self._end, receipts=self._transcript.receipts)

    def _code(self) -> ExitCode:
        if self._timed_out:
            return ExitCode.FAILURE
        if self._end is None or (self._end["kind"] == "aborted" and self._end["by"] == "human"):
            return ExitCode.STOPPED
        if self._person.absent:
            return ExitCode.DENIED
        if self._what.goal:
            return ExitCode.SUCCESS if self._phase == "complete" else ExitCode.FAILURE
        verified = not self._what.checks or self._verdict == "pass"
        return ExitCode.SUCCESS if self._end["kind"] == "completed" and verified else ExitCode.FAILURE


_DISARMS: Final = frozenset({"error", "max-tokens", "aborted"})
"""Ends of a turn after which a goal does not move by itself."""
_SAID: Final = {
    ExitCode.SUCCESS: "Done",
    ExitCode.FAILURE: "Failed",
    ExitCode.STOPPED: "Stopped",
    ExitCode.DENIED: "Something was denied because nobody was there to ask; run it in a terminal",
}


async def _quietly(request: Coroutine[Any, Any, Any]) -> None:
    with contextlib.suppress(RequestFailed, ServerGone, TimeoutError):
        await request


@contextlib.contextmanager
def _interrupts(act: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C calls `act` while the block runs, on every platform."""
    loop = asyncio.get_running_loop()
    before = signal.signal(signal.SIGINT, lambda *_: loop.call_soon_threadsafe(act))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
