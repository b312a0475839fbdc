"""What a person, the model and fate may do to a session and to its plain model (machine.py), in any order."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
)

from steersman.sessions import requests as rq
from tests.proof.invariants import broken_by
from tests.proof.machine import Plain, Session
from tests.proof.sequences import sequences


class SessionMachine(RuleBasedStateMachine):
    """Each rule does the same to both; the invariant compares them."""

    def __init__(self) -> None:
        super().__init__()
        self.plain = Plain()
        self.real = Session()
        self.said: dict[str, tuple[str, str]] = {}

    @rule(verb=st.sampled_from(["prompt", "prompt", "steer"]))
    def speak(self, verb: str) -> None:
        message = f"m{len(self.said) + 1}"
        self.said[message] = (verb, f"words of {message}")
        self.real.say(verb, message, f"words of {message}")
        self.plain.prompt(message) if verb == "prompt" else self.plain.steer(message)

    @precondition(lambda self: self.said)
    @rule(data=st.data())
    def say_again(self, data: st.DataObject) -> None:
        """The same id again: the first answer, and nothing else."""
        message = data.draw(st.sampled_from(sorted(self.said)))
        first = self.real.ledger.words[message]
        self.real.say(*self._again(message))
        assert self.real.ledger.words[message] == first

    def _again(self, message: str) -> tuple[str, str, str]:
        verb, text = self.said[message]
        return verb, message, text

    @rule(drop=st.booleans())
    def stop(self, drop: bool) -> None:
        queue: Any = "drop" if drop else "keep"
        cancelled = self.real.run(
            lambda: self.real.service.cancel(rq.CancelTurn(session_id=self.real.session_id, queue=queue))
        )
        assert cancelled.cancelled == self.plain.running
        self.plain.stop(drop=drop)

    @rule()
    def release(self) -> None:
        params = rq.SessionOnly(session_id=self.real.session_id)
        self.real.run(lambda: self.real.service.release_queue(params))
        self.plain.release()

    @precondition(lambda self: self.plain.next_turn or self.plain.next_step)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        message = data.draw(st.sampled_from([*self.plain.next_turn, *self.plain.next_step]))
        params = rq.RemoveMessage(session_id=self.real.session_id, message_id=message)
        assert self.real.run(lambda: self.real.service.remove_message(params)).removed
        self.plain.remove(message)

    @precondition(lambda self: self.plain.waits_for == "model")
    @rule(kind=st.sampled_from(["words", "words", "work", "gated", "asking", "fails"]))
    def model_replies(self, kind: str) -> None:
        self.real.reply(kind)
        match kind:
            case "words":
                self.plain.words()
            case "fails":
                self.plain.fails()
            case "work":
                self.plain.calls("model")
            case "gated":
                self.plain.calls("approval")
            case _:
                self.plain.calls("question")

    @precondition(lambda self: self.plain.waits_for == "approval")
    @rule(decision=st.sampled_from(["allowOnce", "deny", "timeout"]))
    def decide(self, decision: str) -> None:
        self.real.approve(
            "deny" if decision == "timeout" else decision, "timeout" if decision == "timeout" else "human"
        )
        self.plain.step()

    @precondition(lambda self: self.plain.waits_for == "question")
    @rule(words=st.sampled_from(["this one", None]))
    def answer(self, words: str | None) -> None:
        self.real.answer(words)
        self.plain.step()

    @precondition(lambda self: self.plain.waits_for not in ("approval", "question"))
    @rule()
    def answer_late_or_twice(self) -> None:
        """An answer that nobody waits for changes nothing."""
        self.real.approve("allowOnce")

    @rule()
    def crash_and_restart(self) -> None:
        self.real.crash()
        self.plain.restart()

    @rule()
    def second_owner(self) -> None:
        self.real.second_owner()

    @rule(milliseconds=st.integers(-(10**9), 10**9))
    def clock_jumps(self, milliseconds: int) -> None:
        self.real.services.clock.offset_ms += milliseconds  # type: ignore[attr-defined]

    @invariant()
    def both_agree(self) -> None:
        real, plain = self.real.info(), self.plain
        assert (real.state == "running") == plain.running
        assert [m.message_id for m in real.queue.next_turn] == plain.next_turn
        assert [m.message_id for m in real.queue.next_step] == plain.next_step
        assert real.queue.held == plain.held
        assert real.waiting_on == plain.waits_for
        assert self.real.told() == plain.told
        assert self.real.ends() == plain.ends
        assert self.real.ledger.broken == []

    def teardown(self) -> None:
        try:
            if self.plain.running:
                self.real.crash()
            ledger = self.real.ledger
            assert broken_by(self.real.session_id, ledger.rows(), ledger.words, ledger.bodies) == []
        finally:
            self.real.close()


def machine_case(number: int) -> Counter[str]:
    return sequences(SessionMachine, number)
