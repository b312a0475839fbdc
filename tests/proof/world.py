"""A person, a model and tools around one session, all drawn from a seed; and what the outside saw of it.

The ledger lies outside of every process: it keeps what was promised, what ran and what was asked, and
judges at once whether the log on the disk knew of it first.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from steersman.domain import events as ev
from steersman.domain.events import CallMode, StoredEvent
from steersman.domain.messages import Delta
from steersman.domain.settings import GoalSettings, LoopSettings, ModelSettings, PermissionSettings, Settings
from steersman.domain.views import SessionInfo
from steersman.errors import ModelFailed
from steersman.loop.services import Services
from steersman.policies.budget import budget
from steersman.policies.steps import steps
from steersman.policies.unanswered import unanswered
from steersman.ports.approval import ApprovalAnswer
from steersman.ports.model import Finish, ModelRequest
from steersman.ports.model_double import ScriptedReplies, call, done, text
from steersman.ports.process_scripted import ScriptedProcesses, ScriptedTests
from steersman.ports.question import QuestionAnswer
from steersman.tools.base import Allow, Arguments, Ask, Inquire, Permit, Refuse, ToolContext, ToolOutcome
from tests.unit.loop.harness import NoChecks, NoEditor
from tests.unit.loop.test_stop import strict

APPROVAL_SECONDS = 20.0


class Broken(AssertionError):
    """A promise was broken."""


class Ledger:
    """What the outside world knows. The database is looked at directly, never through the product."""

    def __init__(self) -> None:
        self.files = Path()
        self.session_id = ""
        self.alive = True
        self.bodies: Counter[str] = Counter()
        self.requests = 0
        self.words: dict[str, tuple[str, str]] = {}
        self.told: list[StoredEvent] = []
        self.counts: Counter[str] = Counter()
        self.broken: list[str] = []
        self._reader: sqlite3.Connection | None = None

    def begin(self, files: Path) -> None:
        """A process starts, on these files."""
        self.end()
        self.files, self.alive, self.told = files, True, []

    def end(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        self.alive = False

    def require(self, condition: object, words: str) -> None:
        """Note a broken promise: raising inside of the product could be caught by it."""
        if self.alive and not condition:
            self.broken.append(words)

    def on_disk(self, query: str, *values: object) -> Any:
        """One value, as another process would read it now."""
        if self._reader is None:
            database = self.files / "sessions" / self.session_id / "session.db"
            self._reader = sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)
        return self._reader.execute(query, values).fetchone()[0]

    def rows(self) -> list[StoredEvent]:
        """The whole log on the disk, as another process would read it now."""
        query = "SELECT seq, time, type, data, ignorable FROM events ORDER BY seq"
        self.on_disk("SELECT 1")
        assert self._reader is not None
        found = self._reader.execute(query).fetchall()
        return [StoredEvent(seq, time, kind, data, bool(flag)) for seq, time, kind, data, flag in found]

    def holds(self, type_: str, member: str, value: str) -> bool:
        """Whether the log on the disk has an event of a type with this member."""
        query = "SELECT count(*) FROM events WHERE type = ? AND instr(data, CAST(? AS BLOB)) > 0"
        return bool(self.on_disk(query, type_, f'"{member}":"{value}"'))

    # The feed of a session (ports/feed.py): what a client is told.

    def appended(self, session_id: str, events: Sequence[StoredEvent]) -> None:
        self.session_id = session_id
        if self.alive and events:
            self.require(self.on_disk("SELECT last_seq FROM meta") >= events[-1].seq, "told before durable")
            self.told += events

    def changed(self, info: SessionInfo) -> None:
        if self.alive and self.told:
            self.require(info.last_seq >= self.told[-1].seq, "a value older than the events before it")

    # What tools and models do.

    def body(self, call_id: str) -> None:
        if self.alive:
            self.bodies[call_id] += 1
            self.require(self.bodies[call_id] == 1, f"the body of {call_id} ran twice")
            self.require(self.holds("tool/start", "callId", call_id), f"{call_id} ran before its tool/start")

    def request(self, body: bytes) -> None:
        if not self.alive:
            return
        self.requests += 1
        try:
            strict(msgspec.json.decode(body)["messages"])
        except AssertionError as refused:
            self.broken.append(f"a request that a strict provider refuses: {refused}")

    def promised(self, message_id: str, text: str, accepted: Any) -> None:
        """A person's words were acknowledged."""
        if self.alive:
            self.words[message_id] = (text, accepted.outcome)
            self.require(self.holds("inbox/queued", "messageId", message_id), "acknowledged before durable")


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """What a scenario is like: weights of what the person and the model do."""

    person: Mapping[str, int]
    calls: int = 3
    fails: int = 0
    words: int = 4
    goal_ends: int = 0
    disk_fails: bool = False
    killed: bool = False


