"""Every way in which a server can end, beside children of every kind: none of them is left."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any, Final

from tests.e2e.editor import call, script
from tests.proof.layer import require
from tests.proof.real_server import RealServer, real_server
from tests.unit.processes.trees import STUBBORN_TREE, left

GONE_SECONDS: Final = 30.0
"""That nothing is left is what counts here; how soon (2 s) is measured by the end-to-end tests."""
CHILDREN: Final = {
    "plain": "import time; time.sleep(600)",
    "own session": "import os, time; os.setsid() if os.getpgrp() != os.getpid() else 0; time.sleep(600)",
    "stubborn tree": STUBBORN_TREE,
}
WAYS: Final = (
    "exit",
    "shutdown and exit",
    "shutdown only, then end of input",
    "end of input",
    "output closed",
    "SIGTERM",
    "SIGINT",
    "SIGHUP",
    "SIGKILL",
    "SIGSEGV",
    "dead parent",
)
CASES: Final = tuple(product(WAYS, CHILDREN))
_MARK: Final = "STEERSMAN_TEST_MARK"


def end_case(number: int) -> Counter[str]:
    way, kind = CASES[number % len(CASES)]
    folder = Path(tempfile.mkdtemp(prefix="steersman-end-")).resolve()
    try:
        return asyncio.run(_ended(folder, way, CHILDREN[kind]))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _ended(folder: Path, way: str, program: str) -> Counter[str]:
    mark = uuid.uuid4().hex
    child = f"import os; os.environ[{_MARK!r}] = {mark!r}; os.execv({sys.executable!r}, "
    child += f"[{sys.executable!r}, '-c', {program!r}])"
    argv = [sys.executable, "-c", child]
    options = {
        "stateDir": str(folder / "state"),
        "scriptedModel": str(script(folder / "script.jsonl", call("run_command", argv=argv))),
        "permissions": {"commands": [{"argv": argv, "decision": "allow"}]},
    }
    parent = subprocess.Popen(["sleep", "600"]) if way == "dead parent" else None
    try:
        async with real_server(folder, options, parent=parent.pid if parent else None) as server:
            session = await server.result("steersman/session/new", {})
            await server.result("steersman/turn/prompt", {"sessionId": session["sessionId"], "text": "go"})
            children = await _running(mark, 5 if "fork" in program else 1)
            begun = time.monotonic()
            await _end(server, way, parent)
            await asyncio.wait_for(server.process.wait(), GONE_SECONDS)
            while (living := left(mark)) and time.monotonic() - begun < GONE_SECONDS:
                await asyncio.sleep(0.05)
            require(not living, f"{way}: {living} are left")
            return Counter(ends=1, children=children)
    finally:
        if parent is not None:
            parent.kill()
            parent.wait()


async def _running(mark: str, count: int) -> int:
    begun = time.monotonic()
    while len(left(mark)) < count:
        require(time.monotonic() - begun < 40, "the command never ran")
        await asyncio.sleep(0.05)
    return len(left(mark))


async def _end(server: RealServer, way: str, parent: subprocess.Popen[Any] | None) -> None:
    assert server.process.stdin is not None
    match way:
        case "exit":
            server.tell("exit")
        case "shutdown and exit":
            await server.ask("shutdown")
            server.tell("exit")
        case "shutdown only, then end of input":
            await server.ask("shutdown")
            server.process.stdin.close()
        case "end of input":
            server.process.stdin.close()
        case "output closed":
            server.process._transport.get_pipe_transport(1).close()  # type: ignore[attr-defined]
            with contextlib.suppress(ConnectionError):
                server.tell("steersman/workspace/trust", {"trusted": False})
                server.ask("steersman/status", {})
        case "dead parent":
            assert parent is not None
            parent.kill()
        case _:
            server.process.send_signal(getattr(signal, way))
