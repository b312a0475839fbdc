"""Questions to the person: their own words are the answer, everything else is none."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from steersman.domain.events import QuestionAsked
from steersman.lsp.abilities import ClientAbilities
from steersman.lsp.questions import LspQuestions
from steersman.ports.question import QuestionAnswer, QuestionPort
from tests.lsp.client_runs import RunClient

REQUEST = "steersman/question/ask"
MESSAGE = "window/showMessageRequest"
OURS = ClientAbilities(extension=frozenset({"questions"}), speaks_extension=True)
PLAIN = ClientAbilities()
ASKED = QuestionAsked(question_id="q1", call_id="c1", turn=3, text="Which \ud800?", choices=["left", "right"])


@pytest.fixture
def client() -> RunClient:
    return RunClient()


async def ask(client: RunClient, abilities: ClientAbilities, answer: Any) -> QuestionAnswer:
    port: QuestionPort = LspQuestions(client, abilities)
    client.answer(REQUEST if abilities is OURS else MESSAGE, answer)
    return await port.ask("s1", ASKED, 5.0)


async def test_a_client_of_ours_is_asked_with_everything(client: RunClient) -> None:
    answer = await ask(client, OURS, {"answer": "the \udc00 middle", "later": 1})
    assert answer == QuestionAnswer(answer="the � middle", by="human")
    asked = {"questionId": "q1", "sessionId": "s1", "turn": 3, "text": "Which �?"}
    assert client.calls == [(REQUEST, asked | {"choices": ["left", "right"]})]
    assert client.notified == []


async def test_any_other_client_gets_the_choices_as_buttons(client: RunClient) -> None:
    assert await ask(client, PLAIN, {"title": "right"}) == QuestionAnswer(answer="right", by="human")
    [(_, params)] = client.calls
    assert params["message"] == "Steersman asks: Which �?"
    assert params["actions"] == [{"title": "left"}, {"title": "right"}]


def test_a_free_answer_needs_a_client_that_takes_one(client: RunClient) -> None:
    plain, ours = LspQuestions(client, PLAIN), LspQuestions(client, OURS)
    assert plain.refusal(("left",)) is None
    assert ours.refusal(()) is None
    assert "choices" in (plain.refusal(()) or "")


@pytest.mark.parametrize(
    ("abilities", "answer"), [(OURS, {"answer": None}), (OURS, {"answer": ""}), (PLAIN, None)]
)
async def test_a_closed_question_has_no_answer(
    client: RunClient, abilities: ClientAbilities, answer: Any
) -> None:
    assert await ask(client, abilities, answer) == QuestionAnswer(answer=None, by="human")


@pytest.mark.parametrize("abilities", [OURS, PLAIN])
@pytest.mark.parametrize(
    "answer",
    [
        {},
        [],
        "left",
        True,
        {"answer": 5},
        {"answer": ["left"]},
        {"title": "middle"},
        {"title": ["left"]},
        RuntimeError("-32601: method not found"),
    ],
)
async def test_nonsense_and_errors_are_no_answer(
    client: RunClient, abilities: ClientAbilities, answer: Any
) -> None:
    result = await ask(client, abilities, answer)
    assert (result.answer, result.by) == (None, "timeout")
    assert result.problem


@pytest.mark.parametrize(("abilities", "told"), [(OURS, ["q1"]), (PLAIN, [])])
async def test_silence_ends_at_the_deadline_and_closes_the_prompt(
    client: RunClient, abilities: ClientAbilities, told: list[str]
) -> None:
    client.hold(REQUEST)
    client.hold(MESSAGE)
    result = await LspQuestions(client, abilities).ask("s1", ASKED, 0.02)
    assert (result.answer, result.by) == (None, "timeout")
    assert client.withdrawn == told


@pytest.mark.parametrize(("abilities", "told"), [(OURS, ["q1"]), (PLAIN, [])])
async def test_a_withdrawn_question_is_withdrawn_at_the_client(
    client: RunClient, abilities: ClientAbilities, told: list[str]
) -> None:
    client.hold(REQUEST)
    client.hold(MESSAGE)
    task = asyncio.create_task(LspQuestions(client, abilities).ask("s1", ASKED, 60))
    await client.asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (client.withdrawn, client.left) == (told, 1)
