"""Every way to end a run: nothing of its tree is left (field reports B04, F01)."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import psutil
import pytest

from steersman.ports.process import ProcessOutcome
from steersman.processes.runner import GuardedProcesses
from tests.unit.processes.trees import PYTHON, STUBBORN_TREE, Marked, left, until

GRACE = 0.6
LATE = 0.5
TREE = 5
"""The main process, a child in its own session, a shell and its child or two, a daemon."""


@pytest.fixture
def marked() -> Marked:
    return Marked(GuardedProcesses(grace_seconds=GRACE))


async def started(marked: Marked) -> asyncio.Task[ProcessOutcome]:
    task = asyncio.create_task(marked.run(PYTHON, "-c", STUBBORN_TREE, timeout=60))
    await until(lambda: len(marked.left()) >= TREE)
    return task


async def test_the_deadline_ends_the_whole_tree_and_keeps_the_output(marked: Marked) -> None:
    begun = time.monotonic()
    outcome = await marked.run(PYTHON, "-c", STUBBORN_TREE, timeout=1.5)
    assert time.monotonic() - begun < 1.5 + GRACE + LATE
    assert (outcome.ended, outcome.exit_code, outcome.output) == ("timeout", None, "ready\n")
    assert marked.left() == []


async def test_a_stop_ends_the_whole_tree_within_the_grace(marked: Marked) -> None:
    task = await started(marked)
    begun = time.monotonic()
    marked.cancel.set()
    outcome = await task
    assert time.monotonic() - begun < GRACE + LATE
    assert (outcome.ended, outcome.exit_code) == ("cancelled", None)
    assert marked.left() == []


async def test_a_cancelled_caller_leaves_nothing_either(marked: Marked) -> None:
    task = await started(marked)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert marked.left() == []


async def test_close_ends_everything_that_is_left(marked: Marked) -> None:
    tasks = [await started(marked), asyncio.create_task(marked.run("sleep", "600", timeout=60))]
    await asyncio.sleep(0)  # the second is just being started when the end comes
    begun = time.monotonic()
    await marked.processes.close()
    assert time.monotonic() - begun < 1.2
    assert marked.left() == []
    assert [(await task).ended for task in tasks] == ["cancelled", "cancelled"]


async def test_close_hurries_a_stop_that_is_under_way(tmp_path: Path) -> None:
    marked = Marked(GuardedProcesses(grace_seconds=30))
    code = (
        "import pathlib, signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: pathlib.Path('asked').touch())\n"
        "pathlib.Path('ready').touch()\n"
        "while True: time.sleep(1)\n"
    )
    task = asyncio.create_task(marked.run(PYTHON, "-c", code, cwd=str(tmp_path)))
    await until((tmp_path / "ready").exists)
    marked.cancel.set()
    await until((tmp_path / "asked").exists)
    begun = time.monotonic()
    await marked.processes.close()
    assert time.monotonic() - begun < 2
    assert (await task).ended == "cancelled"
    assert marked.left() == []


async def test_after_close_processes_can_run_again(marked: Marked) -> None:
    await marked.processes.close()
    assert (await marked.run("true")).exit_code == 0


async def test_a_polite_process_is_asked_once_and_gets_its_time(marked: Marked) -> None:
    code = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: (print('asked'), time.sleep(0.2), sys.exit('done')))\n"
        "print('ready')\n"
        "while True: time.sleep(1)\n"
    )
    outcome = await marked.run(PYTHON, "-c", code, timeout=0.8)
    assert outcome.ended == "timeout"
    assert outcome.output == "ready\nasked\ndone\n"


async def test_a_suspended_process_is_woken_to_hear_the_request(marked: Marked) -> None:
    code = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit('heard'))\n"
        "os.kill(os.getpid(), signal.SIGSTOP)\n"
    )
    outcome = await marked.run(PYTHON, "-c", code, timeout=0.8)
    assert (outcome.ended, outcome.output) == ("timeout", "heard\n")
    assert marked.left() == []


async def test_a_background_process_that_holds_the_output_does_not_hold_the_run(marked: Marked) -> None:
    begun = time.monotonic()
    outcome = await marked.run("sh", "-c", "sleep 600 & setsid sleep 600 & echo started")
    assert time.monotonic() - begun < 2
    assert (outcome.ended, outcome.exit_code, outcome.output) == ("exited", 0, "started\n")
    assert marked.left() == []


async def test_what_is_left_of_an_ended_process_is_ended_even_if_it_ignores_term(marked: Marked) -> None:
    code = (
        "import os, signal, time\n"
        "r, w = os.pipe()\n"
        "if os.fork() == 0:\n"
        "    os.setsid(); signal.signal(signal.SIGTERM, signal.SIG_IGN); os.write(w, b'x'); time.sleep(600)\n"
        "os.read(r, 1); os._exit(4)\n"
    )
    outcome = await marked.run(PYTHON, "-c", code)
    assert outcome.exit_code == 4
    assert marked.left() == []


async def test_an_exit_that_beats_the_stop_is_told_as_the_exit(marked: Marked) -> None:
    outcome = await marked.run("sh", "-c", "exit 3", timeout=20)
    marked.cancel.set()
    assert (outcome.ended, outcome.exit_code) == ("exited", 3)


async def test_a_guardian_that_is_killed_is_not_taken_for_success(marked: Marked) -> None:
    task = asyncio.create_task(marked.run("sleep", "600", timeout=60))
    await until(lambda: any("sleep" in line for line in marked.left()))
    guardian = next(p for p in psutil.Process().children() if "guardian.py" in " ".join(p.cmdline()))
    guardian.kill()
    outcome = await task
    assert (outcome.ended, outcome.exit_code) == ("signalled", None)
    await until(lambda: marked.left() == [])


OWNER = """
import asyncio, sys
from steersman.ports.process import ProcessSpec
from steersman.processes.runner import GuardedProcesses
spec = ProcessSpec(argv=[sys.executable, "-c", sys.argv[2]], cwd="/", timeout_seconds=60,
                   env={"STEERSMAN_TEST_MARK": sys.argv[1]})
asyncio.run(GuardedProcesses().run(spec, asyncio.Event()))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
async def test_nothing_is_left_two_seconds_after_the_server_died(number: signal.Signals) -> None:
    mark = uuid.uuid4().hex
    path = os.pathsep.join(sys.path)
    owner = subprocess.Popen(
        [PYTHON, "-c", OWNER, mark, STUBBORN_TREE],
        env=os.environ | {"PYTHONPATH": path},
        start_new_session=True,
    )
    try:
        await until(lambda: len(left(mark)) >= TREE)
        owner.send_signal(number)
        owner.wait(5)
        await until(lambda: left(mark) == [], seconds=2)
    finally:
        owner.kill()
        owner.wait()
