"""A check that reads the disk proves nothing of what is only in a buffer of the editor."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from steersman.domain import events as ev
from steersman.domain.checks import CommandCheck, TestsCheck
from steersman.goals.checks import HarnessChecks
from steersman.ports.cancel import Cancel
from steersman.ports.editor_memory import MemoryEditor
from steersman.ports.model_double import Gate, calls, says
from steersman.ports.process import TestRun
from tests.unit.goals.harness import Wheel, ends, obedient
from tests.unit.goals.test_claims import NO_TESTS
from tests.unit.loop.harness import StandInTool
from tests.unit.tools.context import Processes

GOOD = CommandCheck(argv=[sys.executable, "-c", "raise SystemExit(open('a.py').read() != 'new')"])
BAD = CommandCheck(argv=[sys.executable, "-c", "raise SystemExit(open('a.py').read() != 'old')"])


class Runner:
    """Passes if `a.py` on the disk is the new one."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "a.py"
        self.runs = 0

    async def run_tests(self, run: TestRun, cancel: Cancel) -> Any:
        self.runs += 1
        passed = self.file.read_text() == "new"
        counts = type(NO_TESTS.counts)(
            collected=1, passed=int(passed), failed=int(not passed), errors=0, skipped=0
        )
        return type(NO_TESTS)(
            run_id=run.run_id,
            status="passed" if passed else "failed",
            exit_code=0 if passed else 1,
            counts=counts,
            tests=[],
            output="",
            argv=["t"],
            folder=run.folder,
            duration_ms=1,
            runner="server",
        )


class EditsABuffer(StandInTool):
    """Changes `a.py` in the editor; the disk still has the old text."""

    def __init__(self, folder: Path, editor: MemoryEditor) -> None:
        super().__init__("work")
        self.path, self.editor = folder / "a.py", editor

    async def run(self, arguments: Any, context: Any) -> Any:
        self.editor.open(self.path, "new")
        uri = self.path.as_uri()
        change = {"change_id": "c1", "call_id": context.call_id, "uri": uri, "kind": "edit"}
        await context.record(ev.EditPlanned(**change, before="1", after="2"))
        await context.record(ev.EditApplied(**change, before="1", after="2"))
        return await super().run(arguments, context)


async def claiming(folder: Path, check: Any, *, edits: bool = True) -> tuple[Wheel, MemoryEditor]:
    (folder / "a.py").write_text("old")
    editor = MemoryEditor(folder)
    gate = Gate()
    work = [calls(("work", {}))] if edits else []
    tool = EditsABuffer(folder, editor)
    w = await obedient([*work, ends("complete"), [gate, *says("well")]], (tool,))
    services = w.loop.services
    services.checks, services.editor = HarnessChecks(), editor
    services.processes, services.tests = Processes(), Runner(folder)  # type: ignore[assignment]
    editor.saves = False
    w.gate = gate  # type: ignore[attr-defined]
    await w.create(checks=[check])
    return w, editor


async def ended(w: Wheel) -> ev.GoalVerification:
    await w.gate.reached.wait()  # type: ignore[attr-defined]
    (found,) = await w.loop.data(ev.GoalVerification)
    if w.goal.phase == "active":
        await w.goals.clear(None, "human")
    w.gate.open()  # type: ignore[attr-defined]
    await w.at_rest()
    return found


@pytest.mark.parametrize("check", [GOOD, TestsCheck()])
async def test_buffers_are_saved_before_a_check_reads_the_disk(check: Any, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("old")
    w, editor = await claiming(tmp_path, check)
    editor.saves = True
    found = await ended(w)
    assert found.verdict == "pass"
    assert (tmp_path / "a.py").read_text() == "new"


@pytest.mark.parametrize("check", [GOOD, BAD, TestsCheck()])
async def test_a_check_is_not_run_on_the_older_text_of_what_the_goal_changed(
    check: Any, tmp_path: Path
) -> None:
    """BAD would even pass there."""
    w, editor = await claiming(tmp_path, check)
    found = await ended(w)
    assert found.verdict == "fail"
    assert "a.py" in found.results[0].evidence
    assert "claim again" in found.results[0].evidence
    assert w.loop.services.processes.ran == []  # type: ignore[attr-defined]
    assert w.loop.services.tests.runs == 0  # type: ignore[attr-defined]
    assert editor.asked_to_save == [(tmp_path / "a.py",)]


async def test_a_person_who_saves_when_asked_lets_the_check_run(tmp_path: Path) -> None:
    w, editor = await claiming(tmp_path, GOOD)
    editor.person_is_there = True
    assert (await ended(w)).verdict == "pass"


async def test_a_buffer_of_the_person_is_named_and_holds_nothing_up(tmp_path: Path) -> None:
    w, editor = await claiming(tmp_path, BAD, edits=False)
    editor.open(tmp_path / "a.py", "a thought of the person")
    found = await ended(w)
    assert found.verdict == "pass"
    assert "not saved in the editor" in found.results[0].evidence
