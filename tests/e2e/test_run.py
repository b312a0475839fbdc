"""`steersman run` and `steersman demo` as real processes: what they show, and what their exit codes say."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.e2e.conftest import Steersman
from tests.e2e.editor import call, script
from tests.fixtures.provider import http, provider

PYTHON = sys.executable


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.py").write_text("x = 1\n", encoding="utf-8")
    return folder


def words(folder: Path, tmp_path: Path, *lines: Any) -> list[str]:
    scripted = script(tmp_path / "script.jsonl", *lines)
    return ["run", "--workspace", str(folder), "--prompt", "Do it.", "--scripted-model", str(scripted)]


def test_a_run_that_completes_ends_with_0(folder: Path, tmp_path: Path, steersman: Steersman) -> None:
    edit = call("edit_file", path="a.py", edits=[{"old_text": "x = 1", "new_text": "x = 2"}])
    ran = steersman(*words(folder, tmp_path, edit, {"text": "Changed."}))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "edit_file a.py – ok" in ran.stdout
    assert (folder / "a.py").read_text(encoding="utf-8") == "x = 2\n"


def test_a_model_that_fails_ends_with_1(folder: Path, tmp_path: Path, steersman: Steersman) -> None:
    ran = steersman(*words(folder, tmp_path, {"error": {"status": 401}}))
    assert ran.returncode == 1
    assert "failed (auth)" in ran.stdout


def test_a_check_that_never_passes_ends_with_1_whatever_the_model_says(
    folder: Path, tmp_path: Path, steersman: Steersman
) -> None:
    check = f"{PYTHON} -c 'raise SystemExit(3)'"
    ran = steersman(*words(folder, tmp_path, *[{"text": "All fine!"}] * 3), "--check", check)
    assert ran.returncode == 1
    assert "exited with 3" in ran.stdout
    assert "'checks'" in ran.stdout


def test_a_check_that_passes_ends_with_0(folder: Path, tmp_path: Path, steersman: Steersman) -> None:
    ran = steersman(*words(folder, tmp_path, {"text": "Fine."}), "--check", f"{PYTHON} -c pass")
    assert ran.returncode == 0, ran.stdout
    assert "check check-1: pass" in ran.stdout


def test_an_ask_without_a_terminal_is_denied_and_ends_with_4(
    folder: Path, tmp_path: Path, steersman: Steersman
) -> None:
    lines = [call("run_command", argv=[PYTHON, "-c", "print(1)"]), {"text": "I could not."}]
    ran = steersman(*words(folder, tmp_path, *lines))
    assert ran.returncode == 4, ran.stdout
    assert "nobody was there to ask" in ran.stdout


@pytest.mark.parametrize(
    "more",
    [["--check", "a | b"], ["--workspace", "/no/such/folder"], ["--nonsense"]],
)
def test_words_that_do_not_fit_end_with_2(
    folder: Path, tmp_path: Path, steersman: Steersman, more: list[str]
) -> None:
    ran = steersman(*words(folder, tmp_path, {"text": "x"}), *more)
    assert ran.returncode == 2
    assert "steersman" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_without_a_model_it_ends_with_5_and_says_what_to_do(folder: Path, steersman: Steersman) -> None:
    ran = steersman("run", "--workspace", str(folder), "--prompt", "Do it.")
    assert ran.returncode == 5
    assert "model" in ran.stdout
    assert "Traceback" not in ran.stdout + ran.stderr


def test_a_time_limit_ends_the_turn_with_1(folder: Path, tmp_path: Path, steersman: Steersman) -> None:
    began = time.monotonic()
    ran = steersman(*words(folder, tmp_path, {"stallSeconds": 600}), "--timeout", "1")
    assert ran.returncode == 1, ran.stdout
    assert "time is over" in ran.stdout
    assert time.monotonic() - began < 30


def started(arguments: list[str], env: dict[str, str], **more: Any) -> subprocess.Popen[bytes]:
    command = [PYTHON, "-m", "steersman", *arguments]
    more = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT} | more
    return subprocess.Popen(command, env=env, start_new_session=True, **more)


def wait_for_child(process: subprocess.Popen[bytes]) -> psutil.Process:
    """The server that a run has started."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        for child in psutil.Process(process.pid).children():
            if "serve" in child.cmdline():
                return child
        time.sleep(0.02)
    raise AssertionError("no server was started")


