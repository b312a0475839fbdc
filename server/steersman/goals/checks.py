"""Running checks: the harness proves completion, nobody claims it (exits.md, "Success").

The chain runs cheap before dear; the first failure ends it, and its evidence goes back to the model.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from steersman.domain import events as ev
from steersman.domain.checks import (
    Check,
    CheckResult,
    CheckStatus,
    CommandCheck,
    DiagnosticsCheck,
    FileCheck,
    TestsCheck,
    UserCheck,
    kind_of,
)
from steersman.domain.ids import new_id
from steersman.domain.receipts import TestReceipt
from steersman.errors import ToolFailed
from steersman.goals import client_checks
from steersman.loop.services import Verification
from steersman.ports.process import ProcessSpec, TestRun
from steersman.tools.base import ToolContext
from steersman.tools.paths import resolve
from steersman.tools.patterns import matcher
from steersman.tools.unsaved import save_all, unsaved_note

ORDER: Final = ("file", "diagnostics", "command", "tests", "judge", "user")
COMMAND_SECONDS: Final = 600.0
EVIDENCE: Final = 4000
"""Code points of output kept as evidence, from its end: that is where runners say what failed."""


class HarnessChecks:
    """Implements the loop's CheckRunner for everything that needs no second model."""

    async def run(self, checks: Sequence[Check], context: ToolContext) -> Verification:
        """Run the chain. `none` without checks; a check that was not reached is `skipped`."""
        if not checks:
            return Verification(verdict="none", results=[])
        numbered = [(check, check.id or f"check-{n}") for n, check in enumerate(checks, 1)]
        numbered.sort(key=lambda item: ORDER.index(kind_of(item[0])))
        results: list[CheckResult] = []
        for check, check_id in numbered:
            if results and results[-1].status != "pass":
                results.append(_result(check, check_id, "skipped", "An earlier check did not pass."))
                continue
            status, evidence = await _run(check, check_id, context)
            results.append(_result(check, check_id, status, evidence))
        passed = all(result.status == "pass" for result in results)
        return Verification(verdict="pass" if passed else "fail", results=results)


def _result(check: Check, check_id: str, status: CheckStatus, evidence: str) -> CheckResult:
    return CheckResult(check_id=check_id, kind=kind_of(check), status=status, evidence=evidence)


async def _run(check: Check, check_id: str, context: ToolContext) -> tuple[CheckStatus, str]:
    if not context.trusted:
        return "skipped", "The workspace is not trusted: no check is run."
    match check:
        case FileCheck():
            return await _file(check, context)
        case CommandCheck() | TestsCheck():
            return await _on_the_disk(check, context)
        case DiagnosticsCheck():
            return await client_checks.diagnostics(check, context)
        case UserCheck():
            return await client_checks.user(check_id, context)
        case _:
            return "skipped", f"A {kind_of(check)} check cannot be run here."


async def _file(check: FileCheck, context: ToolContext) -> tuple[CheckStatus, str]:
    try:
        document = await context.editor.read(resolve(check.path, context.editor.folders()).path)
    except ToolFailed as failure:
        return "fail", str(failure)
    if document is None or check.exists is False:
        missing, wanted = document is None, check.exists is False
        words = f"{check.path} {'does not exist' if missing else 'exists'}"
        return ("pass" if missing == wanted else "fail"), words
    try:
        if check.contains is not None and not _holds(document.text, check.contains, unsure=False):
            return "fail", f"{check.path} does not match {check.contains!r}"
        if check.not_contains is not None and _holds(document.text, check.not_contains, unsure=True):
            return "fail", f"{check.path} matches {check.not_contains!r}, or has lines too long to be sure"
    except ToolFailed as failure:
        return "fail", str(failure)
    return "pass", f"{check.path} is as it should be"


