"""run_tests: runs the test command and tells what really happened. Nothing collected is never a success."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from steersman.domain.checks import Selection
from steersman.domain.events import CallMode, TestsReceipt
from steersman.domain.ids import new_id
from steersman.domain.messages import ToolError, Verified
from steersman.domain.receipts import TestCase, TestReceipt
from steersman.errors import ToolFailed
from steersman.ports.editor import Folder
from steersman.ports.process import TestRun
from steersman.tools import files, permission
from steersman.tools.base import Allow, Arguments, Ask, Permit, Refuse, ToolContext, ToolOutcome
from steersman.tools.unsaved import save_all, unsaved_note

_LISTED: Final = 20
_MESSAGE: Final = 1500
"""Characters of a failure's message that are shown."""
_MARGIN_SECONDS: Final = 60.0
_MOST_SECONDS: Final = 3600.0


class RunTestsArguments(Arguments, frozen=True):
    """`files` are paths, `tests` ids of the test runner; both empty means all tests."""

    files: list[str] = []
    tests: list[str] = []


class RunTests:
    name = "run_tests"
    description = "Run the project's tests – all, or some files or test ids – and see which fail."
    arguments = RunTestsArguments
    deadline_seconds = _MOST_SECONDS + _MARGIN_SECONDS

    def mode(self, arguments: RunTestsArguments, context: ToolContext) -> CallMode:
        return "exclusive"

    def permit(self, arguments: RunTestsArguments, context: ToolContext) -> Permit:
        refused = permission.untrusted(context)
        if refused is not None:
            return refused
        try:
            folder, _ = _selected(context, arguments)
        except ToolFailed as error:
            return Refuse(code=error.code, message=str(error))
        remember = f"tests:{folder.uri}"
        if context.settings.tests.command is not None or remember in context.state.allowed:
            return Allow()
        return Ask(
            risk="execute",
            title="Run the tests",
            detail=f"No test command is set, so what the folder {permission.code(folder.name)} suggests "
            "would run.",
            uris=(folder.uri,),
            remember=remember,
        )

    async def run(self, arguments: RunTestsArguments, context: ToolContext) -> ToolOutcome:
        """Run them. Raises ToolFailed for files that cannot be selected."""
        folder, selection = _selected(context, arguments)
        note = unsaved_note(await save_all(context, ask=True), context)
        if not context.trusted:
            raise ToolFailed("DENIED", "the workspace is no longer trusted: no test was run")
        receipt = await context.tests.run_tests(
            TestRun(
                run_id=new_id("r"),
                folder=str(folder.path),
                timeout_seconds=min(context.settings.tests.timeout_seconds, _MOST_SECONDS),
                selection=selection,
                session_id=context.session_id,
                turn=context.state.turn.number if context.state.turn else None,
                call_id=context.call_id,
            ),
            context.cancel,
        )
        await context.record(TestsReceipt(**msgspec.structs.asdict(receipt)))
        return _told(receipt, note)


def _selected(context: ToolContext, arguments: RunTestsArguments) -> tuple[Folder, Selection | None]:
    """The folder to run in, and the selection relative to it. Raises ToolFailed."""
    folders = context.editor.folders()
    if not folders:
        raise ToolFailed("FAILED", "no folder is open: ask the person to open one")
    for word in (*arguments.files, *arguments.tests):
        if word.lstrip().startswith("-") or "\0" in word or not word.strip():
            raise ToolFailed("INVALID_ARGUMENTS", f"{word!r} is not a file or a test: options are not taken")
    places = [files.target(context, given) for given in arguments.files]
    chosen = {place.folder.path: place.folder for place in places}
    if len(chosen) > 1:
        names = ", ".join(folder.name for folder in chosen.values())
        raise ToolFailed("INVALID_ARGUMENTS", f"the files are in several folders ({names}): run them apart")
    for place in places:
        if not place.path.exists():
            raise ToolFailed("NOT_FOUND", files.missing(context, place))
    folder = next(iter(chosen.values()), folders[0])
    if not places and not arguments.tests:
        return folder, None
    paths = [Path(place.relative).as_posix() for place in places]
    return folder, Selection(files=paths, tests=arguments.tests)


def _told(receipt: TestReceipt, note: str) -> ToolOutcome:
    numbers = str(receipt.counts)
    headline = f"{_meaning(receipt)} ({numbers}; exit code {_code(receipt)}; {receipt.duration_ms} ms)"
    failures = [case for case in receipt.tests if case.outcome in ("failed", "error")]
    shown = [_failure(case) for case in failures[:_LISTED]]
    if len(failures) > _LISTED:
        shown.append(f"[{len(failures) - _LISTED} more failures]")
    output = receipt.output.rstrip("\n")
    parts = (headline, note, *shown, f"Output of {' '.join(receipt.argv)}:\n{output}" if output else "")
    content = "\n".join(filter(None, parts))
    verified = Verified(ok=receipt.counts.collected > 0, check="collected", note=numbers)
    match receipt.status:
        case "passed" | "failed":
            return ToolOutcome(content=content, verified=verified)
        case "cancelled":
            return ToolOutcome(content=content, outcome="aborted", verified=verified)
        case "timeout":
            error = ToolError(code="TIMEOUT", message=headline)
            return ToolOutcome(content=content, outcome="timeout", error=error, verified=verified)
        case "error" | "noTests":
            error = ToolError(code="FAILED", message=headline)
            return ToolOutcome(content=content, outcome="error", error=error, verified=verified)


def _meaning(receipt: TestReceipt) -> str:
    return {
        "passed": "All tests passed",
        "failed": "Tests failed",
        "error": "The test run itself failed: this is not a result of the tests",
        "cancelled": "The test run was stopped before it ended: this is not a result",
        "timeout": "The test run timed out and was ended: this is not a result. Tests must end by themselves",
        "noTests": "No test was collected: this is not a success. Look at the files and ids you gave",
    }[receipt.status]


def _code(receipt: TestReceipt) -> str:
    return "none" if receipt.exit_code is None else str(receipt.exit_code)


def _failure(case: TestCase) -> str:
    line = f" (line {case.line})" if case.line is not None else ""
    message = f"\n{case.message[:_MESSAGE]}" if case.message else ""
    return f"{case.outcome.upper()} {case.id}{line}{message}"
