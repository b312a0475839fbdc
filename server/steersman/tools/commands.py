"""run_command: runs a program in the workspace. It tells how the program ended, and never calls that more."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Final

import msgspec

from steersman.domain.events import CallMode
from steersman.domain.messages import ToolError, Verified
from steersman.errors import ToolFailed
from steersman.ports.process import ProcessOutcome, ProcessSpec
from steersman.tools import permission
from steersman.tools.base import Arguments, Permit, Refuse, ToolContext, ToolOutcome
from steersman.tools.paths import display, locate, real
from steersman.tools.programs import can_hide_failure
from steersman.tools.unsaved import save_all, unsaved_note

_DEFAULT_SECONDS: Final = 120.0
_MOST_SECONDS: Final = 3600
_KEPT: Final = 512 * 1024
"""Bytes of output that are kept of a run; the model is shown less and can read on."""


class RunCommandArguments(Arguments, frozen=True):
    """`argv` is the program and its arguments, no shell line."""

    argv: Annotated[list[str], msgspec.Meta(min_length=1)]
    cwd: str | None = None
    timeout_seconds: Annotated[float, msgspec.Meta(gt=0, le=_MOST_SECONDS)] = _DEFAULT_SECONDS


class RunCommand:
    name = "run_command"
    description = (
        "Run a program, given as a list of words without a shell, and see its exit code and output; "
        "it must end by itself and cannot ask questions. Use run_tests for tests."
    )
    arguments = RunCommandArguments
    deadline_seconds = _MOST_SECONDS + 60.0

    def mode(self, arguments: RunCommandArguments, context: ToolContext) -> CallMode:
        return "exclusive"

    def permit(self, arguments: RunCommandArguments, context: ToolContext) -> Permit:
        problem = _problem(arguments.argv)
        if problem is not None:
            return Refuse(code="INVALID_ARGUMENTS", message=problem)
        return permission.command(context, arguments.argv, arguments.cwd)

    async def run(self, arguments: RunCommandArguments, context: ToolContext) -> ToolOutcome:
        """Run it. Raises ToolFailed: `INVALID_ARGUMENTS`, `NOT_FOUND` for an unusable `cwd`."""
        cwd = _folder(context, arguments.cwd)
        note = unsaved_note(await save_all(context), context)
        if not context.trusted:
            raise ToolFailed("DENIED", "the workspace is no longer trusted: nothing was run")
        spec = ProcessSpec(
            argv=arguments.argv,
            cwd=str(cwd),
            timeout_seconds=arguments.timeout_seconds,
            output_limit=_KEPT,
            session_id=context.session_id,
            turn=context.state.turn.number if context.state.turn else None,
            call_id=context.call_id,
            title=shlex.join(arguments.argv),
        )
        ended = await context.commands.run(spec, context.cancel)
        where = display(cwd, context.editor.folders())
        return _told(arguments, ended, [f"in {where}" if where != "." else "", note])


def _problem(argv: list[str]) -> str | None:
    """Why an argv cannot be run at all, or None."""
    if not argv[0].strip():
        return "argv[0] is empty: it is the program to run"
    if any("\0" in word for word in argv):
        return "argv holds a NUL character"
    return None


def _folder(context: ToolContext, given: str | None) -> Path:
    """The working folder: a real path, by default the first workspace folder. Raises ToolFailed.

    One outside the workspace has been approved by its real path.
    """
    folders = context.editor.folders()
    if given is None:
        if not folders:
            raise ToolFailed("FAILED", "no folder is open: ask the person to open one")
        return folders[0].path
    path = real(locate(given, folders), given)
    if not path.is_dir():
        raise ToolFailed("NOT_FOUND", f"cwd {given!r} is not a folder")
    return path


def _told(arguments: RunCommandArguments, ended: ProcessOutcome, notes: list[str]) -> ToolOutcome:
    headline, code = _headline(arguments, ended)
    output = ended.output.rstrip("\n")
    left_out = f"[{ended.omitted_bytes} bytes of output were not kept]" if ended.omitted_bytes else ""
    body = output or "(no output)"
    if ended.ended in ("not-found", "failed-to-start"):
        body = output
    content = "\n".join(filter(None, (headline, *notes, left_out, body)))
    hidden = can_hide_failure(arguments.argv)
    verified = Verified(
        ok=ended.ended == "exited" and ended.exit_code == 0 and not hidden, check="exit-code", note=headline
    )
    if code is None:
        return ToolOutcome(content=content, verified=verified)
    error = ToolError(code=code, message=headline)
    if ended.ended == "timeout":
        return ToolOutcome(content=content, outcome="timeout", error=error, verified=verified)
    if ended.ended == "cancelled":
        return ToolOutcome(content=content, outcome="aborted", verified=verified)
    return ToolOutcome(content=content, outcome="error", error=error, verified=verified)


def _headline(arguments: RunCommandArguments, ended: ProcessOutcome) -> tuple[str, str | None]:
    """How a command ended, in words that claim no more than is known, and the error code if there is one."""
    program = arguments.argv[0]
    problem = f": {ended.problem}" if ended.problem else ""
    match ended.ended:
        case "exited":
            text = f"exited with {ended.exit_code}"
            if can_hide_failure(arguments.argv):
                text += " – the code of the whole shell line, which can hide that a part of it failed"
            return text, None if ended.exit_code == 0 else "FAILED"
        case "signalled":
            return f"killed by signal {ended.signal}{problem}", "FAILED"
        case "timeout":
            return (
                f"timed out after {arguments.timeout_seconds:g} s and was ended – this says nothing about "
                "success or failure. Run it in a mode that ends by itself, or give more timeout_seconds",
                "TIMEOUT",
            )
        case "cancelled":
            return "stopped before it ended", "FAILED"
        case "not-found":
            return f"not found: there is no program {program!r} here{problem}", "FAILED"
        case "failed-to-start":
            return f"could not be started: {program!r}{problem}", "FAILED"
        case "unknown":
            return (
                f"ended in a way that is not known{problem}. Look at what it did before you repeat it",
                "FAILED",
            )
