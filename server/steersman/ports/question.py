"""Putting a question of the model to a person. Only a person's own words are an answer."""

from __future__ import annotations

import asyncio
from typing import Literal, Protocol

import msgspec

from steersman.domain.events import QuestionAsked


class QuestionAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What came back. `answer` is None where the person closed the question (`human`) or nobody answered.

    `problem` says why nobody did, where that is known.
    """

    answer: str | None
    by: Literal["human", "timeout"]
    problem: str | None = None


class QuestionPort(Protocol):
    @property
    def reaches_a_person(self) -> bool:
        """Whether a question with choices can be put to a person at all."""
        ...

    def refusal(self, choices: tuple[str, ...]) -> str | None:
        """Why a person cannot be asked like this here, told to the model; None if they can."""
        ...

    async def ask(self, session_id: str, asked: QuestionAsked, timeout_seconds: float) -> QuestionAnswer:
        """Ask and wait. Cancelling the task withdraws the question; a late answer is ignored."""
        ...


class ScriptedQuestions:
    """The test double: answers from a list, then never. `asked` keeps what it was asked."""

    def __init__(self, answers: list[QuestionAnswer] | None = None, refuses: str | None = None) -> None:
        self.answers = list(answers or [])
        self.refuses = refuses
        self.asked: list[QuestionAsked] = []
        self.withdrawn = 0
        self.reaches_a_person = True

    def refusal(self, choices: tuple[str, ...]) -> str | None:
        return self.refuses

    async def ask(self, session_id: str, asked: QuestionAsked, timeout_seconds: float) -> QuestionAnswer:
        self.asked.append(asked)
        if self.answers:
            return self.answers.pop(0)
        try:
            await asyncio.Event().wait()
        finally:
            self.withdrawn += 1
        raise AssertionError("it waits until it is cancelled")
