"""The model's commands through the editor, as it offers them. The server never runs one a second time."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from steersman.domain.ids import new_id
from steersman.domain.value import Value, clean_text, clean_value
from steersman.errors import Aborted
from steersman.lsp.channel import ClientChannel
from steersman.lsp.client_messages import COMMAND_RUN, CommandRequest
from steersman.lsp.long_requests import LongRequests, Milliseconds
from steersman.ports.cancel import Cancel
from steersman.ports.process import Ended, ProcessOutcome, ProcessSpec

GRACE_SECONDS: Final = 5.0
"""How long after a command's own time limit the editor may take to tell that it ended it."""


class _Claim(Value, frozen=True):
    """How a command ended, as an editor tells it. `exit_code` None: it does not know."""

    exit_code: int | None
    output: str = ""
    duration_ms: Milliseconds = 0
    cancelled: bool = False
    timed_out: bool = False


class ClientCommands:
    """Implements `ports.process.ProcessPort` for a client that advertised `commands`.

    `uri_of` spells a folder as the client does. The outcome's output is as the client gave it.
    """

    def __init__(
        self,
        channel: ClientChannel,
        uri_of: Callable[[Path], str],
        *,
        grace_seconds: float = GRACE_SECONDS,
    ) -> None:
        self._requests = LongRequests(channel, COMMAND_RUN)
        self._uri_of = uri_of
        self._grace = grace_seconds

    async def run(self, spec: ProcessSpec, cancel: Cancel) -> ProcessOutcome:
        """Ask the editor. Where it does not tell how a command ended, that is `unknown`, never a success."""
        begun = time.monotonic()

        def ended(how: Ended, problem: str) -> ProcessOutcome:
            duration = round((time.monotonic() - begun) * 1000)
            return ProcessOutcome(
                ended=how, exit_code=None, output="", duration_ms=duration, problem=clean_text(problem)
            )

        try:
            claim = await self._requests.ask(self._params(spec), spec.timeout_seconds + self._grace, cancel)
        except TimeoutError:
            return ended("timeout", "The editor told no result; it was asked to stop the command.")
        except Aborted:
            return ended("cancelled", "The editor was asked to stop the command.")
        except Exception as error:
            return ended("unknown", f"the editor answered with an error: {error}")
        try:
            return _outcome(msgspec.convert(clean_value(claim), _Claim, strict=True))
        except msgspec.ValidationError as problem:
            return ended("unknown", f"the editor's answer makes no sense: {problem}")

    async def close(self) -> None:
        """Nothing is held: open requests end with the turns that made them."""

    def result(self, params: object) -> None:
        """`steersman/command/result`: how a command that the client accepted ended."""
        self._requests.result(params)

    def _params(self, spec: ProcessSpec) -> dict[str, Any]:
        request = CommandRequest(
            run_id=new_id("r"),
            session_id=spec.session_id,
            turn=spec.turn,
            folder=self._uri_of(Path(spec.cwd)),
            argv=[clean_text(word) for word in spec.argv],
            timeout_seconds=spec.timeout_seconds,
            title=clean_text(spec.title or spec.argv[0]),
            call_id=spec.call_id,
        )
        params: dict[str, Any] = msgspec.to_builtins(request)
        return params


def _outcome(claim: _Claim) -> ProcessOutcome:
    ended: Ended = "exited"
    problem = None
    if claim.cancelled:
        ended = "cancelled"
    elif claim.timed_out:
        ended = "timeout"
    elif claim.exit_code is None:
        ended, problem = "unknown", "the editor told no exit code"
    return ProcessOutcome(
        ended=ended,
        exit_code=claim.exit_code if ended == "exited" else None,
        output=claim.output,
        duration_ms=round(claim.duration_ms),
        problem=problem,
    )
