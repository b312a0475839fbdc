"""ask_user: what is put to the person, and how their reply is told to the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from steersman.errors import ToolFailed
from steersman.tools.base import Inquire, Refuse, Reply
from steersman.tools.registry import toolbox
from tests.unit.tools.context import Context


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return Context(tmp_path)


def test_a_question_is_put_with_each_choice_once(context: Context) -> None:
    permit = context.permit("ask_user", question="Which?", choices=["a", " a ", "b"])
    assert permit == Inquire(text="Which?", choices=("a", "b"))


@pytest.mark.parametrize("arguments", [{"question": "  "}, {"question": "?", "choices": ["a", " "]}])
def test_a_question_needs_words(context: Context, arguments: dict[str, Any]) -> None:
    permit = context.permit("ask_user", **arguments)
    assert isinstance(permit, Refuse)
    assert permit.code == "INVALID_ARGUMENTS"


@pytest.mark.parametrize(
    "arguments", [{}, {"question": ""}, {"question": "?", "choices": ["x"] * 11}, {"question": 5}]
)
def test_arguments_that_do_not_fit_are_refused(context: Context, arguments: dict[str, Any]) -> None:
    with pytest.raises(ToolFailed, match=r"question|choices"):
        context.permit("ask_user", **arguments)


@pytest.mark.parametrize(
    ("reply", "told", "answered"),
    [
        (Reply(answer="left", by="human"), "answered: left", True),
        (Reply(answer=None, by="human"), "closed the question", False),
        (Reply(answer=None, by="steer"), "wrote a message instead", False),
    ],
)
async def test_the_reply_is_told_as_it_is(context: Context, reply: Reply, told: str, answered: bool) -> None:
    context.reply = reply
    outcome = await context.call("ask_user", question="Which?")
    assert told in outcome.content
    assert outcome.verified is not None
    assert outcome.verified.ok is answered


async def test_a_call_that_asked_nobody_has_no_reply(context: Context) -> None:
    with pytest.raises(ToolFailed, match="was not asked"):
        await context.call("ask_user", question="Which?")


def test_only_the_agent_mode_offers_it() -> None:
    assert "ask_user" in toolbox("agent")
    assert "ask_user" not in toolbox("plan")
