"""The question port over the client: its own question request, else a standard message with the choices.

Silence, errors and answers that make no sense are no answer.
"""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec
from lsprotocol import types

from steersman.domain.events import QuestionAsked
from steersman.domain.value import clean_text
from steersman.lsp.abilities import ClientAbilities
from steersman.lsp.channel import ClientChannel
from steersman.lsp.client_messages import QUESTION, WITHDRAWN, QuestionRequest
from steersman.ports.question import QuestionAnswer

NO_FREE_TEXT: Final = (
    "This editor can only offer choices, not take a free answer. Ask again with choices, or end your turn "
    "with the question."
)


class LspQuestions:
    """Implements `ports.question.QuestionPort` for the connected client."""

    def __init__(self, channel: ClientChannel, abilities: ClientAbilities) -> None:
        self._channel = channel
        self._abilities = abilities

    @property
    def reaches_a_person(self) -> bool:
        """Every editor is to show messages with buttons, so silence about them is no refusal – but from a
        client that lists what it answers, it is one."""
        abilities = self._abilities
        return self._offers_questions or abilities.messages or not abilities.speaks_extension

    def refusal(self, choices: tuple[str, ...]) -> str | None:
        return None if choices or self._offers_questions else NO_FREE_TEXT

    async def ask(self, session_id: str, asked: QuestionAsked, timeout_seconds: float) -> QuestionAnswer:
        """As the port says. An editor that cannot ask answers with an error, which is told at once."""
        try:
            if self._offers_questions:
                return await self._request(session_id, asked, timeout_seconds)
            return await self._message(asked, timeout_seconds)
        except asyncio.CancelledError:
            self._withdraw(asked)
            raise
        except TimeoutError:
            self._withdraw(asked)
            return _nobody(f"not within {timeout_seconds:g} s")
        except Exception as error:
            return _nobody(f"the editor could not ask: {error}")

    @property
    def _offers_questions(self) -> bool:
        return "questions" in self._abilities.extension

    async def _request(self, session_id: str, asked: QuestionAsked, timeout_seconds: float) -> QuestionAnswer:
        request = QuestionRequest(
            question_id=asked.question_id,
            session_id=session_id,
            turn=asked.turn,
            text=clean_text(asked.text),
            choices=[clean_text(choice) for choice in asked.choices] if asked.choices else None,
        )
        params = msgspec.to_builtins(request)
        result = await self._channel.call(QUESTION, params, timeout=timeout_seconds)
        if not isinstance(result, dict) or "answer" not in result:
            return _nonsense()
        return _answer(result["answer"])

    async def _message(self, asked: QuestionAsked, timeout_seconds: float) -> QuestionAnswer:
        titles = [clean_text(choice) for choice in asked.choices or ()]
        params = {
            "type": int(types.MessageType.Info),
            "message": clean_text(f"Steersman asks: {asked.text}"),
            "actions": [{"title": title} for title in titles],
        }
        result = await self._channel.call("window/showMessageRequest", params, timeout=timeout_seconds)
        if result is None:
            return _answer(None)
        title = result.get("title") if isinstance(result, dict) else None
        return _answer(title) if title in titles else _nonsense()

    def _withdraw(self, asked: QuestionAsked) -> None:
        """Tell a client of ours to close its prompt; for others the cancelled request is all there is."""
        if self._abilities.speaks_extension:
            self._channel.notify_raw(WITHDRAWN, {"id": asked.question_id})


def _answer(answer: object) -> QuestionAnswer:
    if answer is None or isinstance(answer, str):
        return QuestionAnswer(answer=clean_text(answer) if answer else None, by="human")
    return _nonsense()


def _nonsense() -> QuestionAnswer:
    return _nobody("the editor gave an answer that makes no sense")


def _nobody(problem: str) -> QuestionAnswer:
    return QuestionAnswer(answer=None, by="timeout", problem=clean_text(problem))
