"""`steersman demo`: a small project with a real defect, repaired by a real server in front of your eyes.

It succeeds only if the project's tests were red before and are green after, run by the demo itself.
"""

from __future__ import annotations

import difflib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from steersman.demo import PROJECT, PROMPT, SCRIPT
from steersman.headless.run import ExitCode, Run, run
from steersman.headless.terminal import receipt_line, safe

TESTS: Final = [sys.executable, "-m", "unittest", "-v"]
TEST_SECONDS: Final = 60


async def demo(console: Console, environ: Mapping[str, str], *, keep: bool) -> int:
    """Run the demo; the exit code. `keep` leaves the repaired copy and the session where they are."""
    home = Path(tempfile.mkdtemp(prefix="steersman-demo-"))
    try:
        return await _demo(console, environ, home)
    finally:
        if keep:
            console.print(f"Kept: {home}", markup=False)
        else:
            shutil.rmtree(home, ignore_errors=True)


async def _demo(console: Console, environ: Mapping[str, str], home: Path) -> int:
    project = home / "project"
    shutil.copytree(PROJECT, project, ignore=shutil.ignore_patterns("__pycache__"))
    before = _texts(project)
    console.rule("The project's own tests, before")
    if not _show_tests(console, project, want_green=False):
        return ExitCode.FAILURE
    console.rule("Steersman at work")
    options: dict[str, Any] = {"stateDir": str(home / "state"), "tests": {"command": TESTS}}
    if environ.get("OPENAI_API_KEY") or environ.get("OPENAI_BASE_URL"):
        endpoint = environ.get("OPENAI_BASE_URL") or "the default endpoint"
        console.print(f"Model: {environ.get('OPENAI_MODEL') or '(none named)'} at {endpoint}", markup=False)
    else:
        options["scriptedModel"] = str(SCRIPT)
        console.print("Model: a script. Everything else – server, edits, test runs – is real.")
    outcome = await run(Run(workspace=project, prompt=PROMPT, options=options), console)
    console.rule("What changed")
    for line in _diff(before, _texts(project)):
        console.print(safe(line), style=_DIFF_STYLES.get(line[:1], ""), markup=False, soft_wrap=True)
    console.rule("The receipt")
    for receipt in outcome.receipts[-1:]:
        console.print(receipt_line(receipt), markup=False, soft_wrap=True)
    console.rule("The project's own tests, after")
    green = _show_tests(console, project, want_green=True)
    if outcome.code is not ExitCode.SUCCESS:
        console.print("The demo failed: the turn did not complete.", style="red")
        return outcome.code
    if not green:
        return ExitCode.FAILURE
    console.print("The tests were red and are green now. That is the whole trick.", style="bold green")
    return ExitCode.SUCCESS


_DIFF_STYLES: Final = {"+": "green", "-": "red", "@": "cyan"}


def _show_tests(console: Console, project: Path, *, want_green: bool) -> bool:
    """Run the tests and show how they end; whether they are as they should be."""
    ran = subprocess.run(  # noqa: S603 - our own project, our own interpreter
        TESTS,
        cwd=project,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=TEST_SECONDS,
        check=False,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
    )
    tail = [line for line in ran.stderr.splitlines() if line.strip()][-2:]
    green = ran.returncode == 0
    console.print("\n".join(safe(line) for line in tail), style="green" if green else "red", markup=False)
    if green != want_green:
        console.print(
            f"The demo failed: the tests should be {'green' if want_green else 'red'} here.", style="red"
        )
    return green == want_green


def _texts(project: Path) -> dict[str, str]:
    return {p.relative_to(project).as_posix(): p.read_text("utf-8") for p in sorted(project.rglob("*.py"))}


def _diff(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    lines: list[str] = []
    for name in sorted({*before, *after}):
        old, new = before.get(name, "").splitlines(), after.get(name, "").splitlines()
        lines += difflib.unified_diff(old, new, f"before/{name}", f"after/{name}", lineterm="")
    return lines
