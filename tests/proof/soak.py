"""A long session in a real server: after many turns it is as small, and as quick, as after a few."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Final

import psutil

from tests.proof.layer import require
from tests.proof.real_server import RealServer, real_server

TURNS: Final = 50
"""Turns of one case."""
_WARM: Final = 15
_MORE_MEMORY: Final = 12 * 1024 * 1024
_TEXT: Final = "so many words " * 40


def soak_case(number: int, turns: int = TURNS) -> Counter[str]:
    """`turns` turns, each with a command, a file and a text. Fails where something grows that must not."""
    folder = Path(tempfile.mkdtemp(prefix="steersman-soak-")).resolve()
    try:
        return asyncio.run(_soaked(folder, turns))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _soaked(folder: Path, turns: int) -> Counter[str]:
    (folder / "read.txt").write_text(_TEXT * 20, encoding="utf-8")
    argv = [sys.executable, "-c", "print('x' * 2000)"]
    calls = [
        {"toolCalls": [{"name": "read_file", "arguments": {"path": "read.txt"}}]},
        {"toolCalls": [{"name": "run_command", "arguments": {"argv": argv}}]},
        {"text": _TEXT},
    ]
    script = folder / "script.jsonl"
    script.write_text("".join(json.dumps(line) + "\n" for line in calls * turns), encoding="utf-8")
    options = {
        "stateDir": str(folder / "state"),
        "scriptedModel": str(script),
        "permissions": {"commands": [{"argv": argv, "decision": "allow"}]},
    }
    async with real_server(folder, options) as server:
        session = (await server.result("steersman/session/new", {}))["sessionId"]
        process = psutil.Process(server.process.pid)
        warm, quick = (0, 0, 0), 0.0
        for turn in range(turns):
            seconds = await _turn(server, session, turn)
            if turn < _WARM:
                quick = max(quick, seconds)
            if turn == _WARM:
                warm = _sizes(process)
        memory, descriptors, threads = _sizes(process)
        require(descriptors <= warm[1] + 2, f"descriptors grew from {warm[1]} to {descriptors}")
        require(threads <= warm[2] + 2, f"threads grew from {warm[2]} to {threads}")
        grown = memory - warm[0]
        require(grown < _MORE_MEMORY * turns / TURNS, f"memory grew by {grown} bytes in {turns} turns")
        require(not process.children(), "processes of tools are left")
        require(seconds < max(5 * quick, 5.0), f"a turn took {seconds:.1f} s, {quick:.1f} s at the beginning")
        database = sum(file.stat().st_size for file in (folder / "state").rglob("session.db*"))
        return Counter(turns=turns, bytes_on_disk=database, bytes_of_memory_grown=max(grown, 0))


async def _turn(server: RealServer, session: str, turn: int) -> float:
    begun, seen = time.monotonic(), len(server.events)
    await server.result("steersman/turn/prompt", {"sessionId": session, "text": f"go {turn}"})
    ended = await server.until("turn/end", seen)
    require(ended["data"]["reason"]["kind"] == "completed", f"turn {turn} ended in {ended['data']['reason']}")
    del server.said[:]
    return time.monotonic() - begun


def _sizes(process: psutil.Process) -> tuple[int, int, int]:
    """Bytes of memory that are its own, open descriptors, threads."""
    with process.oneshot():
        return process.memory_full_info().uss, process.num_fds(), process.num_threads()
