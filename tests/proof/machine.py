"""A session beside a plain model of it: after each thing that a person, the model or fate does, both agree.

`Plain` is written from loop.md alone and knows nothing of events. `Session` is the real thing on the
simulated machine, with a model and a person that answer only when they are told to.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from typing import Any, Literal

from msgspec.structs import replace

from steersman.domain import events as ev
from steersman.domain.messages import Delta
from steersman.domain.settings import LoopSettings
from steersman.domain.views import SessionInfo
from steersman.errors import ModelFailed, SessionLocked
from steersman.ports.approval import ApprovalAnswer
from steersman.ports.model import Finish, ModelRequest
from steersman.ports.model_double import ScriptedReplies, calls, says
from steersman.ports.question import QuestionAnswer
from steersman.sessions import requests as rq
from steersman.sessions.service import SessionService
from tests.proof.life import buried
from tests.proof.store import Disk, SimulatedStore, scratch
from tests.proof.virtual import VirtualLoop
from tests.proof.world import Ledger, Shape, services

Open = Literal["model", "approval", "question"]


class Plain:
    """What a person may expect. `told` are the messages by turn, `ends` how each turn ended."""

    def __init__(self) -> None:
        self.waits_for: Open | None = None
        self.turns = 0
        self.next_turn: list[str] = []
        self.next_step: list[str] = []
        self.held: str | None = None
        self.told: list[tuple[int, str]] = []
        self.ends: list[str] = []

    @property
    def running(self) -> bool:
        return self.waits_for is not None

    def prompt(self, message: str) -> None:
        self.next_turn.append(message)
        self.held = None
        if not self.running:
            self._start(self.next_turn.pop(0))

    def steer(self, message: str) -> None:
        if not self.running:
            self._start(message)
            return
        self.next_step.append(message)
        if self.waits_for == "question":
            self.step()

    def stop(self, *, drop: bool) -> None:
        if not self.running:
            return
        if drop:
            self.next_turn, self.next_step = [], []
        self._end("aborted", "cancelled")

    def release(self) -> None:
        if self.held is not None:
            self.held = None
            if not self.running:
                self._start(self.next_turn.pop(0))

    def remove(self, message: str) -> None:
        for queue in (self.next_turn, self.next_step):
            if message in queue:
                queue.remove(message)
        if not self.next_turn:
            self.held = None

    def calls(self, waits_for: Open) -> None:
        self.waits_for = waits_for
        if waits_for == "model":
            self.step()

    def step(self) -> None:
        """A batch is done: the next request tells what waited for it."""
        self.waits_for = "model"
        self._tell(self.next_step)
        self.next_step = []

    def words(self) -> None:
        if self.next_step:
            self.step()
            return
        self._end("completed", None)

    def fails(self) -> None:
        self._end("error", "error")

    def restart(self) -> None:
        if self.running:
            self._end("interrupted", "restart")
        elif self.next_turn and self.held is None:
            self.held = "restart"

    def _start(self, message: str) -> None:
        self.turns += 1
        self.waits_for = "model"
        self._tell([message])

    def _tell(self, messages: list[str]) -> None:
        self.told += [(self.turns, message) for message in messages]

    def _end(self, kind: str, holds: str | None) -> None:
        self.ends.append(kind)
        self.waits_for = None
        self.next_turn = self.next_step + self.next_turn
        self.next_step = []
        if not self.next_turn:
            self.held = None
            return
        if holds is not None:
            self.held = self.held or holds
        if self.held is None:
            self._start(self.next_turn.pop(0))


class Obedient(ScriptedReplies):
    """A model that says nothing until it is told what."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__([])
        self._ledger = ledger
        self.asked: asyncio.Future[Any] | None = None

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | Finish]:
        self._ledger.request(request.body)
        self.asked = asyncio.get_running_loop().create_future()
        reply = await self.asked
        for piece in reply:
            if isinstance(piece, ModelFailed):
                raise piece
            yield piece


class Silent:
    """A person who answers nothing until told. `open` is what they were asked last."""

    reaches_a_person = True

    def __init__(self) -> None:
        self.open: asyncio.Future[Any] | None = None
        self.late: list[asyncio.Future[Any]] = []

    def refusal(self, choices: tuple[str, ...]) -> str | None:
        return None

    async def ask(self, session_id: str, asked: Any, timeout_seconds: float) -> Any:
        self.open = asyncio.get_running_loop().create_future()
        self.late.append(self.open)
        return await asyncio.shield(self.open)

    def answer(self, given: Any) -> None:
        """Answer what is open; and what no longer is, once more."""
        for question in self.late:
            if not question.done():
                question.set_result(given)


