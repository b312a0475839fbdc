"""One session with a goal for property tests: a model that waits to be told what to answer, a crash at any
moment, and a restart on the same log."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec

from steersman.domain import events as ev
from steersman.domain.goal import Goal
from steersman.domain.ids import new_id
from steersman.domain.messages import Delta
from steersman.domain.settings import GoalSettings, LoopSettings, ModelSettings, Settings
from steersman.domain.state import SessionState
from steersman.loop.inbox import Words
from steersman.loop.services import Services
from steersman.policies.budget import budget
from steersman.policies.steps import steps
from steersman.policies.unanswered import unanswered
from steersman.ports.approval import ScriptedApproval
from steersman.ports.clock import ManualClock
from steersman.ports.event_log_memory import MemoryStore
from steersman.ports.feed import RecordingFeed
from steersman.ports.model import Finish, ModelRequest
from steersman.ports.model_double import Piece, ScriptedReplies
from steersman.ports.process_scripted import ScriptedProcesses, ScriptedTests
from steersman.ports.question import ScriptedQuestions
from steersman.sessions.open_session import OpenSession
from tests.unit.loop.harness import NoChecks, NoEditor, StandInTool

SESSION = "s-00000000000000000000000001"


class HeldModel(ScriptedReplies):
    """Every request stays open until `answer` is called. `asked` counts the requests."""

    def __init__(self) -> None:
        super().__init__([])
        self.asked = 0
        self._next: asyncio.Future[list[Piece]] | None = None

    @property
    def is_asked(self) -> bool:
        return self._next is not None and not self._next.done()

    def answer(self, pieces: list[Piece]) -> None:
        assert self._next is not None
        self._next.set_result(pieces)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | Finish]:
        self.asked += 1
        self.requests.append(msgspec.json.decode(request.body))
        mine = self._next = asyncio.get_running_loop().create_future()
        try:
            for piece in await mine:
                if isinstance(piece, Exception):
                    raise piece
                yield piece  # type: ignore[misc]
        finally:
            if self._next is mine:
                self._next = None


class World:
    """A session that can crash. `model`, `session` and `services` are those of the present process."""

    def __init__(self, checks: Any = None, **goal: Any) -> None:
        self.clock = ManualClock()
        self.store = MemoryStore()
        self.model = HeldModel()
        self.checks = checks or NoChecks()
        self.settings = Settings(
            model=ModelSettings(max_retries=0),
            loop=LoopSettings(tool_grace_seconds=0.01),
            goal=GoalSettings(**goal),
        )
        self.session: OpenSession
        self.asked_before = 0

    async def begin(self) -> None:
        created = ev.SessionCreated(format_version=1, workspace_folder=None, title="")
        log = await self.store.create(SESSION, None)
        self.session = await OpenSession.create(
            log, created, None, self._services(), RecordingFeed(), self.store
        )
        await self.settle()

    def _services(self) -> Services:
        tool = StandInTool("work")
        return Services(
            settings=self.settings,
            clock=self.clock,
            models=self.model,
            editor=NoEditor(),  # type: ignore[arg-type]
            approvals=ScriptedApproval(),
            questions=ScriptedQuestions(),
            processes=ScriptedProcesses([]),
            tests=ScriptedTests([]),
            checks=self.checks,
            toolbox=lambda mode: {"work": tool},  # type: ignore[dict-item]
            policies=[unanswered, budget, steps],
            jitter=lambda: 0.0,
        )

    @property
    def state(self) -> SessionState:
        return self.session.state

    @property
    def goal(self) -> Goal | None:
        return self.state.goal

    @property
    def requests(self) -> int:
        """How often a model was asked, over all processes."""
        return self.asked_before + self.model.asked

    def words(self, text: str) -> Words:
        return Words(message_id=new_id("m"), text=text, after_stop=self.session.agent.stopped)

    async def settle(self) -> None:
        """Until the model is asked, or nothing moves any more."""
        quiet = 0
        for _ in range(20_000):
            quiet = 0 if self._moves() else quiet + 1
            if quiet > 3:
                return
            await asyncio.sleep(0)
        raise AssertionError("the session does not come to rest")

    def _moves(self) -> bool:
        journal, driver = self.session.journal, self.session.driver
        if journal._requests or (journal._writer is not None and not journal._writer.done()):
            return True
        if driver._advancing is not None and not driver._advancing.done():
            return True
        return self.state.turn is not None and not self.model.is_asked

    async def crash_and_restart(self) -> None:
        """The process is gone in this very moment; another one takes the log as it is."""
        dead, before = (
            self.session,
            {task for task in asyncio.all_tasks() if task is not asyncio.current_task()},
        )
        dead.agent.kill()
        for task in before:
            task.cancel()
        await asyncio.gather(*before, return_exceptions=True)
        session = self.store.sessions[SESSION]
        session.writer = None
        self.asked_before += self.model.asked
        self.model = HeldModel()
        log = await self.store.open(SESSION)
        self.session = await OpenSession.take(
            log, self._services(), RecordingFeed(), self.store, lambda folder: None
        )
        await self.settle()

    async def log(self) -> list[ev.Event]:
        return [ev.from_stored(SESSION, row) for row in self.store.sessions[SESSION].rows]

    async def end(self) -> None:
        await self.session.close(lambda: self.session.agent.abort("shutdown"))

    async def tried(self, act: Callable[[], Any]) -> Exception | None:
        """Carry out a verb to its answer; what refused it, if anything did."""
        try:
            await asyncio.shield(act())
        except Exception as refused:
            await self.settle()
            return refused
        await self.settle()
        return None
