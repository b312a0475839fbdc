"""Real processes under the guardian: exit codes, output, and everything that cannot be started."""

from __future__ import annotations

import asyncio
import itertools
import resource
import statistics
import sys
import time
from pathlib import Path

import pytest

from steersman.ports.process import ProcessSpec
from steersman.processes.runner import GuardedProcesses
from tests.unit.processes.trees import PYTHON, Marked


@pytest.fixture
def marked() -> Marked:
    return Marked()


@pytest.mark.parametrize("code", [0, 1, 5, 127, 255])
async def test_the_exit_code_is_the_process_own(marked: Marked, code: int) -> None:
    outcome = await marked.run("sh", "-c", f"exit {code}")
    assert (outcome.ended, outcome.exit_code, outcome.signal) == ("exited", code, None)


@pytest.mark.parametrize(("name", "number"), [("KILL", 9), ("SEGV", 11), ("TERM", 15)])
async def test_a_killing_signal_is_told_as_such(marked: Marked, name: str, number: int) -> None:
    outcome = await marked.run("sh", "-c", f"kill -{name} $$")
    assert (outcome.ended, outcome.exit_code, outcome.signal) == ("signalled", None, number)
    assert f"SIG{name}" in (outcome.problem or "")


async def test_stdout_and_stderr_come_in_order(marked: Marked) -> None:
    outcome = await marked.run("sh", "-c", "echo one; echo two >&2; echo three")
    assert outcome.output == "one\ntwo\nthree\n"


async def test_a_process_that_reads_its_input_gets_the_end_at_once(marked: Marked) -> None:
    outcome = await marked.run(PYTHON, "-c", "input()", timeout=20)
    assert outcome.ended == "exited"
    assert "EOFError" in outcome.output


async def test_there_is_no_terminal_to_ask_for_a_password_on(marked: Marked) -> None:
    outcome = await marked.run("sh", "-c", "exec 3</dev/tty")
    assert outcome.exit_code != 0


async def test_the_process_leads_a_session_and_a_group_of_its_own(marked: Marked) -> None:
    outcome = await marked.run("sh", "-c", "cut -d' ' -f1,5,6 /proc/$$/stat")
    assert len(set(outcome.output.split())) == 1


async def test_the_process_runs_in_its_folder_with_its_arguments_untouched(
    marked: Marked, tmp_path: Path
) -> None:
    odd = ["", " ", "a\nb", "*", "$HOME", "é😀", "--", "\udcff"]
    code = "import os,sys; print(os.getcwd()); print(ascii(sys.argv[1:]))"
    outcome = await marked.run(PYTHON, "-X", "utf8", "-c", code, *odd, cwd=str(tmp_path))
    assert outcome.output == f"{tmp_path.resolve()}\n{odd!a}\n"


async def test_signals_and_descriptors_of_the_server_are_not_inherited(marked: Marked) -> None:
    outcome = await marked.run("grep", "-E", "SigBlk|SigIgn", "/proc/self/status")
    assert [line.split()[1].strip("0") for line in outcome.output.splitlines()] == ["", ""]
    outcome = await marked.run("ls", "/proc/self/fd")
    assert outcome.output.split() == ["0", "1", "2", "3"]  # the last is the listing's own


async def test_a_missing_program_is_not_found(marked: Marked) -> None:
    outcome = await marked.run("no-such-program-here")
    assert (outcome.ended, outcome.exit_code) == ("not-found", None)
    assert "no-such-program-here" in (outcome.problem or "")


@pytest.mark.parametrize("cwd", ["/no/such/folder", "/dev/null", "relative", ""])
async def test_a_folder_that_cannot_be_entered_is_told(marked: Marked, cwd: str) -> None:
    outcome = await marked.run("true", cwd=cwd)
    assert outcome.ended == "failed-to-start"
    assert "folder" in (outcome.problem or "")


