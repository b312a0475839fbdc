"""`steersman run` and `steersman demo` where things go wrong: servers that hang, people who leave."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from rich.console import Console

from steersman.headless import run as run_module
from steersman.headless.demo import demo
from steersman.headless.run import ExitCode, Outcome, Run, run
from tests.unit.headless.servers import program

IDLE = """
answer(read(), {"capabilities": {}})
while True:
    message = read()
    if message["method"] == "steersman/session/new":
        answer(message, {"sessionId": "s-1"})
    elif "id" in message:
        answer(message, {})
    elif message["method"] == "exit":
        sys.exit(0)
"""
"""A server that takes a prompt and never does anything about it."""


def refusing(method: str, kind: str) -> str:
    """A server that refuses a request."""
    refusal = f'{{"code": -32803, "message": "refused: do this", "data": {{"kind": "{kind}"}}}}'
    return IDLE.replace(
        "    if message",
        f'    if message["method"] == "{method}":\n'
        f'        send(id=message["id"], error={refusal})\n    elif message',
        1,
    )


class Played:
    """A run on a server of its own making, in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self._monkeypatch = monkeypatch
        self._folder = folder
        self._out = io.StringIO()

    @property
    def shown(self) -> str:
        return self._out.getvalue()

    async def __call__(self, script: str, **more: float) -> Outcome:
        self._monkeypatch.setattr(run_module, "SERVER", program(script))
        return await run(
            Run(workspace=self._folder, prompt="Go.", **more), Console(file=self._out, width=200)
        )

    async def until_shown(self, text: str) -> None:
        async with asyncio.timeout(20):
            while text not in self.shown:
                await asyncio.sleep(0.005)


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Played:
    return Played(monkeypatch, tmp_path)


async def test_the_second_ctrl_c_leaves_a_turn_that_does_not_end(played: Played) -> None:
    before = signal.getsignal(signal.SIGINT)
    script = IDLE.replace(
        "    if message",
        '    if "prompt" in message["method"]:\n'
        '        send(method="window/showMessage", params={"message": "at work"})\n    if message',
        1,
    )
    running = asyncio.create_task(played(script))
    await played.until_shown("at work")
    os.kill(os.getpid(), signal.SIGINT)
    await played.until_shown("Press Ctrl-C again")
    os.kill(os.getpid(), signal.SIGINT)
    assert (await running).code is ExitCode.STOPPED
    assert "left before the turn ended. The session s-1 is kept." in played.shown
    assert signal.getsignal(signal.SIGINT) is before


async def test_a_time_limit_ends_the_run_even_if_the_turn_does_not_end(
    played: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "_LEAVE_SECONDS", 0.1)
    assert (await played(IDLE, timeout=0.1)).code is ExitCode.FAILURE
    assert "The time is over (0.1 s)" in played.shown


@pytest.mark.parametrize(
    ("script", "code", "said"),
    [
        ("sys.exit('no disk')", ExitCode.NOT_STARTED, "no disk"),
        (refusing("steersman/session/new", "storage"), ExitCode.FAILURE, "refused: do this"),
        (refusing("steersman/turn/prompt", "storage"), ExitCode.FAILURE, "refused: do this"),
        (refusing("steersman/turn/prompt", "notConfigured"), ExitCode.NOT_STARTED, "refused: do this"),
        (IDLE.replace("answer(message, {})", "sys.exit('out of memory')"), ExitCode.FAILURE, "out of memory"),
    ],
)
async def test_what_the_server_cannot_do_is_told_and_ends_the_run(
    played: Played, script: str, code: ExitCode, said: str
) -> None:
    assert (await played(script)).code is code
    assert said in played.shown


def command(folder: Path, *lines: object) -> list[str]:
    script = folder.parent / "script.jsonl"
    script.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    words = ["run", "--workspace", str(folder), "--prompt", "Go.", "--scripted-model", str(script)]
    state = ["--state-dir", str(folder.parent / "state")]
    return [sys.executable, "-P", "-m", "steersman", *words, *state]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def shown_until(process: subprocess.Popen[bytes], text: bytes) -> None:
    assert process.stdout is not None
    seen = b""
    while text not in seen:
        piece = os.read(process.stdout.fileno(), 4096)
        assert piece, seen
        seen += piece


def family(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


def test_ctrl_c_in_a_terminal_stops_the_turn_and_not_the_server(folder: Path) -> None:
    """A terminal sends the signal to its whole foreground group."""
    words = command(folder, {"text": "Let me think", "stallSeconds": 600})
    with subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as ran:
        shown_until(ran, b"Let me think")
        servers = family(ran)
        os.killpg(ran.pid, signal.SIGINT)
        out, _ = ran.communicate(timeout=20)
    assert ran.returncode == ExitCode.STOPPED, out
    assert b"stopped by human" in out
    assert psutil.wait_procs(servers, timeout=5)[1] == []


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_killed_leaves_no_server(folder: Path, end: signal.Signals) -> None:
    words = command(folder, {"text": "Let me think", "stallSeconds": 600})
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as ran:
        shown_until(ran, b"Let me think")
        servers = family(ran)
        assert servers
        ran.send_signal(end)
        ran.wait(timeout=20)
    assert psutil.wait_procs(servers, timeout=10)[1] == []


def test_nobody_who_reads_the_output_is_no_reason_to_hang(folder: Path) -> None:
    words = command(folder, *[{"text": "line\n" * 2000, "toolCalls": [{"name": "list_files"}]}] * 3)
    with subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as ran:
        shown_until(ran, b"line")
        servers = family(ran)
        assert ran.stdout is not None
        ran.stdout.close()
        assert ran.wait(timeout=30) != 0
        assert ran.stderr is not None
        assert b"Traceback" not in ran.stderr.read()
    assert psutil.wait_procs(servers, timeout=5)[1] == []


def test_modules_in_the_folder_do_not_replace_the_servers_own(folder: Path) -> None:
    for name in ("json", "steersman", "msgspec", "sitecustomize"):
        (folder / f"{name}.py").write_text("raise SystemExit('taken over')\n", encoding="utf-8")
    ran = subprocess.run(
        command(folder, {"text": "Done."}),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=40,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


async def test_a_demo_that_changes_the_tests_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Making the tests green by emptying them is no repair."""
    cheat = "import unittest\n\n\nclass Nothing(unittest.TestCase):\n    def test_it(self):\n        pass\n"
    calls = [
        {"name": "read_file", "arguments": {"path": "test_bill.py"}},
        {
            "name": "write_file",
            "arguments": {"path": "test_bill.py", "content": cheat, "overwrite": True},
        },
    ]
    lines = [*({"toolCalls": [call]} for call in calls), {"text": "All tests pass."}]
    script = tmp_path / "cheat.jsonl"
    script.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    monkeypatch.setattr("steersman.headless.demo.SCRIPT", script)
    out = io.StringIO()
    assert await demo(Console(file=out, width=200), {}, keep=False) == ExitCode.FAILURE
    assert "only bill.py should have changed, but it was: test_bill.py" in out.getvalue()