class DiceModel(ScriptedReplies):
    """Replies drawn one by one, some of them slow, some cut, some refused."""

    def __init__(self, dice: random.Random, shape: Shape, ledger: Ledger) -> None:
        super().__init__([])
        self._dice, self._shape, self._ledger = dice, shape, ledger
        self.goal: Callable[[], Any] = lambda: None

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | Finish]:
        self._ledger.request(request.body)
        slow = self._dice.choice((0.0, 0.0, 0.05, 3.0))
        for piece in self._reply():
            await asyncio.sleep(self._dice.random() * slow)
            if isinstance(piece, ModelFailed):
                raise piece
            yield piece

    def _reply(self) -> list[Any]:
        shape, dice = self._shape, self._dice
        kinds = {"words": shape.words, "calls": shape.calls, "fails": shape.fails, "goal": shape.goal_ends}
        match pick(dice, kinds):
            case "words":
                return [text("some "), text("words"), done(dice.choice(["stop"] * 9 + ["length"]))]
            case "fails":
                failure = dice.choice(
                    [
                        ModelFailed("server", "503", retryable=True),
                        ModelFailed("rate-limit", "429", retryable=True, retry_after=1.0),
                        ModelFailed("auth", "401"),
                    ]
                )
                return [text("half"), failure] if dice.random() < 0.5 else [failure]
            case "goal" if (goal := self.goal()) is not None:
                action = dice.choice(["complete", "complete", "blocked", "pause", "edit"])
                arguments = {"goal_id": goal.id, "revision": goal.revision, "action": action}
                more = {"complete": {"evidence": "seen"}, "blocked": {"key": "k", "message": "stuck"}}
                more |= {"edit": {"objective": "Another one."}}
                return [call("update_goal", arguments | more.get(action, {})), done("tool_calls")]
            case _:
                names = [dice.choice(TOOL_NAMES) for _ in range(dice.randint(1, 4))]
                asked = [call(name, {"name": str(n)}, index=n) for n, name in enumerate(names)]
                return [*asked, done("tool_calls")]


def pick(dice: random.Random, weights: Mapping[str, int]) -> str:
    return dice.choices(list(weights), weights=list(weights.values()))[0]


class Named(Arguments, frozen=True):
    """Arguments of the tools."""

    name: str = ""


class DiceTool:
    """A tool that tells the ledger that its body ran, and takes a random time unless it is `calm`."""

    description = "A tool of the proof."
    arguments = Named
    deadline_seconds = 30.0
    calm = False

    def __init__(
        self, name: str, dice: random.Random, ledger: Ledger, mode: CallMode, permit: Permit | None = None
    ) -> None:
        self.name = name
        self._dice, self._ledger = dice, ledger
        self._mode: CallMode = mode
        self._permit = permit or Allow()

    def mode(self, arguments: Named, context: ToolContext) -> CallMode:
        return self._mode

    def permit(self, arguments: Named, context: ToolContext) -> Permit:
        if not context.trusted:
            return Refuse(code="DENIED", message="not trusted")
        if isinstance(self._permit, Ask) and self._permit.remember in context.state.allowed:
            return Allow()
        return self._permit

    async def run(self, arguments: Named, context: ToolContext) -> ToolOutcome:
        self._ledger.body(context.call_id)
        self._ledger.require(context.trusted, "a body ran without trust")
        if self.calm:
            return ToolOutcome(content=f"done {arguments.name}")
        await asyncio.sleep(self._dice.choice((0.0, 0.01, 1.0, 45.0)) * self._dice.random())
        if self._dice.random() < 0.1:
            raise OSError("the tool itself failed")
        return ToolOutcome(content=f"done {arguments.name}")


