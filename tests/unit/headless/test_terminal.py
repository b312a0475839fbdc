"""What is shown on a terminal: plain, safe, and enough to know what happened."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from steersman.headless.run import UsageError, split_check
from steersman.headless.terminal import Person, Transcript, reason_text, safe


def shown(*events: tuple[str, dict[str, object]]) -> str:
    out = io.StringIO()
    transcript = Transcript(Console(file=out, width=100))
    for kind, data in events:
        transcript.event({"type": kind, "data": data})
    return out.getvalue()


def test_nothing_that_a_model_says_steers_the_terminal() -> None:
    evil = "\x1b]0;title\x07\x1b[31mred\x1b[0m [bold]markup[/] \u202e"
    text = shown(("assistant/chunk", {"deltas": [{"text": evil}]}))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\u202e" not in text
    assert "[bold]markup[/]" in text
    assert safe("a\nb\tc") == "a\nb\tc"


def test_a_call_is_shown_with_its_main_argument_and_its_outcome() -> None:
    text = shown(
        ("tool/call", {"callId": "c", "name": "read_file", "arguments": '{"path": "a.py"}'}),
        (
            "tool/result",
            {"callId": "c", "outcome": "error", "content": "Error NOT_FOUND: no", "durationMs": 3},
        ),
    )
    assert "read_file a.py – error · 3 ms" in text
    assert "NOT_FOUND" in text


def test_a_retry_says_why_and_how_long() -> None:
    text = shown(("model/retry", {"code": "rate-limit", "delayMs": 1500, "message": "slow down"}))
    assert "rate-limit: trying again in 1.5 s. slow down" in text


def test_an_event_that_is_not_known_is_passed_over() -> None:
    assert shown(("later/thing", {"x": 1})) == ""


@pytest.mark.parametrize(
    "reason",
    [
        {"kind": "completed"},
        {"kind": "aborted", "by": "human"},
        {"kind": "error", "code": "auth", "message": "bad key"},
        {"kind": "max-tokens"},
        {"kind": "exit", "policy": "steps"},
        {"kind": "interrupted"},
    ],
)
def test_every_reason_has_words(reason: dict[str, str]) -> None:
    assert reason_text(reason)


async def test_without_a_terminal_every_ask_is_denied_at_once_and_remembered() -> None:
    person = Person(Transcript(Console(file=io.StringIO())), present=False)
    assert not person.absent
    answer = await person.approve({"title": "t", "detail": "d", "risk": "execute"})
    assert answer["decision"] == "deny"
    assert person.absent


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("pytest -q", ["pytest", "-q"]),
        ("python -c 'print(1); x'", ["python", "-c", "print(1); x"]),
        ('grep "a|b" file', ["grep", "a|b", "file"]),
    ],
)
def test_a_check_is_split_as_a_shell_would_split_words(command: str, words: list[str]) -> None:
    assert split_check(command) == words


@pytest.mark.parametrize("command", ["a | b", "a && b", "a; b", "a > b", "a < b", "a|tail", "", "'open"])
def test_a_check_that_needs_a_shell_is_refused(command: str) -> None:
    with pytest.raises(UsageError):
        split_check(command)
