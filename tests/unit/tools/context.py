"""What a tool runs in, for tests: a MemoryEditor on a real folder, real processes, a log that is a list."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from steersman.domain.events import EventData
from steersman.domain.receipts import TestReceipt
from steersman.domain.settings import Settings
from steersman.domain.state import SessionState
from steersman.errors import ToolFailed
from steersman.ports.cancel import Cancel
from steersman.ports.editor_memory import MemoryEditor
from steersman.ports.process import ProcessOutcome, ProcessSpec, TestRun
from steersman.ports.query import QueryPort
from steersman.tools.base import Allow, Confirmation, Reply, ToolOutcome
from steersman.tools.registry import INTELLIGENCE, toolbox
from steersman.tools.schema import decode


class Processes:
    """Runs real processes in the simplest way; `answer` replaces that by a scripted outcome."""

    def __init__(self) -> None:
        self.ran: list[ProcessSpec] = []
        self.answer: ProcessOutcome | None = None

    async def run(self, spec: ProcessSpec, cancel: Cancel) -> ProcessOutcome:
        self.ran.append(spec)
        if self.answer is not None:
            return self.answer
        try:
            process = await asyncio.create_subprocess_exec(
                *spec.argv,
                cwd=spec.cwd,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
        except FileNotFoundError:
            return ProcessOutcome(ended="not-found", exit_code=None, output="", duration_ms=0)
        try:
            output, _ = await asyncio.wait_for(process.communicate(), spec.timeout_seconds)
        except TimeoutError:
            process.kill()
            await process.communicate()
            return ProcessOutcome(ended="timeout", exit_code=None, output="", duration_ms=0)
        code = process.returncode or 0
        text = output.decode("utf-8", "replace")
        if code < 0:
            return ProcessOutcome(ended="signalled", exit_code=None, signal=-code, output=text, duration_ms=1)
        return ProcessOutcome(ended="exited", exit_code=code, output=text, duration_ms=1)

    async def close(self) -> None:
        return None


class Tests:
    """Answers every test run with `receipt`."""

    __test__ = False

    def __init__(self) -> None:
        self.ran: list[TestRun] = []
        self.receipt: TestReceipt | None = None

    async def run_tests(self, run: TestRun, cancel: Cancel) -> TestReceipt:
        self.ran.append(run)
        assert self.receipt is not None
        return msgspec.structs.replace(self.receipt, run_id=run.run_id)


class Context:
    """A ToolContext. `recorded` are events in order, between the changes that the editor was asked for."""

    def __init__(self, *folders: Path, settings: Settings | None = None) -> None:
        self.call_id = "call-1"
        self.session_id = "s-1"
        self.settings = settings or Settings()
        self.editor = MemoryEditor(*folders)
        self.processes = Processes()
        self.commands = self.processes
        self.reply: Reply | None = None
        self.queries: QueryPort | None = None
        self.tests = Tests()
        self.cancel = asyncio.Event()
        self.trusted = True
        self.state = SessionState(session_id="s-1")
        self.recorded: list[tuple[EventData, int]] = []
        self.blobs: dict[str, bytes] = {}
        self.confirmation = Confirmation(by="nobody")
        self.confirmed: list[tuple[str, str, tuple[str, ...]]] = []

    @property
    def events(self) -> list[EventData]:
        return [event for event, _ in self.recorded]

    async def record(self, *events: EventData, blobs: Mapping[str, bytes] | None = None) -> None:
        await asyncio.sleep(0)
        self.blobs |= blobs or {}
        self.recorded += [(event, len(self.editor.changes)) for event in events]

    async def blob(self, digest: str) -> bytes | None:
        return self.blobs.get(digest)

    async def confirm(self, check_id: str, text: str, choices: tuple[str, ...]) -> Confirmation:
        self.confirmed.append((check_id, text, choices))
        return self.confirmation

    def allow(self, rule: str) -> None:
        """What a person's `allowSession` leaves behind."""
        self.state = msgspec.structs.replace(self.state, allowed=self.state.allowed | {rule})

    async def call(self, name: str, /, **arguments: Any) -> ToolOutcome:
        """Call a tool as the loop does, past its permission (which must not refuse).

        Raises:
            ToolFailed: as the tool, or its refusal.
        """
        tool = toolbox("agent", INTELLIGENCE)[name]
        decoded = decode(tool.arguments, msgspec.json.encode(arguments).decode())
        permit = tool.permit(decoded, self)
        if code := getattr(permit, "code", None):
            raise ToolFailed(code, permit.message)
        outcome = await tool.run(decoded, self)
        self.state = msgspec.structs.replace(self.state, seen=self.state.seen.update(outcome.seen))
        return outcome

    def permit(self, name: str, /, **arguments: Any) -> Any:
        """What a tool's permission says."""
        tool = toolbox("agent", INTELLIGENCE)[name]
        return tool.permit(decode(tool.arguments, msgspec.json.encode(arguments).decode()), self)

    def allowed(self, name: str, /, **arguments: Any) -> bool:
        return isinstance(self.permit(name, **arguments), Allow)
