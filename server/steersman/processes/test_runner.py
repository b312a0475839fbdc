"""The TestRunner of the server's own: the folder's interpreter, results read from a file, a receipt.

It writes nothing into the workspace, and never raises for what the tests do.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote_to_bytes

from steersman.domain.receipts import TestCase, TestReceipt
from steersman.ports.cancel import Cancel
from steersman.ports.process import ProcessPort, ProcessSpec, TestRun
from steersman.processes.environment import clean_path
from steersman.processes.interpreter import folder_interpreter
from steersman.processes.junit_results import read_cases
from steersman.processes.receipts import receipt_of, refused
from steersman.processes.suites import suggested_command
from steersman.processes.test_command import is_pytest, resolved, selected, with_results

OUTPUT_BYTES = 16 * 1024
"""What a receipt keeps of the output: receipts are events, and are shown to the model."""
NO_COMMAND = (
    "No test command: nothing in this folder says how its tests are run. "
    'Configure `tests.command`, for instance ["python", "-m", "pytest"].'
)

_FILE_URI = re.compile(r"file:(?://(?:localhost)?)?(/.*)", re.IGNORECASE | re.DOTALL)


class ServerTestRunner:
    """`command` is the configured test command, `interpreter` a Python that goes before the folder's own.

    `own` is the server's environment, where the system's Python is looked for.
    """

    def __init__(
        self,
        processes: ProcessPort,
        command: Sequence[str] | None = None,
        interpreter: Path | None = None,
        own: Mapping[str, str] | None = None,
    ) -> None:
        self._processes = processes
        self._command = command
        self._interpreter = interpreter
        self._own = os.environ if own is None else own

    async def run_tests(self, run: TestRun, cancel: Cancel) -> TestReceipt:
        """`run.folder` is a `file:` URI or an absolute path; the receipt's folder is a URI."""
        folder = _folder(run.folder)
        if folder is None:
            return refused(run, run.folder, f"The folder {run.folder} is not a local folder with tests.")
        argv = await asyncio.to_thread(self._plan, run, folder)
        if not argv:
            return refused(run, folder.as_uri(), NO_COMMAND)
        return await self._run(run, folder, argv, cancel)

    def _plan(self, run: TestRun, folder: Path) -> list[str]:
        """The argument vector to run, empty if there is no command. It looks at files, so off the loop."""
        command = run.argv or self._command or suggested_command(folder)
        if not command:
            return []
        path = clean_path(self._own.get("PATH", os.defpath))
        interpreter = self._interpreter or folder_interpreter(folder, path)
        return selected(resolved(command, interpreter), run.selection)

    async def _run(self, run: TestRun, folder: Path, argv: list[str], cancel: Cancel) -> TestReceipt:
        pytest = is_pytest(argv)
        aside = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="steersman-tests-"))
        try:
            results = aside / "results.xml"
            spec = ProcessSpec(
                argv=with_results(argv, results, aside / "cache") if pytest else argv,
                cwd=str(folder),
                timeout_seconds=run.timeout_seconds,
                output_limit=OUTPUT_BYTES,
                env={"PYTHONDONTWRITEBYTECODE": "1"},
                stop_with="interrupt",
            )
            outcome = await self._processes.run(spec, cancel)
            cases: list[TestCase] | None = None
            if pytest:
                partial = outcome.ended in ("timeout", "cancelled")
                cases = await asyncio.to_thread(read_cases, results, folder, partial=partial)
        finally:
            await asyncio.to_thread(shutil.rmtree, aside, ignore_errors=True)
        return receipt_of(run, outcome, folder=folder.as_uri(), argv=argv, pytest=pytest, cases=cases)


def _folder(named: str) -> Path | None:
    """The absolute path that a URI or a path names, if it is on this machine."""
    match = _FILE_URI.fullmatch(named)
    path = os.fsdecode(unquote_to_bytes(match[1])) if match else named
    return Path(path) if path.startswith("/") and "\0" not in path else None
