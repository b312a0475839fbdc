"""The life of the server's process: every way in which it can end, and that nothing is left of it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.e2e.editor import call, script
from tests.lsp.wire import Wire

GONE_SECONDS = 4.0
"""Within 2 s says the design; the rest is the machine's, which may be busy."""


class Server:
    """A real server process and a plain client on its pipes, or on another wire."""

    def __init__(self, process: asyncio.subprocess.Process, wire: Wire | None = None) -> None:
        self.process = process
        if wire is None:
            assert process.stdout is not None
            assert process.stdin is not None
            wire = Wire(process.stdout, process.stdin)
        self.wire = wire

    async def code(self) -> int:
        async with asyncio.timeout(GONE_SECONDS):
            return await self.process.wait()

    async def running_a_command(self, folder: Path) -> list[psutil.Process]:
        """Start a turn whose command sleeps; the processes below the server."""
        session = await self.wire.answer(self.wire.ask("steersman/session/new", {}))
        params = {"sessionId": session["result"]["sessionId"], "text": "go"}
        self.wire.ask("steersman/turn/prompt", params)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            family = psutil.Process(self.process.pid).children(recursive=True)
            if any("sleep(600)" in " ".join(p.cmdline()) for p in family):
                return family
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.05):
                    await self.wire.receive()
        raise AssertionError("the command never ran")