TOOL_NAMES = ("look", "look", "work", "gated", "asking", "nobody")


def tools(dice: random.Random, ledger: Ledger) -> dict[str, DiceTool]:
    gated = Ask(risk="execute", title="May it?", detail="", remember="gated")
    return {
        "look": DiceTool("look", dice, ledger, "parallel"),
        "work": DiceTool("work", dice, ledger, "exclusive"),
        "gated": DiceTool("gated", dice, ledger, "exclusive", gated),
        "asking": DiceTool("asking", dice, ledger, "exclusive", Inquire(text="Which one?")),
    }


class DicePerson:
    """Answers approvals and questions: yes, no, slowly, or never."""

    reaches_a_person = True

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice

    def refusal(self, choices: tuple[str, ...]) -> str | None:
        return None

    async def _thinks(self, timeout_seconds: float) -> bool:
        """Whether an answer came in time."""
        seconds = self._dice.choice((0.0, 0.5, 10.0, 100.0)) * self._dice.random()
        await asyncio.sleep(min(seconds, timeout_seconds))
        return seconds < timeout_seconds

    async def approve(self, timeout_seconds: float) -> ApprovalAnswer:
        if not await self._thinks(timeout_seconds):
            return ApprovalAnswer(decision="deny", by="timeout")
        decision: Any = self._dice.choice(["allowOnce", "allowOnce", "allowSession", "deny"])
        return ApprovalAnswer(decision=decision, by="human")

    async def ask(self, session_id: str, asked: ev.QuestionAsked, timeout_seconds: float) -> QuestionAnswer:
        if not await self._thinks(timeout_seconds):
            return QuestionAnswer(answer=None, by="timeout")
        return QuestionAnswer(answer=self._dice.choice(["this one", None]), by="human")


class _Approvals:
    def __init__(self, person: DicePerson) -> None:
        self._person = person

    async def ask(self, session_id: str, asked: ev.ApprovalAsked, timeout_seconds: float) -> ApprovalAnswer:
        return await self._person.approve(timeout_seconds)


class JumpingClock:
    """Wall time that a person may set, over the loop's own monotonic time."""

    def __init__(self) -> None:
        self.offset_ms = 1_700_000_000_000

    def now_ms(self) -> int:
        return self.offset_ms + round(asyncio.get_running_loop().time() * 1000)

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def settings() -> Settings:
    return Settings(
        model=ModelSettings(retry_base_seconds=0.5, max_retries=2),
        loop=LoopSettings(tool_grace_seconds=0.1, max_steps_per_turn=8, max_parallel_tools=2),
        goal=GoalSettings(max_rounds=4),
        permissions=PermissionSettings(approval_timeout_seconds=APPROVAL_SECONDS),
    )


def services(seed: str, shape: Shape, ledger: Ledger) -> Services:
    """The parts of one process, each with dice of its own."""
    person = DicePerson(random.Random(f"{seed} person"))
    box: Mapping[str, Any] = tools(random.Random(f"{seed} tools"), ledger)
    return Services(
        settings=settings(),
        clock=JumpingClock(),
        models=DiceModel(random.Random(f"{seed} model"), shape, ledger),
        editor=NoEditor(),  # type: ignore[arg-type]
        approvals=_Approvals(person),
        questions=person,
        processes=ScriptedProcesses([]),
        tests=ScriptedTests([]),
        checks=NoChecks(),
        toolbox=lambda mode: box,
        policies=[unanswered, budget, steps],
        jitter=lambda: 0.0,
    )
