"""`initializationOptions` to settings: what fits is kept, what does not is told once and ignored.

The values themselves are never repeated in a message or a log: a secret may have been put there by mistake.
"""

from __future__ import annotations

import types as pytypes
import typing
from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec

from steersman.domain.settings import Settings
from steersman.lsp.decoding import problem_at

T = TypeVar("T", bound=msgspec.Struct)
LATER: Final = frozenset({"search", "budgets", "policies"})
"""Members of the contract that this version has no use for yet; they are no mistake of the user's."""
_KEY_NAMES: Final = frozenset({"apikey", "api_key", "key", "openai_api_key"})


def read_options(raw: Any) -> tuple[Settings, list[str]]:
    """The settings, and one sentence for each member that was ignored. Never raises.

    A member that is null counts as not given.
    """
    if raw is None:
        return Settings(), []
    if not isinstance(raw, dict):
        return Settings(), ["The initializationOptions are not an object, so all defaults hold."]
    problems: list[str] = []
    known = {name: value for name, value in raw.items() if name not in LATER}
    return _struct(known, Settings, "", problems), problems


def _struct(raw: dict[str, Any], kind: type[T], path: str, problems: list[str]) -> T:
    hints = typing.get_type_hints(kind)
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    values: dict[str, Any] = {}
    for name, value in raw.items():
        where = f"{path}{name}"
        field = fields.get(str(name))
        if str(name).casefold() in _KEY_NAMES:
            problems.append(f"{where}: a key never travels here; use steersman/credentials/set.")
        elif field is None:
            problems.append(f"{where[:_NAME_LIMIT]}: there is no such setting.")
        elif value is not None:
            _member(value, field.name, hints[field.name], where, values, problems)
    return kind(**values)


def _member(
    value: Any, name: str, hint: Any, where: str, values: dict[str, Any], problems: list[str]
) -> None:
    nested = _nested(hint)
    if nested is not None and isinstance(value, dict):
        values[name] = _tolerant(value, nested, where, problems)
    elif (item := _item(hint)) is not None and isinstance(value, list):
        kept = (_checked(each, item, f"{where}[{n}]", problems) for n, each in enumerate(value))
        values[name] = [each for each in kept if each is not None]
    elif (checked := _checked(value, hint, where, problems)) is not None:
        values[name] = checked
    elif where in _CAREFUL:
        values[name] = _CAREFUL[where]


def _checked(value: Any, hint: Any, where: str, problems: list[str]) -> Any:
    """The value if it fits, else None and one problem more."""
    try:
        checked = msgspec.convert(value, hint, strict=True)
    except msgspec.ValidationError as error:
        problems.append(_without_values(problem_at(where, error)))
        return None
    fits, words = _LIMITS.get(where, _ANY)
    if not fits(checked):
        problems.append(f"{where}: {words}.")
        return None
    return checked


def _tolerant(value: dict[str, Any], nested: type[T], where: str, problems: list[str]) -> T:
    return _struct(value, nested, f"{where}.", problems)


def _nested(hint: Any) -> type[msgspec.Struct] | None:
    """The struct that a member is (or may be): its members are judged one by one."""
    options = typing.get_args(hint) if isinstance(hint, pytypes.UnionType) else (hint,)
    for option in options:
        if isinstance(option, type) and issubclass(option, msgspec.Struct):
            return option
    return None


def _item(hint: Any) -> type[msgspec.Struct] | None:
    """The struct that a list holds: its items are judged one by one."""
    return _nested(typing.get_args(hint)[0]) if typing.get_origin(hint) is list else None


def _without_values(problem: str) -> str:
    """msgspec names types, and a value only where an enumeration is missed: leave that out."""
    where, missed, _ = problem.partition("Invalid enum value")
    return f"{where}it is not one of the values that it can have." if missed else f"{problem}."


_Limit = tuple[Callable[[Any], bool], str]
_ANY: Final[_Limit] = (lambda value: True, "")
_POSITIVE: Final[_Limit] = (lambda value: value > 0, "it must be more than 0")
_NOT_NEGATIVE: Final[_Limit] = (lambda value: value >= 0, "it must not be negative")
_LIMITS: Final[dict[str, _Limit]] = {
    "model.contextWindow": _POSITIVE,
    "model.maxOutputTokens": _POSITIVE,
    "model.temperature": _NOT_NEGATIVE,
    "model.maxRetries": _NOT_NEGATIVE,
    "model.retryBaseSeconds": _NOT_NEGATIVE,
    "model.retryMaxSeconds": _NOT_NEGATIVE,
    "model.idleTimeoutSeconds": _POSITIVE,
    "model.totalTimeoutSeconds": _POSITIVE,
    "model.prices.input": _NOT_NEGATIVE,
    "model.prices.cachedInput": _NOT_NEGATIVE,
    "model.prices.output": _NOT_NEGATIVE,
    "loop.maxParallelTools": _POSITIVE,
    "loop.maxStepsPerTurn": _POSITIVE,
    "loop.toolGraceSeconds": _NOT_NEGATIVE,
    "loop.clientRequestTimeoutSeconds": _POSITIVE,
    "goal.maxRounds": _POSITIVE,
    "goal.blockedAfterRounds": _POSITIVE,
    "goal.noProgressRounds": _POSITIVE,
    "goal.failingRounds": _POSITIVE,
    "context.compactAt": (lambda value: 0 < value <= 1, "it must be more than 0 and at most 1"),
    "context.resultLimitBytes": _POSITIVE,
    "permissions.approvalTimeoutSeconds": _POSITIVE,
    "tests.command": (lambda value: bool(value), "it must name a program"),
    "tests.timeoutSeconds": _POSITIVE,
}
_CAREFUL: Final[dict[str, Any]] = {
    "trusted": False,
    "permissions.edit": "ask",
    "model.baseUrl": "not-an-address:",
}
"""What holds when these are given and cannot be understood: not the default, which allows more, or sends
what was meant for another endpoint."""
_NAME_LIMIT: Final = 80
