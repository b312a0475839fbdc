"""The whole server over stdio, killed at random in the middle of its work, and started again.

Its commands leave a mark in a file, so what truly happened is known whatever the log says.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, Final

import msgspec

from steersman.domain.events import StoredEvent
from tests.proof.invariants import broken_by
from tests.proof.layer import require
from tests.proof.real_server import Died, RealServer, real_server

KILLS: Final = 5
"""How often the server of one case is killed."""
_EFFECT: Final = """
import os, sys, time
mark = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
os.write(mark, (sys.argv[2] + "\\n").encode())
time.sleep(float(sys.argv[3]))
"""


class Case:
    """One session, its folder, and what its person was promised over all lives of the server."""

    def __init__(self, number: int) -> None:
        self.dice = random.Random(number)
        self.folder = Path(tempfile.mkdtemp(prefix="steersman-kill-")).resolve()
        self.effect = self.folder / "effect.py"
        self.effect.write_text(_EFFECT, encoding="utf-8")
        self.marks = self.folder / "marks"
        self.session_id = ""
        self.words: dict[str, tuple[str, str]] = {}
        self.told: dict[int, dict[str, Any]] = {}
        self.lives = 0
        self.messages = 0

    def options(self) -> dict[str, Any]:
        allowed = [sys.executable, str(self.effect)]
        return {
            "stateDir": str(self.folder / "state"),
            "scriptedModel": str(self._script()),
            "permissions": {"commands": [{"argv": allowed, "decision": "allow"}]},
        }

    def _script(self) -> Path:
        path = self.folder / f"script-{self.lives}.jsonl"
        path.write_text("".join(json.dumps(self._line(n)) + "\n" for n in range(40)), encoding="utf-8")
        return path

    def _line(self, line: int) -> dict[str, Any]:
        if self.dice.random() < 0.4:
            return {
                "text": "some words " * self.dice.randint(1, 20),
                "chunkDelayMs": self.dice.choice((0, 5, 20)),
            }
        count = self.dice.randint(1, 3)
        return {"toolCalls": [self._call(f"{self.lives}-{line}-{n}") for n in range(count)]}

    def _call(self, mark: str) -> dict[str, Any]:
        pause = str(self.dice.choice((0, 0.05, 0.3)))
        argv = [sys.executable, str(self.effect), str(self.marks), mark, pause]
        return {"name": "run_command", "arguments": {"argv": argv}}

    async def live(self) -> None:
        """One life of the server, from its start to its violent end."""
        self.lives += 1
        async with real_server(self.folder, self.options()) as server:
            with contextlib.suppress(Died):
                await self._take(server)
                acting = asyncio.create_task(self._act(server))
                await asyncio.wait({acting}, timeout=self.dice.uniform(0.0, 1.0))
                acting.cancel()
            await server.kill()
            for event in server.events:
                known = self.told.setdefault(event["seq"], event)
                require(known == event, f"event {event['seq']} was told as two different ones")

    async def _take(self, server: RealServer) -> None:
        if not self.session_id:
            self.session_id = (await server.result("steersman/session/new", {}))["sessionId"]
            return
        info = await server.result("steersman/session/open", {"sessionId": self.session_id})
        require(info["state"] == "idle", "something runs right after the restart")
        waits = bool(info["queue"]["nextTurn"])
        require(waits == (info["queue"]["held"] is not None), "the queue is parked silently")
        await self.judge(server)

    async def _act(self, server: RealServer) -> None:
        while True:
            verb = self.dice.choice(["prompt", "prompt", "steer", "cancel", "release"])
            await self._ask(server, verb)
            await asyncio.sleep(self.dice.choice((0.0, 0.02, 0.3)))

    async def _ask(self, server: RealServer, verb: str) -> None:
        if verb in ("cancel", "release"):
            method = "steersman/turn/cancel" if verb == "cancel" else "steersman/queue/release"
            await server.ask(method, {"sessionId": self.session_id})
            return
        self.messages += 1
        message_id, text = f"m{self.messages}", f"words {self.messages}"
        params = {"sessionId": self.session_id, "text": text, "messageId": message_id}
        answer = await server.ask(f"steersman/turn/{verb}", params)
        self.words[message_id] = (text, answer["result"]["outcome"])

    async def judge(self, server: RealServer) -> None:
        """The log holds all that was promised and told, and the marks agree with it."""
        events: list[dict[str, Any]] = []
        more = True
        while more:
            params = {"sessionId": self.session_id, "afterSeq": len(events)}
            page = await server.result("steersman/session/events", params)
            events += page["events"]
            more = page["hasMore"]
        by_seq = {event["seq"]: event for event in events}
        for seq, event in self.told.items():
            require(_plain(by_seq.get(seq)) == _plain(event), f"event {seq} was told and is not in the log")
        rows = [StoredEvent(e["seq"], e["time"], e["type"], msgspec.json.encode(e["data"])) for e in events]
        wrong = broken_by(self.session_id, rows, self.words, self._bodies(events))
        require(not wrong, "; ".join(wrong))
        self._effects(events)

    def _bodies(self, events: list[dict[str, Any]]) -> dict[str, int]:
        counts = Counter(self.marks.read_text(encoding="utf-8").split()) if self.marks.exists() else Counter()
        calls = {e["data"]["callId"]: e["data"]["arguments"] for e in events if e["type"] == "tool/call"}
        marked = {call_id: json.loads(arguments)["argv"][3] for call_id, arguments in calls.items()}
        require(set(counts) <= set(marked.values()), "a command ran that the log does not know")
        return {call_id: counts[mark] for call_id, mark in marked.items() if counts[mark]}

    def _effects(self, events: list[dict[str, Any]]) -> None:
        bodies = self._bodies(events)
        for event in events:
            if event["type"] == "tool/result" and event["data"]["outcome"] == "ok":
                require(bodies.get(event["data"]["callId"]) == 1, "a result says ok, and nothing happened")


def _plain(event: dict[str, Any] | None) -> Any:
    """An event without the pieces of text in it: chunks may be told together (protocol.md, section 3)."""
    if event is None or event["type"] == "assistant/chunk":
        return None if event is None else "chunk"
    return event


def kill_case(number: int) -> Counter[str]:
    """One session over some violent ends and a last life that finds everything in order."""
    case = Case(number)
    try:
        return asyncio.run(_killed(case))
    finally:
        shutil.rmtree(case.folder, ignore_errors=True)


async def _killed(case: Case) -> Counter[str]:
    for _ in range(KILLS):
        await case.live()
    if case.session_id:
        async with real_server(case.folder, case.options()) as server:
            await case._take(server)
            before = len(server.events)
            params = {"sessionId": case.session_id, "text": "the last words"}
            await server.result("steersman/turn/prompt", params)
            await server.until("turn/end", before)
    return Counter(kills=KILLS, acknowledged=len(case.words), told=len(case.told))
