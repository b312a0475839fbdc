"""A loop on an in-memory log with doubles at every port, and tools that tests hold open."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from steersman.domain import events as ev
from steersman.domain.checks import Check
from steersman.domain.events import CallMode
from steersman.domain.fold import empty, fold
from steersman.domain.ids import new_id
from steersman.domain.settings import LoopSettings, ModelSettings, Settings
from steersman.domain.state import SessionState
from steersman.loop.agent import Agent
from steersman.loop.inbox import Receipt, Words
from steersman.loop.journal import Journal
from steersman.loop.services import Services, Verification
from steersman.policies.budget import budget
from steersman.policies.steps import steps
from steersman.policies.unanswered import unanswered
from steersman.ports.approval import ScriptedApproval
from steersman.ports.clock import ManualClock, SystemClock
from steersman.ports.event_log_memory import MemoryStore
from steersman.ports.model_double import Piece, ScriptedReplies
from steersman.ports.process_scripted import ScriptedProcesses, ScriptedTests
from steersman.ports.question import ScriptedQuestions
from steersman.tools.base import Allow, Arguments, Ask, Permit, ToolContext, ToolOutcome

DEADLINE = 5.0


class Named(Arguments, frozen=True):
    """Arguments of the test tools."""

    name: str = ""


class StandInTool:
    """A tool that waits for its gate, if it has one, and counts its runs."""

    arguments = Named
    description = "A tool of the tests."

    def __init__(
        self,
        name: str,
        mode: CallMode = "exclusive",
        *,
        gate: bool = False,
        deaf: bool = False,
        permit: Permit | None = None,
        result: str = "done",
        deadline: float = 60.0,
    ) -> None:
        self.name = name
        self._mode: CallMode = mode
        self._gate = asyncio.Event() if gate else None
        self._deaf = deaf
        self._permit = permit or Allow()
        self._result = result
        self.deadline_seconds = deadline
        self.started: list[str] = []
        self.finished: list[str] = []
        self.running = asyncio.Event()

    def mode(self, arguments: Named, context: ToolContext) -> CallMode:
        return self._mode

    def permit(self, arguments: Named, context: ToolContext) -> Permit:
        if isinstance(self._permit, Ask) and self._permit.remember in context.state.allowed:
            return Allow()
        return self._permit

    def open(self) -> None:
        assert self._gate is not None
        self._gate.set()

    async def run(self, arguments: Named, context: ToolContext) -> ToolOutcome:
        self.started.append(arguments.name)
        self.running.set()
        if self._gate is not None:
            await self._wait(context)
        self.finished.append(arguments.name)
        return ToolOutcome(content=f"{self._result} {arguments.name}".strip())

    async def _wait(self, context: ToolContext) -> None:
        assert self._gate is not None
        if self._deaf:
            await self._gate.wait()
            return
        waits = [asyncio.ensure_future(self._gate.wait()), asyncio.ensure_future(context.cancel.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        if context.cancel.is_set():
            raise asyncio.CancelledError


class NoChecks:
    """A CheckRunner that answers from a list."""

    def __init__(self, answers: list[Verification] | None = None) -> None:
        self.answers = answers or []
        self.ran: list[Sequence[Check]] = []

    async def run(self, checks: Sequence[Check], context: ToolContext) -> Verification:
        self.ran.append(checks)
        return self.answers.pop(0) if checks else Verification(verdict="none", results=[])


class NoEditor:
    """No folder is open: the loop's own tests touch no file."""

    def folders(self) -> tuple[Any, ...]:
        return ()


