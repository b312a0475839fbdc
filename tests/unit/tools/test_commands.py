"""run_command and run_tests: how it ended, in words that claim no more than is known."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from steersman.domain.events import TestsReceipt
from steersman.domain.receipts import TestCase, TestCounts, TestReceipt
from steersman.domain.settings import Settings, TestSettings
from steersman.errors import ToolFailed
from steersman.ports.process import ProcessOutcome
from steersman.tools.base import Ask, Refuse, ToolOutcome
from tests.unit.tools.context import Context


def receipt(status: str, **rest: object) -> TestReceipt:
    values: dict[str, object] = {
        "run_id": "r", "status": status, "exit_code": 0 if status == "passed" else 1, "tests": [],
        "counts": TestCounts(), "output": "", "argv": ["pytest"], "folder": "/w", "duration_ms": 5,
        "runner": "server",
    }  # fmt: skip
    return TestReceipt(**(values | rest))  # type: ignore[arg-type]


async def run(context: Context, *argv: str, **rest: object) -> ToolOutcome:
    return await context.call("run_command", argv=list(argv), **rest)


async def test_a_program_that_ends_well_says_its_code_first(context: Context) -> None:
    outcome = await run(context, sys.executable, "-c", "print('hello')")
    assert outcome.content == "exited with 0\nhello"
    assert outcome.outcome == "ok"
    assert outcome.verified is not None
    assert outcome.verified.ok


async def test_a_code_other_than_0_is_an_error_with_the_output(context: Context) -> None:
    outcome = await run(context, sys.executable, "-c", "print('so far'); raise SystemExit(3)")
    assert outcome.content == "exited with 3\nso far"
    assert outcome.outcome == "error"
    assert outcome.error is not None
    assert outcome.error.code == "FAILED"
    assert outcome.verified is not None
    assert not outcome.verified.ok


async def test_a_signal_is_said_as_such(context: Context) -> None:
    outcome = await run(context, sys.executable, "-c", "import os; os.kill(os.getpid(), 9)")
    assert outcome.content.startswith("killed by signal 9")
    assert outcome.outcome == "error"


async def test_running_out_of_time_is_no_failure_of_the_program(context: Context) -> None:
    outcome = await run(context, sys.executable, "-c", "import time; time.sleep(60)", timeout_seconds=0.2)
    assert outcome.outcome == "timeout"
    assert outcome.error is not None
    assert outcome.error.code == "TIMEOUT"
    assert "timed out after 0.2 s" in outcome.content


async def test_a_program_that_is_not_there_is_said(context: Context) -> None:
    outcome = await run(context, "no-such-program-here")
    assert "there is no program 'no-such-program-here'" in outcome.content
    assert outcome.error is not None
    assert outcome.error.code == "FAILED"


async def test_a_run_that_was_stopped_is_aborted(context: Context) -> None:
    context.processes.answer = ProcessOutcome(ended="cancelled", exit_code=None, output="half", duration_ms=1)
    outcome = await run(context, "x")
    assert outcome.outcome == "aborted"
    assert "half" in outcome.content


@pytest.mark.parametrize("line", ["false | cat", "false; true", "false || true"])
async def test_a_shell_line_that_hides_a_failure_is_never_called_a_success(
    context: Context, line: str
) -> None:
    outcome = await run(context, "sh", "-c", line)
    assert "can hide that a part of it failed" in outcome.content
    assert "succe" not in outcome.content
    assert outcome.verified is not None
    assert not outcome.verified.ok


async def test_it_runs_in_the_folder_that_was_named(context: Context, root: Path) -> None:
    (root / "sub").mkdir()
    outcome = await run(context, sys.executable, "-c", "import os; print(os.getcwd())", cwd="sub")
    assert outcome.content == f"exited with 0\nin sub\n{root / 'sub'}"
    for cwd in ("nowhere", "../nowhere"):
        with pytest.raises(ToolFailed, match="not a folder"):
            await run(context, "ls", cwd=cwd)


async def test_output_that_was_not_kept_is_said(context: Context) -> None:
    context.processes.answer = ProcessOutcome(
        ended="exited", exit_code=0, output="x", duration_ms=1, omitted_bytes=99
    )
    assert "99 bytes of output were not kept" in (await run(context, "x")).content


async def test_long_output_can_be_read_on_without_running_again(context: Context) -> None:
    outcome = await run(context, sys.executable, "-c", "for n in range(20000): print('line', n)")
    assert outcome.content.startswith("exited with 0\nline 0\n")
    assert outcome.content.endswith("line 19999")
    assert len(outcome.content) < 20_000
    handle = outcome.content.partition("handle ")[2].split(" ")[0]
    offset = int(outcome.content.partition("offset ")[2].split(" ")[0])
    page = await context.call("read_result", handle=handle, offset=offset)
    assert "line 2000\n" in page.content


async def test_unsaved_documents_are_saved_before_a_run(context: Context, root: Path) -> None:
    context.editor.open(root / "a.py", "print('saved')")
    assert (await run(context, sys.executable, "a.py")).content == "exited with 0\nsaved"


async def test_what_cannot_be_saved_is_named(context: Context, root: Path) -> None:
    (root / "a.py").write_text("print('old')")
    context.editor.open(root / "a.py", "print('new')")
    context.editor.saves = False
    content = (await run(context, sys.executable, "a.py")).content
    assert "not saved in the editor" in content
    assert "a.py" in content
    assert "old" in content


async def test_trust_that_is_lost_while_saving_stops_the_run(context: Context, root: Path) -> None:
    async def save(paths: tuple[Path, ...]) -> tuple[Path, ...]:
        context.trusted = False
        return paths

    context.editor.open(root / "a", "x")
    context.editor.save = save  # type: ignore[method-assign]
    with pytest.raises(ToolFailed) as caught:
        await run(context, "ls")
    assert caught.value.code == "DENIED"
    assert context.processes.ran == []


async def test_passed_tests_are_told_with_their_numbers_and_recorded(context: Context) -> None:
    context.tests.receipt = receipt("passed", counts=TestCounts(collected=3, passed=3))
    outcome = await context.call("run_tests")
    assert outcome.content.startswith("All tests passed (3 collected, 3 passed")
    assert outcome.verified is not None
    assert outcome.verified.ok
    recorded = context.events[-1]
    assert isinstance(recorded, TestsReceipt)
    assert recorded.counts.passed == 3
    assert recorded.run_id == context.tests.ran[0].run_id


async def test_failures_come_first_with_their_messages(context: Context) -> None:
    cases = [
        TestCase(id="t.py::ok", outcome="passed"),
        TestCase(id="t.py::bad", outcome="failed", message="assert 1 == 2", line=7),
    ]
    counts = TestCounts(collected=2, passed=1, failed=1)
    context.tests.receipt = receipt("failed", counts=counts, tests=cases, output="long output")
    content = (await context.call("run_tests")).content
    assert content.startswith("Tests failed (2 collected")
    assert content.index("FAILED t.py::bad (line 7)\nassert 1 == 2") < content.index("long output")
    assert "t.py::ok" not in content


@pytest.mark.parametrize(
    ("status", "outcome", "words"),
    [
        ("noTests", "error", "No test was collected: this is not a success"),
        ("error", "error", "The test run itself failed"),
        ("timeout", "timeout", "timed out"),
        ("cancelled", "aborted", "stopped before it ended"),
    ],
)
async def test_what_is_no_result_of_the_tests_is_never_a_success(
    context: Context, status: str, outcome: str, words: str
) -> None:
    context.tests.receipt = receipt(status)
    told = await context.call("run_tests")
    assert told.outcome == outcome
    assert words in told.content
    assert told.verified is not None
    assert not told.verified.ok


async def test_a_selection_is_relative_to_its_folder(context: Context, root: Path) -> None:
    (root / "tests").mkdir()
    (root / "tests" / "test_a.py").write_text("")
    context.tests.receipt = receipt("passed")
    await context.call("run_tests", files=["./tests/../tests/test_a.py"], tests=["tests/test_a.py::x"])
    selection = context.tests.ran[0].selection
    assert selection is not None
    assert (selection.files, selection.tests) == (["tests/test_a.py"], ["tests/test_a.py::x"])
    assert context.tests.ran[0].folder == str(root)
    await context.call("run_tests")
    assert context.tests.ran[1].selection is None


@pytest.mark.parametrize(
    "arguments", [{"files": ["-p"]}, {"tests": ["--pdb"]}, {"tests": [" "]}, {"files": ["a\0"]}]
)
def test_options_are_not_taken_for_files_or_tests(context: Context, arguments: dict[str, list[str]]) -> None:
    found = context.permit("run_tests", **arguments)
    assert isinstance(found, Refuse)
    assert found.code == "INVALID_ARGUMENTS"


def test_a_missing_file_is_told(context: Context) -> None:
    found = context.permit("run_tests", files=["test_nowhere.py"])
    assert isinstance(found, Refuse)
    assert found.code == "NOT_FOUND"


def test_files_of_several_folders_are_refused(tmp_path: Path) -> None:
    folders = [tmp_path.resolve() / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
        (folder / "t.py").write_text("")
    found = Context(*folders).permit("run_tests", files=["one/t.py", "two/t.py"])
    assert isinstance(found, Refuse)


def test_tests_without_a_configured_command_are_asked_for(root: Path) -> None:
    found = Context(root).permit("run_tests")
    assert isinstance(found, Ask)
    assert found.risk == "execute"
    assert found.remember
    context = Context(root, settings=Settings(tests=TestSettings(command=["pytest"])))
    assert context.allowed("run_tests", tests=["x"])