def _holds(text: str, pattern: str, *, unsure: bool) -> bool:
    """Whether a text holds a match; `unsure` where lines are too long to be searched whole.

    Raises:
        ToolFailed: an expression that could take for ever: nothing can interrupt one.
    """
    wanted = matcher(pattern, is_regex=True)
    lines = text.splitlines() or [""]
    if any(wanted.match(line[: wanted.searched]) is not None for line in lines):
        return True
    if len(text) <= wanted.searched:
        return re.search(pattern, text, re.MULTILINE) is not None
    return unsure and any(len(line) > wanted.searched for line in lines)


async def _on_the_disk(check: CommandCheck | TestsCheck, context: ToolContext) -> tuple[CheckStatus, str]:
    """A run reads the disk, so it proves nothing while a change of this goal is only in a buffer."""
    left = await save_all(context, ask=True)
    ours = tuple(path for path in left if path in _changed(context))
    if ours:
        return "fail", f"Not run. {unsaved_note(ours, context)} Have them saved, then claim again."
    run = _command(check, context) if isinstance(check, CommandCheck) else _tests(check, context)
    status, evidence = await run
    return status, "\n".join(filter(None, (unsaved_note(left, context), evidence)))


def _changed(context: ToolContext) -> set[Path]:
    """The real paths that were changed in this goal, as far as they are still in the workspace."""
    paths: set[Path] = set()
    for uri in context.state.goals.changed:
        with suppress(ToolFailed):
            paths.add(resolve(uri, context.editor.folders()).path)
    return paths


async def _command(check: CommandCheck, context: ToolContext) -> tuple[CheckStatus, str]:
    status, evidence = await _command_once(check, context)
    if status == "pass" and check.stable_for_seconds:
        await asyncio.sleep(check.stable_for_seconds)
        status, evidence = await _command_once(check, context)
    return status, evidence


async def _command_once(check: CommandCheck, context: ToolContext) -> tuple[CheckStatus, str]:
    folders = context.editor.folders()
    if not folders:
        return "fail", "No workspace folder is open to run the command in."
    try:
        cwd = resolve(check.cwd, folders).path if check.cwd else folders[0].path
    except ToolFailed as failure:
        return "fail", str(failure)
    seconds = check.timeout_seconds or COMMAND_SECONDS
    spec = ProcessSpec(argv=check.argv, cwd=str(cwd), timeout_seconds=seconds)
    outcome = await context.processes.run(spec, context.cancel)
    output = outcome.output[-EVIDENCE:]
    shown = " ".join(check.argv)
    match outcome.ended:
        case "exited":
            status: CheckStatus = "pass" if outcome.exit_code == 0 else "fail"
            return status, f"{shown}: exited with {outcome.exit_code}\n{output}"
        case "timeout":
            return "timeout", f"{shown}: not finished after {seconds:g} s\n{output}"
        case _:
            return "fail", f"{shown}: {outcome.problem or outcome.ended}\n{output}"


async def _tests(check: TestsCheck, context: ToolContext) -> tuple[CheckStatus, str]:
    folders = context.editor.folders()
    if not folders:
        return "fail", "No workspace folder is open to run tests in."
    run = TestRun(
        run_id=new_id("r"),
        folder=str(folders[0].path),
        timeout_seconds=context.settings.tests.timeout_seconds,
        argv=check.argv,
        selection=check.selection,
        session_id=context.session_id,
        turn=context.state.turn.number if context.state.turn else None,
        reason="check",
    )
    receipt = await context.tests.run_tests(run, context.cancel)
    await context.record(ev.receipt_event(receipt))
    return _receipt_status(receipt), receipt_text(receipt)


def _receipt_status(receipt: TestReceipt) -> CheckStatus:
    match receipt.status:
        case "passed":
            return "pass"
        case "noTests":
            return "noTests"
        case "timeout":
            return "timeout"
        case _:
            return "fail"


def receipt_text(receipt: TestReceipt) -> str:
    """A receipt as evidence: the counts, the failures, the end of the output."""
    lines = [f"tests {receipt.status}: {receipt.counts}"]
    lines += [f"{case.outcome}: {case.id}" for case in receipt.tests if case.outcome in ("failed", "error")]
    return "\n".join([*lines, receipt.output[-EVIDENCE:]])
