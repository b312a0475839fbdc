"""Approvals: only a clear yes of a person is a yes, and it counts for what was asked."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from steersman.domain.events import ApprovalAsked, Risk
from steersman.domain.value import clean_text
from steersman.lsp.abilities import ClientAbilities
from steersman.lsp.approvals import LspApprovals, message_text
from steersman.lsp.documents import OpenDocuments
from steersman.ports.approval import ApprovalAnswer, ApprovalPort
from tests.lsp.fake_editor import FakeEditor

REQUEST = "steersman/approval/request"
MESSAGE = "window/showMessageRequest"
OURS = ClientAbilities(extension=frozenset({"approvals"}), speaks_extension=True)
PLAIN = ClientAbilities()
WITHDRAWN = [("steersman/request/cancelled", {"id": "ap1"})]


def asked(risk: Risk = "execute") -> ApprovalAsked:
    return ApprovalAsked(
        approval_id="ap1",
        call_id="c1",
        turn=3,
        tool="run_command",
        title="Run a command",
        detail="`make` in **w**",
        risk=risk,
        argv=["make", "all of it"],
        remember="argv:make",
    )


@pytest.fixture
def client() -> FakeEditor:
    return FakeEditor(OpenDocuments())


async def ask(
    client: FakeEditor, abilities: ClientAbilities, answer: Any, risk: Risk = "execute"
) -> ApprovalAnswer:
    port: ApprovalPort = LspApprovals(client, abilities)
    client.answer(REQUEST if abilities is OURS else MESSAGE, answer)
    return await port.ask("s1", asked(risk), 5.0)


async def test_a_client_of_ours_is_asked_with_everything_and_its_words_are_kept(client: FakeEditor) -> None:
    answer = await ask(client, OURS, {"decision": "deny", "feedback": "use \ud800 npm", "later": 1})
    assert answer == ApprovalAnswer(decision="deny", by="human", feedback=clean_text("use \ud800 npm"))
    assert client.calls == [
        (
            REQUEST,
            {
                "approvalId": "ap1",
                "sessionId": "s1",
                "turn": 3,
                "callId": "c1",
                "tool": "run_command",
                "title": "Run a command",
                "detail": "`make` in **w**",
                "risk": "execute",
                "argv": ["make", "all of it"],
            },
        )
    ]
    assert client.notified == []


async def test_any_other_client_gets_a_message_with_buttons(client: FakeEditor) -> None:
    answer = await ask(client, PLAIN, {"title": "Allow for this session"})
    assert answer == ApprovalAnswer(decision="allowSession", by="human")
    [(_, params)] = client.calls
    assert params["type"] == 2
    assert params["message"] == "Steersman asks: Run a command\nmake 'all of it'\n`make` in **w**"
    assert [a["title"] for a in params["actions"]] == ["Allow once", "Allow for this session", "Deny"]


async def test_destructive_is_never_remembered(client: FakeEditor) -> None:
    assert (await ask(client, OURS, {"decision": "allowSession"}, "destructive")).decision == "allowOnce"
    await ask(client, PLAIN, {"title": "Allow once"}, "destructive")
    assert [a["title"] for a in client.calls[-1][1]["actions"]] == ["Allow once", "Deny"]


@pytest.mark.parametrize(
    ("abilities", "answer", "decision"),
    [
        (OURS, {"decision": "allowOnce"}, "allowOnce"),
        (OURS, {"decision": "allowSession", "feedback": None}, "allowSession"),
        (PLAIN, {"title": "Allow once"}, "allowOnce"),
        (PLAIN, {"title": "Deny", "more": 1}, "deny"),
    ],
)
async def test_a_persons_decision_is_theirs(
    client: FakeEditor, abilities: ClientAbilities, answer: Any, decision: str
) -> None:
    assert await ask(client, abilities, answer) == ApprovalAnswer(decision=decision, by="human")  # type: ignore[arg-type]


@pytest.mark.parametrize("abilities", [OURS, PLAIN])
async def test_a_dismissed_question_is_a_no(client: FakeEditor, abilities: ClientAbilities) -> None:
    answer = await ask(client, abilities, None)
    assert answer == ApprovalAnswer(decision="deny", by="human", feedback="dismissed")


@pytest.mark.parametrize("abilities", [OURS, PLAIN])
@pytest.mark.parametrize(
    "answer",
    [
        {},
        [],
        "allowOnce",
        True,
        {"decision": "yes"},
        {"decision": True},
        {"decision": ["allowOnce"]},
        {"title": "allow once"},
        {"title": ["Allow once"]},
        {"title": 1, "decision": None},
        RuntimeError("-32601: method not found"),
    ],
)
async def test_nonsense_and_errors_are_no_answer(
    client: FakeEditor, abilities: ClientAbilities, answer: Any
) -> None:
    result = await ask(client, abilities, answer)
    assert (result.decision, result.by) == ("deny", "timeout")
    assert result.feedback


@pytest.mark.parametrize(("abilities", "told"), [(OURS, WITHDRAWN), (PLAIN, [])])
async def test_no_answer_in_time_is_no_yes_and_closes_the_prompt(
    client: FakeEditor, abilities: ClientAbilities, told: list[Any]
) -> None:
    async def never(_: dict[str, Any]) -> Any:
        await asyncio.Event().wait()

    client.answers[REQUEST] = client.answers[MESSAGE] = never
    answer = await LspApprovals(client, abilities).ask("s1", asked(), 0.05)
    assert (answer.decision, answer.by) == ("deny", "timeout")
    assert client.notified == told


@pytest.mark.parametrize(("abilities", "told"), [(OURS, WITHDRAWN), (PLAIN, [])])
async def test_a_cancelled_question_is_withdrawn(
    client: FakeEditor, abilities: ClientAbilities, told: list[Any]
) -> None:
    open_now = asyncio.Event()

    async def never(_: dict[str, Any]) -> Any:
        open_now.set()
        await asyncio.Event().wait()

    client.answers[REQUEST] = client.answers[MESSAGE] = never
    task = asyncio.create_task(LspApprovals(client, abilities).ask("s1", asked(), 60))
    await open_now.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert client.notified == told


def test_a_message_shows_what_it_left_out() -> None:
    question = msgspec.structs.replace(asked(), detail="x" * 10_000 + "\ud800")
    text = message_text(question)
    assert len(text) < 4_100
    assert "more characters are not shown" in text


def test_a_command_that_the_detail_shows_is_not_shown_twice() -> None:
    question = msgspec.structs.replace(asked(), detail="make 'all of it'", uris=["file:///w/a.py"])
    assert message_text(question) == "Steersman asks: Run a command\nfile:///w/a.py\nmake 'all of it'"
