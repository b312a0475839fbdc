"""`initializationOptions`: what fits is kept, what does not is named, and no value is ever repeated."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.domain.settings import CommandRule, Settings
from steersman.lsp.options import read_options


@pytest.mark.parametrize("nothing", [None, {}])
def test_without_options_the_defaults_hold(nothing: Any) -> None:
    assert read_options(nothing) == (Settings(), [])


@pytest.mark.parametrize("odd", ["text", 5, [], True, [{"loop": {}}]])
def test_options_that_are_no_object_are_told(odd: Any) -> None:
    settings, problems = read_options(odd)
    assert settings == Settings()
    assert len(problems) == 1


def test_all_that_fits_is_kept() -> None:
    given = {
        "stateDir": "/tmp/x",
        "trusted": False,
        "model": {
            "baseUrl": "http://127.0.0.1:1/v1",
            "name": "m",
            "temperature": 0,
            "headers": {"X-A": "b"},
            "prices": {"input": 1, "output": 2.5},
        },
        "permissions": {"edit": "ask", "commands": [{"argv": ["make"], "decision": "allow"}]},
        "goal": {"idlePauseSeconds": [0.1, 2]},
    }
    settings, problems = read_options(given)
    assert problems == []
    assert (settings.state_dir, settings.trusted) == ("/tmp/x", False)
    assert settings.model.headers == {"X-A": "b"}
    assert settings.model.prices is not None
    assert settings.model.prices.output == 2.5
    assert settings.permissions.commands == [CommandRule(argv=["make"], decision="allow")]
    assert settings.goal.idle_pause_seconds == (0.1, 2.0)


def test_null_is_not_given() -> None:
    nothing = {"stateDir": None, "trusted": None, "model": None, "loop": {"maxParallelTools": None}}
    assert read_options(nothing) == (Settings(), [])


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"colour": "red"}, "colour"),
    ({"loop": {"speed": 1}}, "loop.speed"),
    ({"loop": 5}, "loop"),
    ({"loop": {"maxStepsPerTurn": "many"}}, "loop.maxStepsPerTurn"),
    ({"loop": {"maxStepsPerTurn": 0}}, "loop.maxStepsPerTurn"),
    ({"loop": {"maxStepsPerTurn": 2.5}}, "loop.maxStepsPerTurn"),
    ({"loop": {"maxStepsPerTurn": True}}, "loop.maxStepsPerTurn"),
    ({"loop": {"clientRequestTimeoutSeconds": -1}}, "loop.clientRequestTimeoutSeconds"),
    ({"model": {"maxRetries": -1}}, "model.maxRetries"),
    ({"model": {"prices": []}}, "model.prices"),
    ({"model": {"headers": {"a": 1}}}, "model.headers[...]"),
    ({"context": {"compactAt": 1.5}}, "context.compactAt"),
    ({"tests": {"command": []}}, "tests.command"),
    ({"tests": {"command": "pytest -q"}}, "tests.command"),
    ({"permissions": {"commands": {}}}, "permissions.commands"),
    ({"permissions": {"commands": [{"argv": ["x"]}]}}, "permissions.commands[0].decision"),
    ({"permissions": {"commands": [{"argv": ["x"], "decision": "may"}]}}, "permissions.commands[0].decision"),
    ({"permissions": {"commands": [5]}}, "permissions.commands[0]"),
]


@pytest.mark.parametrize(("given", "member"), WRONG, ids=[member for _, member in WRONG])
def test_a_wrong_member_is_named_once_and_ignored(given: dict[str, Any], member: str) -> None:
    settings, problems = read_options(given)
    assert settings == Settings()
    assert [problem.split(":")[0] for problem in problems] == [member]


def test_a_wrong_rule_does_not_take_the_others_with_it() -> None:
    right = {"argv": ["rm"], "decision": "deny"}
    settings, problems = read_options({"permissions": {"commands": [{"argv": "x"}, right, 7]}})
    assert settings.permissions.commands == [CommandRule(argv=["rm"], decision="deny")]
    assert len(problems) == 2


@pytest.mark.parametrize("trusted", ["false", 0, []])
def test_a_trust_that_nobody_understands_is_none(trusted: Any) -> None:
    settings, problems = read_options({"trusted": trusted})
    assert not settings.trusted
    assert len(problems) == 1


def test_an_edit_permission_that_nobody_understands_asks() -> None:
    assert read_options({"permissions": {"edit": "Ask"}})[0].permissions.edit == "ask"


def test_an_address_that_is_no_text_never_becomes_the_default_endpoint() -> None:
    settings, problems = read_options({"model": {"baseUrl": ["http://127.0.0.1:1"]}})
    assert settings.model.base_url is not None
    assert len(problems) == 1


@pytest.mark.parametrize("name", ["apiKey", "APIKEY", "api_key", "key"])
@pytest.mark.parametrize("inside", [False, True])
def test_a_key_is_refused_with_advice_and_never_repeated(name: str, inside: bool) -> None:
    given: dict[str, Any] = {name: "sk-canary"}
    settings, problems = read_options({"model": given} if inside else given)
    assert settings == Settings()
    (problem,) = problems
    assert "credentials/set" in problem
    assert "sk-canary" not in problem


NAMES = st.sampled_from(
    [
        *(
            "model",
            "loop",
            "permissions",
            "commands",
            "argv",
            "decision",
            "edit",
            "name",
            "baseUrl",
            "prices",
        ),
        *("maxRetries", "compactAt", "context", "tests", "command", "trusted", "apiKey", "other", "headers"),
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.just("sk-canary"),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(NAMES, children, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_no_options_raise_and_no_value_is_ever_repeated(given: Any) -> None:
    settings, problems = read_options(given)
    assert isinstance(settings, Settings)
    assert "sk-canary" not in "".join(problems)