async def test_a_file_that_cannot_be_executed_is_told(marked: Marked, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    outcome = await marked.run(str(script))
    assert outcome.ended == "failed-to-start"
    assert "Permission denied" in (outcome.problem or "")


@pytest.mark.parametrize("argv", [[], [""], ["echo", "a\0b"], ["echo", "\ud800"]])
async def test_an_argument_vector_that_no_system_could_run_is_told(marked: Marked, argv: list[str]) -> None:
    outcome = await marked.run(*argv)
    assert outcome.ended == "failed-to-start"
    assert outcome.problem


@pytest.mark.parametrize("name", ["", "A=B", "A\0B"])
async def test_a_variable_that_no_system_could_set_is_told(name: str) -> None:
    spec = ProcessSpec(argv=["true"], cwd="/", timeout_seconds=5, env={name: "x"})
    assert (await GuardedProcesses().run(spec, asyncio.Event())).ended == "failed-to-start"


async def test_an_argument_vector_that_is_too_long_is_told(marked: Marked) -> None:
    outcome = await marked.run("true", "x" * 5_000_000)
    assert outcome.ended == "failed-to-start"
    assert "too long" in (outcome.problem or "")


async def test_a_long_argument_vector_arrives(marked: Marked) -> None:
    outcome = await marked.run("sh", "-c", 'echo "$#"', "sh", *(["x" * 1000] * 1000))
    assert outcome.output == "1000\n"


async def test_fifty_megabytes_of_output_neither_fill_memory_nor_hold_the_loop(marked: Marked) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ticks: list[float] = []

    async def tick() -> None:
        while True:
            ticks.append(time.monotonic())
            await asyncio.sleep(0.01)

    ticker = asyncio.create_task(tick())
    outcome = await marked.run("sh", "-c", "yes 'a line of output' | head -c 50000000; echo THE END")
    ticker.cancel()
    assert outcome.output.endswith("THE END\n")
    assert len(outcome.output.encode()) <= 65536
    assert outcome.omitted_bytes > 49_000_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 16 * 1024
    gaps = [after - earlier for earlier, after in itertools.pairwise(ticks)]
    assert statistics.quantiles(gaps, n=20)[-1] < 0.1


async def test_a_line_of_fifty_megabytes_is_bounded(marked: Marked) -> None:
    outcome = await marked.run("sh", "-c", "head -c 50000000 /dev/zero | tr '\\0' x")
    assert len(outcome.output) <= 65536
    assert outcome.omitted_bytes > 49_000_000


async def test_binary_output_is_text_afterwards_and_the_exit_code_stays(marked: Marked) -> None:
    outcome = await marked.run(PYTHON, "-c", "import os; os.write(1, bytes(range(256)) * 99); os._exit(7)")
    assert outcome.exit_code == 7
    assert "\ufffd" in outcome.output
    assert not set(outcome.output) & {chr(code) for code in range(32) if chr(code) not in "\t\n"}


async def test_a_split_character_arrives_whole(marked: Marked) -> None:
    code = r"printf '\360\237'; sleep 0.05; printf '\230\200'"
    assert (await marked.run("sh", "-c", code)).output == "😀"


async def test_a_run_that_was_cancelled_before_never_starts(marked: Marked, tmp_path: Path) -> None:
    marked.cancel.set()
    outcome = await marked.run("touch", str(tmp_path / "started"))
    assert outcome.ended == "cancelled"
    assert not (tmp_path / "started").exists()


async def test_many_processes_at_once_do_not_mix_up(marked: Marked) -> None:
    outcomes = await asyncio.gather(*(marked.run("sh", "-c", f"echo {n}; exit {n}") for n in range(12)))
    assert [(o.output, o.exit_code) for o in outcomes] == [(f"{n}\n", n) for n in range(12)]


async def test_a_guarded_process_costs_little_more_than_the_interpreter_that_guards_it(
    marked: Marked,
) -> None:
    """A ratio of one run: the guardian is a bare interpreter, and the process under it is next to nothing."""
    guarded, bare = [], []
    for _ in range(7):
        begun = time.monotonic()
        await marked.run("true")
        guarded.append(time.monotonic() - begun)
        begun = time.monotonic()
        await (await asyncio.create_subprocess_exec(sys.executable, "-I", "-S", "-c", "pass")).wait()
        bare.append(time.monotonic() - begun)
    assert min(guarded) < 5 * min(bare)