def wait_for_text(process: subprocess.Popen[bytes], text: bytes) -> bytes:
    """Read a run's output until it holds a text."""
    assert process.stdout is not None
    seen = b""
    while text not in seen:
        piece = os.read(process.stdout.fileno(), 4096)
        assert piece, seen
        seen += piece
    return seen


def test_ctrl_c_stops_the_turn_and_ends_with_3(
    folder: Path, tmp_path: Path, clean_env: dict[str, str]
) -> None:
    lines = [{**call("list_files"), "text": "Looking now"}, {"stallSeconds": 600}]
    run = started(words(folder, tmp_path, *lines), clean_env)
    wait_for_text(run, b"list_files")
    server = wait_for_child(run)
    os.kill(run.pid, signal.SIGINT)
    out, _ = run.communicate(timeout=20)
    assert run.returncode == 3, out
    assert b"stopped by human" in out
    assert not server.is_running()


def test_a_server_that_dies_in_mid_turn_is_told_plainly(
    folder: Path, tmp_path: Path, clean_env: dict[str, str]
) -> None:
    lines = [{**call("list_files"), "text": "Looking now"}, {"stallSeconds": 600}]
    run = started(words(folder, tmp_path, *lines), clean_env)
    wait_for_text(run, b"list_files")
    wait_for_child(run).kill()
    out, _ = run.communicate(timeout=20)
    assert run.returncode == 1, out
    assert b"server ended in the middle" in out
    assert b"Traceback" not in out


@pytest.mark.parametrize(("answer", "code", "ran"), [("a\n", 0, True), ("not now\n", 0, False)])
def test_a_person_at_a_terminal_is_asked(
    folder: Path, tmp_path: Path, clean_env: dict[str, str], answer: str, code: int, ran: bool
) -> None:
    mark = folder / "made.txt"
    program = f"open({str(mark)!r}, 'w').close()"
    lines = [call("run_command", argv=[PYTHON, "-c", program]), {"text": "ok"}]
    ours, theirs = pty.openpty()
    run = started(words(folder, tmp_path, *lines), clean_env, stdin=theirs)
    os.close(theirs)
    wait_for_text(run, b"llow once")
    os.write(ours, answer.encode())
    out, _ = run.communicate(timeout=30)
    os.close(ours)
    assert run.returncode == code, out
    assert mark.exists() is ran


@pytest.mark.parametrize(("line", "told"), [("2\n", "The user answered: right"), ("\n", "without an answer")])
def test_a_person_at_a_terminal_answers_a_question(
    folder: Path, tmp_path: Path, clean_env: dict[str, str], line: str, told: str
) -> None:
    lines = [call("ask_user", question="Which way?", choices=["left", "right"]), {"text": "ok"}]
    ours, theirs = pty.openpty()
    run = started(words(folder, tmp_path, *lines), clean_env, stdin=theirs)
    os.close(theirs)
    wait_for_text(run, b"own words")
    os.write(ours, line.encode())
    out, _ = run.communicate(timeout=30)
    os.close(ours)
    assert run.returncode == 0, out
    kept = Path(clean_env["XDG_STATE_HOME"])
    log = b"".join(path.read_bytes() for path in kept.rglob("*") if path.is_file())
    assert told.encode() in log