@contextlib.asynccontextmanager
async def server(
    env: dict[str, str], folder: Path, parent: int | None = None, **options: Any
) -> AsyncIterator[Server]:
    """An initialized server on a folder."""
    process = await asyncio.create_subprocess_exec(
        *[sys.executable, "-m", "steersman", "serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=env,
        limit=1 << 22,
    )
    try:
        started = Server(process)
        params = {"processId": parent, "capabilities": {}, "rootUri": folder.as_uri()}
        asked = started.wire.ask("initialize", params | {"initializationOptions": options})
        async with asyncio.timeout(20):
            await started.wire.answer(asked)
        started.wire.tell("initialized", {})
        yield started
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def sleeping(tmp_path: Path) -> dict[str, Any]:
    """Settings in which the model runs a command that sleeps, allowed beforehand."""
    argv = [sys.executable, "-c", "import time; time.sleep(600)"]
    scripted = script(tmp_path / "script.jsonl", call("run_command", argv=argv))
    return {
        "stateDir": str(tmp_path / "state"),
        "scriptedModel": str(scripted),
        "permissions": {"commands": [{"argv": argv, "decision": "allow"}]},
    }


def none_left(family: list[psutil.Process]) -> None:
    _, alive = psutil.wait_procs(family, timeout=GONE_SECONDS)
    assert alive == []


@pytest.mark.parametrize("way", ["exit", "shutdown and exit", "end of input", "SIGTERM", "SIGINT", "SIGKILL"])
async def test_however_the_server_ends_no_process_of_its_tools_is_left(
    tmp_path: Path, clean_env: dict[str, str], way: str
) -> None:
    async with server(clean_env, tmp_path, **sleeping(tmp_path)) as s:
        family = await s.running_a_command(tmp_path)
        match way:
            case "exit":
                s.wire.tell("exit")
            case "shutdown and exit":
                await s.wire.answer(s.wire.ask("shutdown"))
                s.wire.tell("exit")
            case "end of input":
                s.wire.writer.close()
            case _:
                s.process.send_signal(getattr(signal, way))
        code = await s.code()
        assert code == {"shutdown and exit": 0, "SIGKILL": -signal.SIGKILL}.get(way, 1)
        none_left(family)


async def test_a_dead_parent_ends_the_server(tmp_path: Path, clean_env: dict[str, str]) -> None:
    parent = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        async with server(clean_env, tmp_path, parent.pid, **sleeping(tmp_path)) as s:
            family = await s.running_a_command(tmp_path)
            parent.kill()  # not waited for: it stays as a zombie, as a crashed editor's may
            assert await s.code() == 1
            none_left(family)
    finally:
        parent.kill()
        parent.wait()


async def test_a_parent_that_is_gone_already_ends_the_server_at_once(
    tmp_path: Path, clean_env: dict[str, str]
) -> None:
    gone = subprocess.Popen([sys.executable, "-c", "pass"])
    gone.wait()
    async with server(clean_env, tmp_path, gone.pid, stateDir=str(tmp_path / "state")) as s:
        assert await s.code() == 1


async def test_what_is_printed_never_reaches_the_protocol(tmp_path: Path, clean_env: dict[str, str]) -> None:
    site = tmp_path / "site"
    site.mkdir()
    noise = "import atexit, os, threading, time\nprint('at the start')\n"
    noise += "def late():\n    time.sleep(1.0)\n    print('later')\n    os.write(1, b'raw')\n"
    noise += "threading.Thread(target=late, daemon=True).start()\n"
    (site / "noisy.py").write_text(noise, encoding="utf-8")
    patch = "import sys\nclass Loud:\n"
    patch += "    def find_spec(self, name, path=None, target=None):\n"
    patch += "        if name == 'steersman.composition':\n            import noisy\n"
    patch += "sys.meta_path.insert(0, Loud())\n"
    (site / "sitecustomize.py").write_text(patch, encoding="utf-8")
    env = clean_env | {"PYTHONPATH": str(site)}
    async with server(env, tmp_path, stateDir=str(tmp_path / "state")) as s:
        for _ in range(15):
            answer = await s.wire.answer(s.wire.ask("steersman/status", {}))
            assert answer["result"]["protocolVersion"] == 1
            await asyncio.sleep(0.1)


async def test_neither_the_models_client_nor_its_key_is_touched_by_initialize(
    tmp_path: Path, clean_env: dict[str, str]
) -> None:
    """`openai` is imported after `initialized`, in a thread; a test hook tells what was there before."""
    site = tmp_path / "site"
    site.mkdir()
    told = tmp_path / "told.json"
    patch = "import json, sys\nclass Watch:\n    def find_spec(self, name, path=None, target=None):\n"
    patch += "        if name == 'openai':\n            import threading\n"
    patch += f"            with open({str(told)!r}, 'w') as out:\n"
    patch += "                json.dump(threading.current_thread() is threading.main_thread(), out)\n"
    patch += "sys.meta_path.insert(0, Watch())\n"
    (site / "sitecustomize.py").write_text(patch, encoding="utf-8")
    env = clean_env | {"PYTHONPATH": str(site)}
    process = await asyncio.create_subprocess_exec(
        *[sys.executable, "-m", "steersman", "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env
    )
    started = Server(process)
    options = {
        "stateDir": str(tmp_path / "state"),
        "model": {"baseUrl": "http://127.0.0.1:9/v1", "name": "m"},
    }
    params = {"processId": None, "capabilities": {}, "rootUri": tmp_path.as_uri()}
    asked = started.wire.ask("initialize", params | {"initializationOptions": options})
    async with asyncio.timeout(20):
        await started.wire.answer(asked)
    assert not told.exists(), "openai was imported before the client was initialized"
    started.wire.tell("initialized", {})
    deadline = time.monotonic() + 20
    while not told.exists() and time.monotonic() < deadline:
        await asyncio.sleep(0.02)
    assert json.loads(told.read_text()) is False, "openai was imported on the event loop's thread"
    started.wire.tell("exit")
    await process.wait()


async def test_two_servers_take_over_from_each_other_after_a_kill(
    tmp_path: Path, clean_env: dict[str, str]
) -> None:
    settings = sleeping(tmp_path)
    async with server(clean_env, tmp_path, **settings) as first:
        made = await first.wire.answer(first.wire.ask("steersman/session/new", {}))
        session = made["result"]["sessionId"]
        async with server(clean_env, tmp_path, **settings) as second:
            locked = await second.wire.error("steersman/session/open", {"sessionId": session})
            assert locked["data"]["kind"] == "sessionLocked"
            os.kill(first.process.pid, signal.SIGKILL)
            await first.process.wait()
            taken = await second.wire.answer(
                second.wire.ask("steersman/session/open", {"sessionId": session})
            )
            assert taken["result"]["readOnly"] is False