class Loop:
    """One session's loop. `log` are its events; every commit is checked against a fold from the start."""

    def __init__(self, services: Services, journal: Journal, agent: Agent, store: MemoryStore) -> None:
        self.services = services
        self.journal = journal
        self.agent = agent
        self.store = store
        self.told: list[ev.StoredEvent] = []
        self.states: dict[int, SessionState] = {}
        journal.told = self.told.extend
        after = journal.committed

        def committed() -> None:
            self.states[journal.state.last_seq] = journal.state
            after()

        journal.committed = committed

    @property
    def state(self) -> SessionState:
        return self.journal.state

    async def prompt(self, text: str, **more: Any) -> Receipt:
        return await self.agent.prompt(self.words(text, **more))

    async def steer(self, text: str, **more: Any) -> Receipt:
        return await self.agent.steer(self.words(text, **more))

    async def stop(self, *, drop: bool = False) -> int | None:
        return (await self.agent.cancel(drop=drop, expected_turn=None)).turn

    def words(self, text: str, message_id: str | None = None, **more: Any) -> Words:
        return Words(message_id=message_id or new_id("m"), text=text, after_stop=self.agent.stopped, **more)

    async def idle(self) -> None:
        """Wait until nothing runs and everything is told."""
        await until(lambda: self.state.turn is None)
        await self.agent.settle(DEADLINE)
        await self.journal.drain()
        await asyncio.sleep(0)

    async def rows(self) -> list[ev.StoredEvent]:
        return await self.journal.log.read(0, 1_000_000)

    async def log(self) -> list[ev.Event]:
        return [ev.from_stored(self.state.session_id, row) for row in await self.rows()]

    async def types(self, *, chunks: bool = False, task: bool = False) -> list[str]:
        """The types of the log's events, from the first prompt on."""
        skip = {"session/created", "session/opened"}
        skip |= set() if chunks else {"assistant/chunk"}
        skip |= set() if task else {"task/state"}
        return [e.type for e in await self.log() if e.type not in skip]

    async def data(self, kind: type[Any]) -> list[Any]:
        return [e.data for e in await self.log() if isinstance(e.data, kind)]

    async def check(self) -> None:
        """Every prefix of the log folds to the state that was live then; what was told is what is stored."""
        state = empty(self.state.session_id)
        for event in await self.log():
            state = fold(state, event)
            if event.seq in self.states:
                assert state == self.states[event.seq], f"differs at {event.seq}"
        assert state == self.state
        assert self.told == [row for row in await self.rows() if row.seq > 2]


async def until(condition: Callable[[], bool], seconds: float = DEADLINE) -> None:
    """Wait for a condition, without a fixed pause. Fails loudly after the deadline."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.001)


async def start(
    replies: Sequence[Sequence[Piece]],
    tools: Sequence[StandInTool] = (),
    *,
    approvals: Any = None,
    questions: Any = None,
    checks: NoChecks | None = None,
    settings: Settings | None = None,
    clock: Any = None,
) -> tuple[Loop, ScriptedReplies]:
    """A new session whose model gives these replies."""
    model = ScriptedReplies(replies)
    box: Mapping[str, Any] = {tool.name: tool for tool in tools}
    services = Services(
        settings=settings
        or Settings(model=ModelSettings(retry_base_seconds=0.5), loop=LoopSettings(tool_grace_seconds=0.1)),
        clock=clock or SystemClock(),
        models=model,
        editor=NoEditor(),  # type: ignore[arg-type]
        approvals=approvals or ScriptedApproval(),
        questions=questions or ScriptedQuestions(),
        processes=ScriptedProcesses([]),
        tests=ScriptedTests([]),
        checks=checks or NoChecks(),
        toolbox=lambda mode: box,
        policies=[unanswered, budget, steps],
        jitter=lambda: 0.0,
    )
    store = MemoryStore()
    log = await store.create("s-test", None)
    journal = Journal(log, empty("s-test"), services.clock)
    await journal.append(
        ev.SessionCreated(format_version=1, workspace_folder=None, title=""),
        ev.SessionOpened(reason="new", server="tests"),
    )
    await asyncio.sleep(0)
    agent = Agent(journal, services)
    return Loop(services, journal, agent, store), model


__all__ = ["Loop", "ManualClock", "Named", "NoChecks", "StandInTool", "start", "until"]
