"""The grammar of `/goal` (goal.md). Pure: a text gives a command, or a sentence that says what is wrong."""

from __future__ import annotations

import re
from typing import Final, Literal

import msgspec
from msgspec.structs import replace

from steersman.domain.argv import split_command
from steersman.domain.checks import Check, CommandCheck
from steersman.domain.goal import Budgets, Kind

Verb = Literal["show", "create", "edit", "pause", "resume", "clear"]
_WHOLE: Final[dict[str, Verb]] = {"pause": "pause", "resume": "resume", "clear": "clear"}
_OPTION: Final = re.compile(
    r"""\s--(?:(?P<flag>exploratory)|(?P<name>check|rounds|tokens|minutes|cost)
        \s+(?P<value>"(?:\\.|[^"\\])*"|'[^']*'|\S+))\s*\Z""",
    re.VERBOSE,
)


class GoalCommand(msgspec.Struct, frozen=True, kw_only=True):
    """What a `/goal …` asks for. `objective` is None where it is not named."""

    verb: Verb
    objective: str | None = None
    kind: Kind | None = None
    max_rounds: int | None = None
    budgets: Budgets | None = None
    checks: list[Check] | None = None


class CommandError(ValueError):
    """The text is no command; the message says what to write instead."""


def parse(text: str) -> GoalCommand:
    """The command in a text that starts with `/goal`. Raises CommandError."""
    stripped = text.strip()
    if not re.match(r"/goal(?:\s|\Z)", stripped):
        raise CommandError("A goal command starts with /goal.")
    rest = stripped.removeprefix("/goal").strip()
    if not rest:
        return GoalCommand(verb="show")
    if rest == "--" or rest.startswith(("-- ", "--\n", "--\t")):
        return GoalCommand(verb="create", objective=rest.removeprefix("--").strip())
    whole = _WHOLE.get(rest.casefold())
    if whole is not None:
        return GoalCommand(verb=whole)
    first, *after = rest.split(maxsplit=1)
    if first.casefold() == "edit":
        return _with_options(GoalCommand(verb="edit"), "".join(after))
    return _with_options(GoalCommand(verb="create"), rest)


def _with_options(command: GoalCommand, text: str) -> GoalCommand:
    """Take the options off the end of a text; what is left is the objective."""
    rest = f" {text}"
    while (found := _OPTION.search(rest)) is not None:
        rest = rest[: found.start()]
        command = _option(command, found)
    objective = rest.strip()
    if not objective and command.verb == "create":
        raise CommandError("A goal needs an objective: /goal <what shall be reached> [options]")
    if not objective and command == GoalCommand(verb="edit"):
        raise CommandError("Say what to change: /goal edit <objective>, or /goal edit --rounds 400")
    return replace(command, objective=objective or None)


def _option(command: GoalCommand, found: re.Match[str]) -> GoalCommand:
    if found["flag"]:
        return replace(command, kind="exploratory")
    name, value = found["name"], found["value"]
    if name == "check":
        words = _words(_unquoted(value))
        return replace(command, checks=[CommandCheck(argv=words), *(command.checks or ())])
    number = _number(name, _unquoted(value))
    if name in ("rounds", "tokens") and not number.is_integer():
        raise CommandError(f"--{name} takes a whole number, not {value}.")
    if name == "rounds":
        return replace(command, max_rounds=int(number))
    budgets = command.budgets or Budgets()
    match name:
        case "tokens":
            budgets = replace(budgets, tokens=int(number))
        case "minutes":
            budgets = replace(budgets, seconds=number * 60)
        case _:
            budgets = replace(budgets, cost=number)
    return replace(command, budgets=budgets)


def _words(text: str) -> list[str]:
    try:
        return split_command(text)
    except ValueError as error:
        raise CommandError(f"The check {text!r} cannot be read: {error}") from None


def _unquoted(value: str) -> str:
    if value[:1] == '"':
        return re.sub(r"\\(.)", r"\1", value[1:-1])
    return value[1:-1] if value[:1] == "'" else value


def _number(name: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        raise CommandError(f"--{name} takes a number, not {value!r}.") from None
    if not 0 < number < float("inf"):
        raise CommandError(f"--{name} must be more than 0.")
    return number
