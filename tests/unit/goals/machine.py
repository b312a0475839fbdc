"""A person, a model, the driver, crashes and restarts in any order, against the plain goal of the design."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from steersman.domain import events as ev
from steersman.domain.goal import GoalRef
from steersman.domain.messages import Human
from steersman.errors import (
    GoalExists,
    GoalNotFound,
    GoalStale,
    GoalTransition,
    ModelFailed,
)
from steersman.goals.decisions import Wishes
from steersman.ports.model_double import calls, says
from tests.unit.goals.plain_goal import PlainGoal
from tests.unit.goals.world import World

REFUSALS = {
    "exists": GoalExists,
    "no goal": GoalNotFound,
    "transition": GoalTransition,
}
ROUNDS = st.integers(1, 5)
Verb = Callable[[GoalRef | None], Any]


class GoalMachine(RuleBasedStateMachine):
    """After each act the session is at rest or its model is asked; then both must show the same."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.world = World()
        self.plain = PlainGoal()
        self.words = 0
        self.noted: GoalRef | None = None

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(work)

    @initialize()
    def begin(self) -> None:
        self.run(self.world.begin())

    def compare(self) -> None:
        state, goal = self.world.state, self.world.goal
        shown = None
        if goal is not None:
            shown = (goal.revision, goal.objective, goal.phase, goal.max_rounds, goal.rounds_started)
        found = {
            "goal": shown,
            "armed": self.world.session.goals.armed,
            "turn": state.turn.trigger if state.turn else None,
            "queue": sum(m.is_human for m in state.inbox.next_turn),
            "held": state.inbox.held is not None,
            "requests": self.world.requests,
        }
        assert found == self.plain.seen()
        view = self.world.session.goals.view()
        assert view is None or (view.activation == "armed") == self.plain.is_armed
        assert view is None or (view.disarmed_by is None) == self.plain.is_armed

    def text(self) -> str:
        self.words += 1
        return f"words {self.words}"

    def act(self, verb: Callable[[], Any], expected: str | None = None) -> None:
        refused = self.run(self.world.tried(verb))
        if expected is None:
            assert refused is None, repr(refused)
        else:
            assert isinstance(refused, REFUSALS[expected]), (expected, repr(refused))
        self.compare()

    # A person

    @rule()
    def prompts(self) -> None:
        self.plain.prompt()
        agent = self.world.session.agent
        self.act(lambda: agent.prompt(self.world.words(self.text())))

    @rule()
    def steers(self) -> None:
        self.plain.steer()
        agent = self.world.session.agent
        self.act(lambda: agent.steer(self.world.words(self.text())))

    @rule()
    def releases(self) -> None:
        self.plain.release()
        self.act(self.world.session.agent.release)

    @rule()
    def stops(self) -> None:
        self.plain.stop()
        goals, agent = self.world.session.goals, self.world.session.agent

        async def stop() -> None:
            if goals.between_rounds:
                goals.stop_between_rounds()
            else:
                await agent.cancel(drop=False, expected_turn=None)

        self.act(lambda: self.loop.create_task(stop()))

    @rule(rounds=ROUNDS)
    def creates(self, rounds: int) -> None:
        text = self.text()
        expected = self.plain.create(text, rounds)
        wishes = Wishes(objective=text, max_rounds=rounds)
        self.act(lambda: self.world.session.goals.create(wishes, "human"), expected)

    @rule(what=st.sampled_from(["objective", "rounds", "both"]), rounds=ROUNDS)
    def edits(self, what: str, rounds: int) -> None:
        text = self.text() if what != "rounds" else None
        limit = rounds if what != "objective" else None
        expected = self.plain.edit(text, limit)
        wishes = Wishes(objective=text, max_rounds=limit)
        self.act(lambda: self.world.session.goals.edit(None, wishes, "human"), expected)

    @rule(verb=st.sampled_from(["pause", "resume", "resume", "accept", "clear"]))
    def changes(self, verb: str) -> None:
        goals = self.world.session.goals
        expected = getattr(self.plain, verb)()
        verbs: dict[str, Callable[[], Any]] = {
            "pause": lambda: goals.pause(None, "human"),
            "resume": lambda: goals.resume(None, "human"),
            "accept": lambda: goals.accept(None),
            "clear": lambda: goals.clear(None, "human"),
        }
        self.act(verbs[verb], expected)

    # Somebody else on the same connection, who acts on what they saw some time ago

    @rule()
    def notes_the_ref(self) -> None:
        self.noted = self.world.goal.ref if self.world.goal is not None else None

    @precondition(
        lambda self: self.noted is not None and (self.world.goal is None or self.world.goal.ref != self.noted)
    )
    @rule(verb=st.sampled_from(["edit", "pause", "resume", "accept", "clear"]))
    def acts_on_an_old_ref(self, verb: str) -> None:
        goals, noted = self.world.session.goals, self.noted
        verbs: dict[str, Verb] = {
            "edit": lambda ref: goals.edit(ref, Wishes(objective="stale"), "human"),
            "pause": lambda ref: goals.pause(ref, "human"),
            "resume": lambda ref: goals.resume(ref, "human"),
            "accept": goals.accept,
            "clear": lambda ref: goals.clear(ref, "human"),
        }
        refused = self.run(self.world.tried(lambda: verbs[verb](noted)))
        assert isinstance(refused, GoalNotFound if self.world.goal is None else GoalStale)
        self.compare()

    # The model, where it is asked

    def answer(self, pieces: Any) -> None:
        self.world.model.answer(pieces)
        self.run(self.world.settle())
        self.compare()

    def update(self, action: str, **more: Any) -> Any:
        goal = self.world.goal
        ref = {"goal_id": goal.id, "revision": goal.revision} if goal else {"goal_id": "g-0", "revision": 1}
        return calls(("update_goal", {**ref, "action": action, **more}))

    asked = precondition(lambda self: self.plain.turn is not None)

    @asked
    @rule()
    def model_says(self) -> None:
        self.plain.says()
        self.answer(says("so far"))

    @asked
    @rule(name=st.sampled_from(["a", "b", "c", "d"]))
    def model_works(self, name: str) -> None:
        self.plain.works(name)
        self.answer(calls(("work", {"name": name})))

    @asked
    @rule()
    def model_completes(self) -> None:
        pieces = self.update("complete", evidence="seen")
        self.plain.completes()
        self.answer(pieces)

    @asked
    @rule(key=st.sampled_from(["no key", "NO-KEY 2", "other"]))
    def model_is_blocked(self, key: str) -> None:
        folded = {"no key": "nokey", "NO-KEY 2": "no-key", "other": "other"}[key]
        pieces = self.update("blocked", key=key, message="it does not go on")
        self.plain.is_blocked(folded)
        self.answer(pieces)

    @asked
    @rule(action=st.sampled_from(["edit", "pause", "resume"]))
    def model_changes(self, action: str) -> None:
        text = self.text()
        pieces = self.update(action, **({"objective": text} if action == "edit" else {}))
        self.plain.model_changes(action, text)
        self.answer(pieces)

    @asked
    @rule()
    def model_creates(self) -> None:
        text = self.text()
        self.plain.model_creates(text, 256)
        self.answer(calls(("create_goal", {"objective": text})))

    @asked
    @rule()
    def model_fails(self) -> None:
        self.plain.fails()
        self.answer([ModelFailed("auth", "bad key")])

    # The world

    @rule(seconds=st.sampled_from([0.5, 60.0, 86_400.0]))
    def time_passes(self, seconds: float) -> None:
        self.world.clock.advance(seconds)
        self.run(self.world.settle())
        self.compare()

    @rule()
    def crashes(self) -> None:
        self.plain.crash()
        self.run(self.world.crash_and_restart())
        self.compare()

    def teardown(self) -> None:
        try:
            if hasattr(self.world, "session"):
                log = self.run(self.world.log())
                self.run(self.world.end())
                look_at(log)
        finally:
            self.loop.close()


def look_at(log: list[ev.Event]) -> None:
    """What the log itself must show, whatever the plain goal thinks: each round was due."""
    rounds: dict[str, int] = {}
    goal: Any = None
    waits: set[str] = set()
    may_move = False
    for event in log:
        match event.data:
            case ev.SessionOpened():
                may_move = False
            case ev.GoalChanged(operation=operation, goal=changed):
                goal = changed
                may_move = may_move or operation in ("create", "resume")
            case ev.InboxQueued(source=Human(), message_id=message_id):
                waits.add(message_id)
            case ev.InboxClaimed(message_ids=told):
                waits -= set(told)
            case ev.InboxRemoved(message_id=message_id):
                waits.discard(message_id)
            case ev.GoalRound(status="admitted", goal_id=goal_id, revision=revision, round=number):
                assert number == rounds.get(goal_id, 0) + 1, "rounds have a gap"
                rounds[goal_id] = number
                assert goal is not None
                assert (goal.id, goal.revision, goal.phase) == (goal_id, revision, "active")
                assert number <= goal.max_rounds
                assert may_move, "a restart armed the goal"
                assert not waits, "a person waited"
