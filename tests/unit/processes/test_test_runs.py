"""Test runs with real runners: distinct statuses, partial counts, nothing written (F05, F06, F07)."""

from __future__ import annotations

import asyncio
import os
import sys
import textwrap
import venv
from pathlib import Path

import pytest

from steersman.domain.checks import Selection
from steersman.domain.receipts import TestCounts, TestReceipt
from steersman.ports.process import TestRun
from steersman.processes.runner import GuardedProcesses
from steersman.processes.test_runner import ServerTestRunner

OWN = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
SERVER = Path(sys.executable)


class Project:
    """A folder with tests, and a runner whose interpreter is the one that runs these tests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cancel = asyncio.Event()

    def write(self, name: str, text: str) -> None:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text))

    async def run(
        self,
        *argv: str,
        command: list[str] | None = None,
        selection: Selection | None = None,
        seconds: float = 50,
        interpreter: Path | None = SERVER,
    ) -> TestReceipt:
        runner = ServerTestRunner(GuardedProcesses(own=OWN), command, interpreter, OWN)
        run = TestRun(
            run_id="r1",
            folder=str(self.folder),
            timeout_seconds=seconds,
            argv=list(argv) or None,
            selection=selection,
        )
        return await runner.run_tests(run, self.cancel)

    def files(self) -> set[str]:
        return {str(path.relative_to(self.folder)) for path in self.folder.rglob("*")}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project" if (tmp_path / "project").mkdir() is None else tmp_path)


MIXED = """
    import pytest
    def test_good(): pass
    def test_bad(): assert 1 == 2
    class TestIn:
        @pytest.mark.skip
        def test_skipped(self): pass
    @pytest.fixture
    def broken(): raise OSError("no")
    def test_error(broken): pass
"""


async def test_a_receipt_tells_each_test_and_nothing_is_written(project: Project) -> None:
    project.write("tests/test_a.py", MIXED)
    before = project.files()
    receipt = await project.run()
    assert (receipt.status, receipt.exit_code, receipt.runner) == ("failed", 1, "server")
    assert receipt.counts == TestCounts(collected=4, passed=1, failed=1, errors=1, skipped=1)
    assert [case.id for case in receipt.tests][:2] == [
        "tests/test_a.py::test_error",
        "tests/test_a.py::test_bad",
    ]
    assert receipt.tests[1].uri == (project.folder / "tests/test_a.py").as_uri()
    assert receipt.tests[1].line == 4
    assert "assert 1 == 2" in (receipt.tests[1].message or "")
    assert receipt.argv == [sys.executable, "-m", "pytest"]
    assert receipt.folder == project.folder.as_uri()
    assert project.files() == before


async def test_passing_tests_pass(project: Project) -> None:
    project.write("test_a.py", "def test_a(): pass\n")
    receipt = await project.run()
    assert (receipt.status, receipt.exit_code, receipt.counts.passed) == ("passed", 0, 1)


async def test_a_folder_may_be_a_uri_with_odd_characters(tmp_path: Path) -> None:
    project = Project(tmp_path / "ä #1 100%")
    project.write("test_a.py", "def test_a(): pass\n")
    runner = ServerTestRunner(GuardedProcesses(own=OWN), None, SERVER, OWN)
    run = TestRun(run_id="r", folder=project.folder.as_uri(), timeout_seconds=50)
    receipt = await runner.run_tests(run, project.cancel)
    assert (receipt.status, receipt.folder) == ("passed", project.folder.as_uri())


async def test_a_selection_runs_only_what_it_names(project: Project) -> None:
    project.write("tests/test_a.py", MIXED)
    receipt = await project.run(selection=Selection(tests=["tests/test_a.py::test_good"]))
    assert (receipt.status, receipt.counts.collected) == ("passed", 1)
    receipt = await project.run(selection=Selection(tests=["test_good"]))
    assert (receipt.status, receipt.counts.collected) == ("passed", 1)


async def test_zero_tests_are_never_a_success(project: Project) -> None:
    project.write("test_a.py", "")
    receipt = await project.run()
    assert (receipt.status, receipt.exit_code, receipt.counts.collected) == ("noTests", 5, 0)


async def test_a_command_that_tells_no_counts_proves_nothing(project: Project) -> None:
    receipt = await project.run("true")
    assert (receipt.status, receipt.exit_code) == ("noTests", 0)
    assert "told no counts" in receipt.output


async def test_the_exit_code_wins_over_counts(project: Project) -> None:
    receipt = await project.run("sh", "-c", "echo 'Ran 3 tests in 0.1s'; echo; echo OK; exit 3")
    assert (receipt.status, receipt.exit_code, receipt.counts.passed) == ("failed", 3, 3)


async def test_another_runner_is_understood_by_its_summary(project: Project) -> None:
    project.write("test_a.py", "import unittest\nclass T(unittest.TestCase):\n  def test_a(self): pass\n")
    receipt = await project.run(command=["python", "-m", "unittest"])
    assert (receipt.status, receipt.counts.collected) == ("passed", 1)


TEN = """
    import time, pathlib
    def wait(): pathlib.Path("fourth").touch(); time.sleep(600)