class Session:
    """The real session. Every method ends when everything has come to rest."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.files = scratch()
        self.loop = VirtualLoop(0)
        self.session_id = ""
        self.words = 0
        self._begin()
        info = self.run(lambda: self.service.new(rq.NewSession()))
        self.session_id = self.ledger.session_id = info.session_id

    def _begin(self) -> None:
        self.store = SimulatedStore(self.files, Disk(0))
        self.ledger.begin(self.files)
        self.person, self.model = Silent(), Obedient(self.ledger)
        parts = services("machine", Shape(person={}), self.ledger)
        parts.models, parts.approvals, parts.questions = self.model, self.person, self.person
        parts.settings = replace(parts.settings, loop=LoopSettings(max_steps_per_turn=1000))
        for tool in parts.toolbox("agent").values():
            tool.calm = True  # type: ignore[attr-defined]
        self.services = parts
        self.service = SessionService(parts, self.store, self.ledger, "state")

    def run(self, ask: Callable[[], Any]) -> Any:
        """Ask something on the loop, wait for the answer, and let everything come to rest."""

        async def rest() -> Any:
            result = await ask()
            await asyncio.sleep(2)
            return result

        return self.loop.run_until_complete(rest())

    def rest(self) -> None:
        self.loop.run_until_complete(asyncio.sleep(60))

    def say(self, verb: str, message: str, text: str) -> None:
        params: Any = (rq.Prompt if verb == "prompt" else rq.Steer)(
            session_id=self.session_id, text=text, message_id=message
        )
        act = self.service.prompt if verb == "prompt" else self.service.steer
        accepted = self.run(lambda: act(params))
        self.ledger.promised(message, text, accepted)

    def reply(self, kind: str) -> None:
        pieces: Any = {
            "words": says("words"),
            "work": calls(("work", {}), ("look", {})),
            "gated": calls(("gated", {})),
            "asking": calls(("asking", {})),
            "fails": [ModelFailed("auth", "401")],
        }[kind]
        assert self.model.asked is not None
        self.model.asked.set_result(pieces)
        self.rest()

    def approve(self, decision: Any, by: Any = "human") -> None:
        self.person.answer(ApprovalAnswer(decision=decision, by=by))
        self.rest()

    def answer(self, words: str | None, by: Any = "human") -> None:
        self.person.answer(QuestionAnswer(answer=words, by=by))
        self.rest()

    def crash(self) -> None:
        """Die, and be opened again by another process."""
        image = self.store.image()
        self._end()
        self.files = image
        self.loop = VirtualLoop(0)
        self._begin()
        asked = self.ledger.requests
        self.run(lambda: self.service.open(rq.OpenSession(session_id=self.session_id)))
        self.rest()
        self.ledger.require(self.ledger.requests == asked, "a request without a person's word")

    def second_owner(self) -> None:
        try:
            log = self.run(lambda: self.store.open(self.session_id))
        except SessionLocked:
            return
        self.run(log.close)
        raise AssertionError("a second owner took the session")

    def info(self) -> SessionInfo:
        session = self.service._registry.find(self.session_id)
        assert session is not None
        return session.info()

    def told(self) -> list[tuple[int, str]]:
        events = [ev.from_stored(self.session_id, row) for row in self.ledger.rows()]
        return [(e.data.turn, e.data.message_id) for e in events if isinstance(e.data, ev.UserMessage)]

    def ends(self) -> list[str]:
        events = [ev.from_stored(self.session_id, row) for row in self.ledger.rows()]
        kinds = [type(e.data.reason) for e in events if isinstance(e.data, ev.TurnEnd)]
        return [_NAMES[kind] for kind in kinds]

    def close(self) -> None:
        self._end()
        shutil.rmtree(self.files, ignore_errors=True)

    def _end(self) -> None:
        self.ledger.end()
        buried(self.loop, self.service)
        self.store.drop()


_NAMES = {
    ev.Completed: "completed",
    ev.AbortedReason: "aborted",
    ev.ErrorReason: "error",
    ev.Interrupted: "interrupted",
    ev.Exit: "exit",
}
