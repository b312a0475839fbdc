"""`steersman demo`: a small project with a real defect, repaired by a real server in front of your eyes.

It succeeds only if the project's tests were red before and are green after, run by the demo itself, and
nothing but the defective file was touched.
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

from steersman.demo import DEFECTIVE, PROJECT, PROMPT, SCRIPT
from steersman.headless.run import ExitCode, Run, run
from steersman.headless.terminal import receipt_line, safe

TESTS: Final = [sys.executable, "-m", "unittest", "-v"]
TEST_SECONDS: Final = 60
GREEN: Final = 0
RED: Final = 1
"""What unittest exits with when tests ran and some failed."""


async def demo(console: Console, environ: Mapping[str, str], *, keep: bool) -> int:
    """Run the demo; the exit code. `keep` leaves the repaired copy and the session where they are."""
    home = _new_home()
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
    if _show_tests(console, project) != RED:
        return _failed(console, "the tests should be red here.")
    console.rule("Steersman at work")
    options: dict[str, Any] = {"stateDir": str(home / "state"), "tests": {"command": TESTS}}
    if environ.get("OPENAI_API_KEY") or environ.get("OPENAI_BASE_URL"):
        endpoint = environ.get("OPENAI_BASE_URL") or "the default endpoint"
        console.print(f"Model: {environ.get('OPENAI_MODEL') or '(none named)'} at {endpoint}", markup=False)
    else:
        options["scriptedModel"] = str(SCRIPT)
        console.print("Model: a script. Everything else – server, edits, test runs – is real.")
    outcome = await run(Run(workspace=project, prompt=PROMPT, options=options), console)
    after = _texts(project)
    console.rule("What changed")
    for line in _diff(before, after):
        console.print(safe(line), style=_DIFF_STYLES.get(line[:1], ""), markup=False, soft_wrap=True)
    console.rule("The receipt")
    told = receipt_line(outcome.receipts[-1]) if outcome.receipts else "none: no test was run in the turn"
    console.print(told, markup=False, soft_wrap=True)
    console.rule("The project's own tests, after")
    end = _show_tests(console, project)
    if outcome.code is not ExitCode.SUCCESS:
        _failed(console, "the turn did not complete.")
        return outcome.code
    if end != GREEN:
        return _failed(console, "the tests should be green here.")
    touched = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    if touched != [DEFECTIVE]:
        return _failed(console, f"only {DEFECTIVE} should have changed, but it was: {', '.join(touched)}.")
    console.print("The tests were red and are green now. That is the whole trick.", style="bold green")
    return ExitCode.SUCCESS


def _new_home() -> Path:
    return Path(tempfile.mkdtemp(prefix="steersman-demo-")).resolve()


def _failed(console: Console, reason: str) -> int:
    console.print(f"The demo failed: {safe(reason)}", style="red", markup=False)
    return ExitCode.FAILURE


_DIFF_STYLES: Final = {"+": "green", "-": "red", "@": "cyan"}


def _show_tests(console: Console, project: Path) -> int | None:
    """Run the tests and show how they end; the exit code, None if they do not end."""
    try:
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
    except subprocess.TimeoutExpired:
        console.print(f"not finished after {TEST_SECONDS} s", style="red")
        return None
    tail = [line for line in ran.stderr.splitlines() if line.strip()][-2:]
    style = "green" if ran.returncode == GREEN else "red"
    console.print("\n".join(safe(line) for line in tail), style=style, markup=False)
    return ran.returncode


def _texts(project: Path) -> dict[str, str]:
    """Every file of the project by its relative path, without compiled modules."""
    files = (path for path in sorted(project.rglob("*")) if path.is_file())
    return {
        path.relative_to(project).as_posix(): path.read_text(encoding="utf-8", errors="replace")
        for path in files
        if path.parent.name != "__pycache__"
    }


def _diff(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    lines: list[str] = []
    for name in sorted({*before, *after}):
        old, new = before.get(name, "").splitlines(), after.get(name, "").splitlines()
        lines += difflib.unified_diff(old, new, f"before/{name}", f"after/{name}", lineterm="")
    return lines
