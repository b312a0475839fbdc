"""Lives of a simulated server on one session: a person acts at random, the process may die, another opens.

One call of `story` is one case: everything in it follows from its seed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import shutil
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from steersman.domain.state import SessionState
from steersman.errors import SessionLocked, SteersmanError
from steersman.sessions import requests as rq
from steersman.sessions.service import SessionService
from tests.proof.invariants import broken_by, folded
from tests.proof.store import Disk, SimulatedStore, scratch
from tests.proof.virtual import Killed, VirtualLoop
from tests.proof.world import Broken, Ledger, Shape, pick, services

LONG: Final = 4000.0
"""Virtual seconds in which everything that moves by itself has come to rest."""
_TALK: Final = {
    "prompt": 6,
    "steer": 4,
    "stop": 2,
    "release": 2,
    "update": 1,
    "remove": 1,
    "again": 1,
    "clock": 1,
}
_GOAL: Final = {
    "create": 4,
    "pause": 1,
    "resume": 3,
    "edit": 1,
    "clear": 1,
    "prompt": 2,
    "steer": 2,
    "stop": 2,
}
SHAPES: Final[Mapping[str, Shape]] = {
    "words": Shape(person=_TALK, calls=1),
    "stops": Shape(person=_TALK | {"stop": 6, "drop": 2}),
    "tools": Shape(person=_TALK, calls=8),
    "failures": Shape(person=_TALK, fails=4),
    "goals": Shape(person=_GOAL | _TALK, goal_ends=3),
    "trust": Shape(person=_TALK | _GOAL | {"trust": 4}, calls=5, goal_ends=2),
    "full disk": Shape(person=_TALK, disk_fails=True, fails=1),
    "kills": Shape(person=_TALK | {"other owner": 2}, calls=5, fails=1, killed=True),
}


class Story:
    """One session through one or more lives of its server. `files` is where it lives now."""

    def __init__(self, seed: str, shape: Shape) -> None:
        self.seed, self.shape = seed, shape
        self.dice = random.Random(seed)
        self.ledger = Ledger()
        self.files = scratch()
        self.session_id = ""
        self.lives = 0
        self.number = 0
        self.steps = 0

    def live(self, actions: int, die_at: int | None = None) -> bool:
        """One life of the server. Returns whether it died; then `files` are what it left."""
        self.lives += 1
        name = f"{self.seed} life {self.lives}"
        loop = VirtualLoop(random.Random(name).randrange(1 << 30), die_at)
        fails_at = self.dice.randrange(3, 60) if self.shape.disk_fails and self.lives == 1 else None
        store = SimulatedStore(self.files, Disk(hash_of(name), fails_at))
        self.ledger.begin(self.files)
        process = Process(self, name, store)
        died = False
        try:
            loop.run_until_complete(process.run(actions))
        except Killed:
            died = True
        finally:
            image = store.image()
            self.steps = loop.steps
            self.ledger.end()
            buried(loop, process.service)
            store.drop()
            self.files = image
        return died

    def close(self) -> None:
        shutil.rmtree(self.files, ignore_errors=True)

    def raise_if_broken(self) -> None:
        if self.ledger.broken:
            raise Broken("; ".join(dict.fromkeys(self.ledger.broken)))


def buried(loop: VirtualLoop, service: SessionService) -> None:
    """End what is left of a process. What its clean-up does happens where nobody sees it."""
    loop.die_at = None
    loop.set_exception_handler(lambda loop, context: None)
    silenced = logging.root.manager.disable
    logging.disable()
    try:
        with contextlib.suppress(RuntimeError):  # the end of the life may still want to stop the loop
            loop.run_until_complete(asyncio.sleep(0))
        for _ in range(9):
            if asyncio.all_tasks(loop):
                loop.run_until_complete(_ended(service))
        loop.run_until_complete(loop.shutdown_asyncgens())
        assert not asyncio.all_tasks(loop), "a task cannot be ended"
    finally:
        loop.close()
        logging.disable(silenced)


async def _ended(service: SessionService) -> None:
    for session in service._registry.sessions():
        session.driver.stop()
        session.agent.kill()
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=30)


def hash_of(text: str) -> int:
    return random.Random(text).randrange(1 << 30)


class Process:
    """One process: a service on the files, and a person in front of it."""

    def __init__(self, story: Story, name: str, store: SimulatedStore) -> None:
        self.story, self.store = story, store
        self.ledger, self.shape = story.ledger, story.shape
        self.dice = random.Random(f"{name} acts")
        self.services = services(name, story.shape, story.ledger)
        self.service = SessionService(self.services, store, story.ledger, "state")
        self.states: dict[int, SessionState] = {}
        self.answers: list[asyncio.Future[Any]] = []
        self._texts: dict[str, tuple[str, str]] = {}

    async def run(self, actions: int) -> None:
        await self._open()
        for _ in range(actions):
            await asyncio.sleep(self.dice.choice((0.0, 0.0, 0.01, 1.0, 20.0)) * self.dice.random())
            self._act(pick(self.dice, self.shape.person))
        await asyncio.sleep(LONG)
        await self._judge()
        await self.service.stop()

    async def _open(self) -> None:
        story = self.story
        if not story.session_id:
            info = await self.service.new(rq.NewSession())
            story.session_id = self.ledger.session_id = info.session_id
        else:
            await self._reopen()
        session = self.session
        journal, after = session.journal, session.journal.committed

        def committed() -> None:
            self.states[journal.state.last_seq] = journal.state
            after()

        journal.committed = committed
        self.services.models.goal = lambda: session.state.goal  # type: ignore[attr-defined]

    async def _reopen(self) -> None:
        """5: what was committed is there, nothing runs, nothing is asked; 6: the goal does not move."""
        before = self.ledger.rows()
        asked, ran = self.ledger.requests, self.ledger.bodies.total()
        info = await self.service.open(rq.OpenSession(session_id=self.story.session_id))
        await asyncio.sleep(self.dice.choice((0.0, LONG)))
        rows = self.ledger.rows()
        require = self.ledger.require
        require(rows[: len(before)] == before, "a committed event is missing after the restart")
        require(info.state == "idle" and info.turn in (None, self.session.state.turns), "it moves by itself")
        require(self.ledger.requests == asked, "a request was made without a person's word")
        require(self.ledger.bodies.total() == ran, "a body ran without a person's word")
        waits = bool(info.queue.next_turn)
        require(waits == (info.queue.held is not None), "the queue is parked silently after the restart")
        require(
            info.goal is None or info.goal.activation == "disarmed", "the goal is armed after the restart"
        )

    @property
    def session(self) -> Any:
        session = self.service._registry.find(self.story.session_id)
        assert session is not None
        return session

    def _act(self, what: str) -> None:
        sid = self.story.session_id
        self.ledger.counts[what] += 1
        match what:
            case "prompt" | "steer":
                self._say(what, f"m{self._next()}")
            case "again" if self._texts:
                message_id = self.dice.choice(list(self._texts))
                self._say(self._texts[message_id][0], message_id)
            case "stop" | "drop":
                queue: Any = "drop" if what == "drop" else "keep"
                self._ask(self.service.cancel(rq.CancelTurn(session_id=sid, queue=queue)))
            case "release":
                self._ask(self.service.release_queue(rq.SessionOnly(session_id=sid)))
            case "update" if self.story.number:
                self._update(f"m{self.dice.randint(1, self.story.number)}")
            case "remove" if self.story.number:
                params = rq.RemoveMessage(
                    session_id=sid, message_id=f"m{self.dice.randint(1, self.story.number)}"
                )
                self._ask(self.service.remove_message(params))
            case "clock":
                self.services.clock.offset_ms += self.dice.choice((-3_600_000, -1, 86_400_000))  # type: ignore[attr-defined]
            case "trust":
                self.service.trust(rq.Trust(trusted=self.dice.random() < 0.6))
            case "other owner":
                self._ask(asyncio.ensure_future(self._other_owner()))
            case "create" | "pause" | "resume" | "edit" | "clear":
                self._steer_goal(what)

    def _next(self) -> int:
        self.story.number += 1
        return self.story.number

    def _say(self, verb: str, message_id: str) -> None:
        text = f"words of {message_id}"
        params: Any = (rq.Prompt if verb == "prompt" else rq.Steer)(
            session_id=self.story.session_id, text=text, message_id=message_id
        )
        self._texts[message_id] = (verb, text)
        future = (self.service.prompt if verb == "prompt" else self.service.steer)(params)
        future.add_done_callback(lambda done: self._promised(message_id, text, done))
        self._ask(future)

    def _promised(self, message_id: str, text: str, done: asyncio.Future[Any]) -> None:
        if not done.cancelled() and done.exception() is None:
            self.ledger.promised(message_id, text, done.result())

    def _update(self, message_id: str) -> None:
        """A message that waits gets the same words once more: an edit that the books need not follow."""
        params = rq.UpdateMessage(
            session_id=self.story.session_id, message_id=message_id, text=f"words of {message_id}"
        )
        self._ask(self.service.update_message(params))

    def _steer_goal(self, what: str) -> None:
        sid, service = self.story.session_id, self.service
        if what == "create":
            self._ask(service.create_goal(rq.CreateGoal(session_id=sid, objective="Make it work.")))
            return
        goal = self.session.state.goal
        if goal is None:
            return
        ref = msgspec.structs.replace(goal.ref, revision=goal.revision - self.dice.choice((0, 0, 0, 1)))
        match what:
            case "pause":
                self._ask(service.pause_goal(rq.GoalAt(session_id=sid, ref=ref)))
            case "resume":
                self._ask(service.resume_goal(rq.GoalAt(session_id=sid, ref=ref)))
            case "edit":
                self._ask(service.edit_goal(rq.EditGoal(session_id=sid, ref=ref, objective="Otherwise.")))
            case "clear":
                self._ask(service.clear_goal(rq.GoalAt(session_id=sid, ref=ref)))

    async def _other_owner(self) -> None:
        """Another server may not have the session while this one lives."""
        try:
            log = await self.store.open(self.story.session_id)
        except SessionLocked:
            return
        await log.close()
        self.ledger.require(False, "a second owner took the session")

    def _ask(self, future: asyncio.Future[Any]) -> None:
        """Nobody need wait for an answer; refusals are answers, anything else is a defect."""

        def seen(done: asyncio.Future[Any]) -> None:
            if done.cancelled():
                return
            error = done.exception()
            if error is not None and not isinstance(error, SteersmanError):
                self.ledger.require(False, f"an answer was {error!r}")

        self.answers.append(future)
        future.add_done_callback(seen)

    async def _judge(self) -> None:
        """At rest: everything holds, everybody was answered, and nothing moves any more."""
        ledger, session = self.ledger, self.session
        suspended = session.journal.suspended is not None
        rows = self.ledger.rows()
        story = self.story
        ledger.require(all(f.done() for f in self.answers), "somebody was never answered")
        ledger.require(session.agent.phase == "idle", "it is not idle at rest")
        told = [row.seq for row in ledger.told]
        ledger.require(told == sorted(set(told)), "an event was told twice or out of order")
        if not suspended:
            ledger.broken += broken_by(story.session_id, rows, ledger.words, ledger.bodies)
            ledger.require(
                ledger.told == rows[len(rows) - len(told) :], "what was told is not what is stored"
            )
            people = session.state.inbox.people_wait
            ledger.require(not people or session.state.inbox.held, "people's messages are parked silently")
        ledger.broken += folded(story.session_id, rows, self.states, session.state)
        asked = ledger.requests
        await asyncio.sleep(LONG)
        ledger.require(ledger.requests == asked, "idle, and a request was made")
        ledger.counts["events"] += len(rows)


def story(case: str, shape: Shape) -> Counter[str]:
    """Play one case to its end. Raises Broken with every promise that did not hold."""
    played = Story(case, shape)
    try:
        dice = random.Random(f"{case} course")
        for _ in range(dice.randint(1, 3) if shape.killed or shape.disk_fails else 1):
            die_at = dice.randrange(30, 900) if shape.killed else None
            played.live(dice.randint(3, 14), die_at)
        if played.session_id and (shape.killed or shape.disk_fails):
            played.live(2)
        played.raise_if_broken()
        return played.ledger.counts + Counter(lives=played.lives, requests=played.ledger.requests)
    finally:
        played.close()
