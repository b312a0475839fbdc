"""The grammar of `/goal`."""

from __future__ import annotations

import pytest

from steersman.domain.checks import CommandCheck
from steersman.domain.goal import Budgets
from steersman.goals.command import CommandError, GoalCommand, parse


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/goal", GoalCommand(verb="show")),
        ("  /goal  ", GoalCommand(verb="show")),
        ("/goal pause", GoalCommand(verb="pause")),
        ("/goal RESUME", GoalCommand(verb="resume")),
        ("/goal Clear ", GoalCommand(verb="clear")),
        ("/goal pause after tests", GoalCommand(verb="create", objective="pause after tests")),
        ("/goal -- pause", GoalCommand(verb="create", objective="pause")),
        ("/goal -- x --rounds 3", GoalCommand(verb="create", objective="x --rounds 3")),
        ("/goal make it green", GoalCommand(verb="create", objective="make it green")),
        ("/goal edit make it red", GoalCommand(verb="edit", objective="make it red")),
        ("/goal edit --rounds 400", GoalCommand(verb="edit", max_rounds=400)),
        ("/goal edit\tmake it red", GoalCommand(verb="edit", objective="make it red")),
        ("/goal EDIT\nmake it red", GoalCommand(verb="edit", objective="make it red")),
        ("/goal edition two", GoalCommand(verb="create", objective="edition two")),
        (
            "/goal a --rounds 3 --exploratory",
            GoalCommand(verb="create", objective="a", max_rounds=3, kind="exploratory"),
        ),
        (
            "/goal a --tokens 100 --minutes 2 --cost 0.5",
            GoalCommand(verb="create", objective="a", budgets=Budgets(tokens=100, seconds=120.0, cost=0.5)),
        ),
        (
            '/goal a b --check "pytest -q" --check make',
            GoalCommand(
                verb="create",
                objective="a b",
                checks=[CommandCheck(argv=["pytest", "-q"]), CommandCheck(argv=["make"])],
            ),
        ),
        (
            '/goal a --check "grep \\"x|y\\" file"',
            GoalCommand(verb="create", objective="a", checks=[CommandCheck(argv=["grep", "x|y", "file"])]),
        ),
        ("/goal mind --rounds in it", GoalCommand(verb="create", objective="mind --rounds in it")),
        ("/goal line one\nline two", GoalCommand(verb="create", objective="line one\nline two")),
    ],
)  # fmt: skip
def test_what_a_text_asks_for(text: str, command: GoalCommand) -> None:
    assert parse(text) == command


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("goal x", "/goal"),
        ("/goals", "/goal"),
        ("/goal --rounds 3", "objective"),
        ("/goal edit", "what to change"),
        ("/goal a --rounds many", "number"),
        ("/goal a --tokens -5", "more than 0"),
        ("/goal a --rounds 2.5", "whole number"),
        ("/goal a --tokens 0.5", "whole number"),
        ("/goal a --rounds nan", "more than 0"),
        ("/goal a --minutes inf", "more than 0"),
        ("/goal a --cost 1e999", "more than 0"),
        ('/goal a --check "pytest | tail"', "shell"),
        ('/goal a --check "a && b"', "shell"),
        ('/goal a --check "a > b"', "shell"),
        ('/goal a --check "\'open"', "cannot be read"),
    ],
)
def test_what_is_no_command_is_told_with_advice(text: str, words: str) -> None:
    with pytest.raises(CommandError, match=words):
        parse(text)
