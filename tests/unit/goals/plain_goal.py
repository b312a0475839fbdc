"""A goal as the design describes it, in the plainest words: the yardstick of the property tests.

Written from the design and not from the code. It knows phases, activation, turns, the queue and the counts;
it knows nothing of logs, commits or tasks.
"""

from __future__ import annotations

from dataclasses import dataclass, field

THRESHOLD = 3


@dataclass
class PlainTurn:
    """A turn in which a model is being asked. `revision` is that of its round."""

    kind: str
    goal: int = 0
    revision: int = 0
    round: int = 0
    person_shown: bool = False
    progressed: bool = False
    steers: int = 0


@dataclass
class PlainGoal:
    """One session. `None` as an answer of a verb means that it was done, a word why it was refused."""

    number: int = 0
    exists: bool = False
    revision: int = 0
    objective: str = ""
    phase: str = ""
    max_rounds: int = 0
    rounds: int = 0
    asked_since: int = 0
    changed_by: str = ""
    armed: bool = False
    turn: PlainTurn | None = None
    queue: int = 0
    held: bool = False
    asked: int = 0
    idle: int = 0
    failing: int = 0
    blockers: dict[str, tuple[int, int]] = field(default_factory=dict)
    known_calls: set[str] = field(default_factory=set)

    # What can be seen from outside.

    def seen(self) -> dict[str, object]:
        goal = (self.revision, self.objective, self.phase, self.max_rounds, self.rounds)
        return {
            "goal": goal if self.exists else None,
            "armed": self.is_armed,
            "turn": self.turn.kind if self.turn else None,
            "queue": self.queue,
            "held": self.held,
            "requests": self.asked,
        }

    @property
    def is_armed(self) -> bool:
        return self.exists and self.armed and self.phase == "active"

    # People's words.

    def prompt(self) -> None:
        self.queue += 1
        self.held = False
        if self.turn is None:
            self._start_next()

    def steer(self) -> None:
        if self.turn is not None:
            self.turn.steers += 1
        else:
            self._open_human()

    def release(self) -> None:
        if self.held:
            self._let_go()

    def stop(self) -> None:
        if self.turn is not None:
            ended = self._close_turn()
            self.held = self.queue > 0
            if self._is_active():
                self.armed = False
                if ended.kind == "goal":
                    self._change("paused", "driver")
        elif self.is_armed:
            self._change("paused", "human")
        self._go_on()

    # The goal's verbs, by a person or – with the authority of the turn – by the model.

    def create(self, objective: str, max_rounds: int, by: str = "human") -> str | None:
        if by == "model" and (self.turn is None or self.turn.kind != "human"):
            return "authority"
        if self.exists and self.phase != "complete":
            return "exists"
        self.number += 1
        self.exists, self.revision, self.objective, self.phase = True, 1, objective, "active"
        self.max_rounds, self.rounds, self.asked_since, self.changed_by = max_rounds, 0, 1, by
        self.idle = self.failing = 0
        self.blockers, self.known_calls = {}, set()
        self.armed = True
        if self.turn is not None:
            self.turn.progressed = False
        self._let_go()
        return None

    def edit(self, objective: str | None, max_rounds: int | None, by: str = "human") -> str | None:
        if (no := self._refusal(by, {"active", "paused", "blocked"})) is not None:
            return no
        self.objective = objective or self.objective
        self.max_rounds = max_rounds or self.max_rounds
        self._change(self.phase, by, asks=objective is not None)
        self.idle, self.blockers = 0, {}
        self._go_on()
        return None

    def pause(self, by: str = "human") -> str | None:
        if (no := self._refusal(by, {"active"})) is not None:
            return no
        self._change("paused", by)
        return None

    def resume(self, by: str = "human") -> str | None:
        if (no := self._refusal(by, {"active", "paused", "blocked"})) is not None:
            return no
        if self.is_armed or self.rounds >= self.max_rounds:
            return "transition"
        self._change("active", by)
        self.armed = True
        self.idle, self.blockers = 0, {}
        self._let_go()
        return None

    def accept(self) -> str | None:
        if (no := self._refusal("human", {"active", "paused", "blocked"})) is not None:
            return no
        self._change("complete", "human")
        return None

    def clear(self) -> str | None:
        if not self.exists:
            return "no goal"
        self.exists, self.armed = False, False
        self.idle = self.failing = 0
        self.blockers = {}
        return None

    # What the model answers.

    def says(self) -> None:
        turn = self._asked_turn()
        if self._is_withdrawn(turn):
            self._end("exit")
        elif turn.steers:
            self._next_step()
        else:
            self._end("completed")

    def works(self, name: str) -> None:
        turn = self._asked_turn()
        if turn.kind == "goal" and name not in self.known_calls:
            self.known_calls.add(name)
            turn.progressed = True
        self._after_calls()

    def completes(self) -> str | None:
        refused = self._may_end() or self._refusal("model", {"active", "paused", "blocked"}, shown=True)
        if refused is None:
            self._change("complete", "model")
        self._after_calls()
        return refused

    def is_blocked(self, key: str) -> str | None:
        turn = self._asked_turn()
        refused = self._may_end()
        if refused is None and turn.kind == "goal":
            last, count = self.blockers.get(key, (0, 0))
            count = count if last == turn.round else count + 1
            self.blockers[key] = (turn.round, count)
            refused = "threshold" if count < THRESHOLD else None
        if refused is None:
            refused = self._refusal("model", {"active"}, shown=True)
        if refused is None:
            self._change("blocked", "model")
        self._after_calls()
        return refused

    def model_changes(self, action: str, objective: str) -> str | None:
        verbs = {"pause": self.pause, "resume": self.resume}
        refused = self.edit(objective, None, "model") if action == "edit" else verbs[action]("model")
        self._after_calls()
        return refused

    def model_creates(self, objective: str, max_rounds: int) -> str | None:
        refused = self.create(objective, max_rounds, "model")
        self._after_calls()
        return refused

    def fails(self) -> None:
        self._end("error")

    def crash(self) -> None:
        self.armed = False
        if self.turn is not None:
            self._close_turn()
        self.held = self.queue > 0

    # How one thing follows from another.

    def _refusal(self, by: str, phases: set[str], *, shown: bool = False) -> str | None:
        person = self.turn is not None and self.turn.person_shown
        if by == "model" and not shown and not (self.exists and person):
            return "authority"
        if not self.exists:
            return "no goal"
        return None if self.phase in phases else "transition"

    def _may_end(self) -> str | None:
        turn = self._asked_turn()
        if not self.exists:
            return "no goal"
        own = turn.kind == "goal" and turn.goal == self.number and turn.revision >= self.asked_since
        return None if turn.person_shown or own else "authority"

    def _change(self, phase: str, by: str, *, asks: bool = True) -> None:
        self.revision += 1
        self.phase, self.changed_by = phase, by
        if asks:
            self.asked_since = self.revision
        if phase != "active":
            self.armed = False

    def _is_active(self) -> bool:
        return self.exists and self.phase == "active"

    def _asked_turn(self) -> PlainTurn:
        assert self.turn is not None
        return self.turn

    def _is_withdrawn(self, turn: PlainTurn) -> bool:
        if turn.kind != "goal":
            return False
        if not self.exists or turn.goal != self.number:
            return True
        return self.phase != "active" and self.changed_by != "model"

    def _after_calls(self) -> None:
        if self._is_withdrawn(self._asked_turn()):
            self._end("exit")
        else:
            self._next_step()

    def _next_step(self) -> None:
        turn = self._asked_turn()
        if turn.steers:
            turn.steers = 0
            turn.person_shown = True
            self._person_spoke()
        self.asked += 1

    def _person_spoke(self) -> None:
        self.idle, self.blockers = 0, {}

    def _close_turn(self) -> PlainTurn:
        turn = self._asked_turn()
        self.turn = None
        self.queue += turn.steers
        return turn

    def _end(self, how: str) -> None:
        turn = self._close_turn()
        if turn.kind == "goal":
            self.idle = 0 if turn.progressed else self.idle + 1
            self.failing = {"completed": 0, "error": self.failing + 1}.get(how, self.failing)
            self.blockers = {key: b for key, b in self.blockers.items() if b[0] == turn.round}
        if how == "error" and turn.kind == "human" and self.queue:
            self.held = True
        if self.queue and not self.held:
            self._start_next()
        if self._is_active():
            if how == "error":
                self.armed = False
                if turn.kind == "goal" and self.failing >= THRESHOLD:
                    self._change("blocked", "driver")
            elif how == "completed" and turn.kind == "goal" and self.idle >= THRESHOLD:
                self._change("blocked", "driver")
        self._go_on()

    def _let_go(self) -> None:
        self.held = False
        if self.turn is None and self.queue:
            self._start_next()
        self._go_on()

    def _start_next(self) -> None:
        self.queue -= 1
        self._open_human()

    def _open_human(self) -> None:
        self.turn = PlainTurn("human", person_shown=True)
        self.asked += 1
        self._person_spoke()

    def _go_on(self) -> None:
        """The driver: only when nothing runs, nobody waits, and the goal is active and armed."""
        if self.turn is not None or not self.is_armed or self.queue:
            return
        if self.rounds >= self.max_rounds:
            self._change("blocked", "driver")
            return
        self.rounds += 1
        self.turn = PlainTurn("goal", goal=self.number, revision=self.revision, round=self.rounds)
        self.asked += 1