async def test_an_endpoint_is_asked_with_the_key_of_the_environment_alone(
    folder: Path, clean_env: dict[str, str]
) -> None:
    async with provider(http(401, {"error": {"message": "bad key sk-canary-9"}})) as p:
        arguments = [
            "run",
            "--workspace",
            str(folder),
            "--prompt",
            "hi",
            "--model",
            "m",
            "--base-url",
            p.base_url,
        ]
        env = clean_env | {"OPENAI_API_KEY": "sk-canary-9"}
        command = [PYTHON, "-m", "steersman", *arguments]
        process = await asyncio.create_subprocess_exec(
            *command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        out, _ = await process.communicate()
        assert process.returncode == 1, out
        assert p.requests[0].headers["authorization"] == "Bearer sk-canary-9"
        assert b"sk-canary-9" not in out


def test_the_demo_repairs_its_project_and_shows_it(steersman: Steersman) -> None:
    ran = steersman("demo")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    for text in (
        "FAILED",
        "edit_file bill.py – ok",
        "+    share, odd = divmod",
        "tests passed: 5 passed",
        "OK",
    ):
        assert text in ran.stdout


def test_the_demo_fails_if_nothing_was_repaired(
    steersman: Steersman, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lazy = tmp_path / "site"
    lazy.mkdir()
    text = json.dumps({"text": "All tests pass."})
    (tmp_path / "lazy.jsonl").write_text(text + "\n", encoding="utf-8")
    patch = "import pathlib, steersman.demo as demo\n"
    patch += f"demo.SCRIPT = pathlib.Path({str(tmp_path / 'lazy.jsonl')!r})\n"
    (lazy / "sitecustomize.py").write_text(patch, encoding="utf-8")
    ran = steersman("demo", env={"PYTHONPATH": str(lazy)})
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "should be green" in ran.stdout


def test_help_and_version_are_quick_and_import_no_server(steersman: Steersman) -> None:
    assert "run" in steersman("--help").stdout
    assert steersman("version").stdout.startswith("steersman ")
    probe = "import sys; sys.argv = ['steersman', 'version']\n"
    probe += "from steersman.__main__ import main; main()\n"
    probe += "print([m for m in ('pygls', 'openai', 'rich', 'aiosqlite') if m in sys.modules])"
    ran = subprocess.run([PYTHON, "-c", probe], capture_output=True, encoding="utf-8", check=True)
    assert ran.stdout.splitlines()[-1] == "[]"


COMPLETE = call("update_goal", goal_id="${goal.id}", revision="${goal.revision}", action="complete")


def goal(folder: Path, tmp_path: Path, *lines: Any) -> list[str]:
    scripted = script(tmp_path / "script.jsonl", *lines)
    return ["run", "--workspace", str(folder), "--goal", "x must be 2", "--scripted-model", str(scripted)]


def test_a_goal_that_its_check_proves_ends_with_0(folder: Path, tmp_path: Path, steersman: Steersman) -> None:
    edit = call("edit_file", path="a.py", edits=[{"old_text": "x = 1", "new_text": "x = 2"}])
    check = f"{PYTHON} -c 'from a import x; assert x == 2'"
    lines = [COMPLETE, {"text": "Not yet."}, edit, COMPLETE, {"text": "It is 2 now."}]
    ran = steersman(*goal(folder, tmp_path, *lines), "--check", check)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "round 2" in ran.stdout
    assert "goal complete (complete by model)" in ran.stdout


def test_a_goal_that_gets_nowhere_ends_with_1_and_its_reason(
    folder: Path, tmp_path: Path, steersman: Steersman
) -> None:
    ran = steersman(*goal(folder, tmp_path, *[{"text": "Still waiting."}] * 5))
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "changed nothing" in ran.stdout
    assert "the goal is blocked" in ran.stdout


def test_a_goal_whose_model_fails_ends_with_1(folder: Path, tmp_path: Path, steersman: Steersman) -> None:
    ran = steersman(*goal(folder, tmp_path, {"error": {"status": 401}}))
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "failed (auth)" in ran.stdout
