"""ask_user: a question to the person, when only they can know. It waits without a model call."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from steersman.domain.events import CallMode
from steersman.domain.messages import Verified
from steersman.errors import ToolFailed
from steersman.tools.base import Arguments, Inquire, Permit, Refuse, ToolContext, ToolOutcome

_MOST_CHOICES: Final = 10

Words = Annotated[str, msgspec.Meta(min_length=1, max_length=4000)]


class AskUserArguments(Arguments, frozen=True):
    """`choices` are offered as buttons; a person may be able to answer in other words too."""

    question: Words
    choices: Annotated[list[Words], msgspec.Meta(max_length=_MOST_CHOICES)] = []


class AskUser:
    name = "ask_user"
    description = (
        "Ask the user one question and wait for the answer, with a few short choices where that fits; only "
        "for what you cannot find out and must not guess."
    )
    arguments = AskUserArguments
    deadline_seconds = 30.0

    def mode(self, arguments: AskUserArguments, context: ToolContext) -> CallMode:
        return "exclusive"

    def permit(self, arguments: AskUserArguments, context: ToolContext) -> Permit:
        choices = tuple(dict.fromkeys(choice.strip() for choice in arguments.choices))
        if not arguments.question.strip() or not all(choices):
            return Refuse(code="INVALID_ARGUMENTS", message="the question and each choice need words")
        return Inquire(text=arguments.question, choices=choices)

    async def run(self, arguments: AskUserArguments, context: ToolContext) -> ToolOutcome:
        """Tell the reply. Raises ToolFailed if nobody was asked."""
        reply = context.reply
        if reply is None:
            raise ToolFailed("UNAVAILABLE", "the user was not asked: call it again")
        if reply.by == "steer":
            content = "The user wrote a message instead of answering. It follows: go on from there."
        elif reply.answer is None:
            content = "The user closed the question without an answer. Go on without it, or end and say why."
        else:
            content = f"The user answered: {reply.answer}"
        answered = reply.answer is not None
        return ToolOutcome(content=content, verified=Verified(ok=answered, check="answered", note=reply.by))