""" + "".join(f"\n    def test_{n}(): {'wait()' if n == 4 else 'pass'}" for n in range(10))


async def test_a_time_limit_is_told_with_the_counts_so_far(project: Project) -> None:
    project.write("test_a.py", TEN)
    receipt = await project.run(seconds=4)
    assert (receipt.status, receipt.exit_code) == ("timeout", None)
    assert receipt.counts.passed == 4
    assert "time limit" in receipt.output


async def test_a_stop_is_told_with_the_counts_so_far(project: Project) -> None:
    project.write("test_a.py", TEN)
    task = asyncio.create_task(project.run())
    async with asyncio.timeout(30):
        while not (project.folder / "fourth").exists():
            await asyncio.sleep(0.02)
    project.cancel.set()
    receipt = await task
    assert (receipt.status, receipt.exit_code, receipt.counts.passed) == ("cancelled", None, 4)


async def test_an_error_in_collection_is_an_error(project: Project) -> None:
    project.write("test_a.py", "import no_such_module_at_all\n")
    receipt = await project.run()
    assert (receipt.status, receipt.exit_code, receipt.counts.errors) == ("error", 2, 1)
    assert "no_such_module_at_all" in receipt.output


async def test_a_crash_of_the_runner_is_an_error(project: Project) -> None:
    project.write("test_a.py", "import os, signal\ndef test_a(): os.kill(os.getpid(), signal.SIGSEGV)\n")
    receipt = await project.run()
    assert (receipt.status, receipt.exit_code) == ("error", None)
    assert "SIGSEGV" in receipt.output


async def test_a_python_without_the_runner_is_told_as_a_missing_runner(project: Project) -> None:
    venv.create(project.folder / ".venv", with_pip=False, symlinks=True)
    project.write("test_a.py", "def test_a(): pass\n")
    receipt = await project.run(interpreter=None)
    assert receipt.status == "error"
    python = project.folder / ".venv/bin/python"
    assert receipt.output.startswith(f"Runner missing: {python} has no module pytest.")


async def test_a_program_that_is_not_there_is_a_missing_runner(project: Project) -> None:
    receipt = await project.run("no-such-runner")
    assert receipt.status == "error"
    assert receipt.output.startswith("Runner missing: the program no-such-runner")


async def test_a_launcher_that_finds_no_runner_is_told(project: Project) -> None:
    receipt = await project.run("sh", "-c", "no-such-runner")
    assert (receipt.status, receipt.exit_code) == ("error", 127)
    assert receipt.output.startswith("Runner missing: sh did not find")


async def test_a_folder_without_tests_says_what_to_configure(project: Project) -> None:
    receipt = await project.run()
    assert receipt.status == "error"
    assert "tests.command" in receipt.output


@pytest.mark.parametrize("folder", ["https://example.org/x", "relative", "", "file://elsewhere/x", "/a\0b"])
async def test_a_folder_that_is_not_local_is_refused(folder: str) -> None:
    run = TestRun(run_id="r", folder=folder, timeout_seconds=5)
    receipt = await ServerTestRunner(GuardedProcesses()).run_tests(run, asyncio.Event())
    assert receipt.status == "error"


async def test_the_configured_command_wins_over_the_suggestion_and_the_runs_own_over_both(
    project: Project,
) -> None:
    project.write("test_a.py", "def test_a(): pass\n")
    assert (await project.run(command=["sh", "-c", "exit 9"])).exit_code == 9
    assert (await project.run("sh", "-c", "exit 8", command=["sh", "-c", "exit 9"])).exit_code == 8
