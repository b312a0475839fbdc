"""What is shown on a terminal: plain, safe, and enough to know what happened."""

from __future__ import annotations

import io
import time

import pytest
from rich.console import Console

from steersman.headless.run import UsageError, split_check
from steersman.headless.terminal import Person, Transcript, answer_of, decision_of, reason_text, safe


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


def test_text_of_every_language_is_shown_as_it_is() -> None:
    words = "日本\u3000語 a\u00a0b 👩\u200d💻 e\u0301 שלום"
    assert safe(words) == words
    assert safe("one\r\ntwo") == "one\ntwo"


@pytest.mark.parametrize("character", "\x00\x07\r\x1b\x7f\x85\x9b\u2028\u202e\u2066\ud800")
def test_a_character_that_steers_or_hides_is_shown_as_a_replacement(character: str) -> None:
    assert safe(f"a{character}b") == "a\ufffdb"


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


def test_a_conversation_that_was_made_shorter_is_told() -> None:
    assert "made shorter for the model: 90 to 40 tokens" in shown(
        ("context/compacted", {"tokensBefore": 90, "tokensAfter": 40, "summary": "s", "trigger": "pressure"})
    )
    assert "It could not be." in shown(
        ("compaction/failed", {"trigger": "human", "reason": "It could not be."})
    )


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


def test_a_check_that_fails_is_shown_with_its_evidence() -> None:
    result = {"checkId": "check-1", "status": "fail", "evidence": "pytest: exited with 1\nE  assert 1 == 2\n"}
    text = shown(("goal/verification", {"results": [result]}))
    assert "✗ check check-1: fail" in text
    assert "  E  assert 1 == 2" in text


def test_an_edit_is_shown_with_its_size() -> None:
    edit = {"uri": "file:///x/a%20b.py", "kind": "edit", "added": 2, "removed": 1}
    assert "edit a b.py: +2 -1" in shown(("edit/applied", edit))


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_terminal_tells_what_runs_and_a_file_does_not(
    monkeypatch: pytest.MonkeyPatch, is_terminal: bool
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    out = io.StringIO()
    transcript = Transcript(Console(file=out, width=100, force_terminal=is_terminal, color_system=None))
    transcript.event({"type": "tool/call", "data": {"callId": "c", "name": "run_tests", "arguments": ""}})
    transcript.event({"type": "tool/start", "data": {"callId": "c"}})
    deadline = time.monotonic() + 5
    while is_terminal and "run_tests …" not in out.getvalue() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert ("run_tests …" in out.getvalue()) is is_terminal
    transcript.line("over")
    assert out.getvalue().endswith("over\n")


@pytest.mark.parametrize(
    ("line", "decision", "feedback"),
    [
        ("a\n", "allowOnce", None),
        (" Allow \n", "allowOnce", None),
        ("s\n", "allowSession", None),
        ("d\n", "deny", None),
        ("\n", "deny", None),
        ("", "deny", None),
        ("d use the other file\n", "deny", "use the other file"),
        ("a bit later\n", "deny", "a bit later"),
        ("yes\n", "deny", "yes"),
    ],
)
def test_only_an_exact_word_allows(line: str, decision: str, feedback: str | None) -> None:
    answer = decision_of(line, once_only=False)
    assert (answer["decision"], answer.get("feedback")) == (decision, feedback)


def test_what_destroys_is_never_allowed_for_a_session() -> None:
    assert decision_of("s\n", once_only=True)["decision"] == "deny"
    assert decision_of("a\n", once_only=True)["decision"] == "allowOnce"


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
        ("grep '|' file", ["grep", "|", "file"]),
        ("grep \\| file", ["grep", "|", "file"]),
        ("make #1", ["make", "#1"]),
    ],
)
def test_a_check_is_split_as_a_shell_would_split_words(command: str, words: list[str]) -> None:
    assert split_check(command) == words


@pytest.mark.parametrize(
    "command",
    ["a | b", "a && b", "a; b", "a > b", "a < b", "a|tail", "'a' 2>&1", "a '|' | b", "", "''", "'open"],
)
def test_a_check_that_needs_a_shell_is_refused(command: str) -> None:
    with pytest.raises(UsageError):
        split_check(command)


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("1\n", "Yes"),
        ("2\n", "No"),
        ("3\n", "3"),
        ("0\n", "0"),
        ("yes\n", "yes"),
        ("²\n", "²"),
        ("no, the title\n", "no, the title"),
        ("\n", None),
        ("", None),
    ],
)
def test_a_question_is_answered_by_number_or_in_own_words(line: str, answer: str | None) -> None:
    assert answer_of(line, ["Yes", "No"]) == answer
    assert answer_of("1", []) == "1"
