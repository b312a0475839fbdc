"""`initializationOptions` to settings: what fits is kept, what does not is told once and ignored.

The values themselves are never repeated in a message or a log: a secret may have been put there by mistake.
"""

from __future__ import annotations

import types as pytypes
import typing
from typing import Any, Final, TypeVar

import msgspec

from steersman.domain.settings import Settings

T = TypeVar("T", bound=msgspec.Struct)
LATER: Final = frozenset({"search", "budgets", "policies"})
"""Members of the contract that this version has no use for yet; they are no mistake of the user's."""
_KEY_NAMES: Final = frozenset({"apikey", "api_key", "key", "openai_api_key"})


def read_options(raw: Any) -> tuple[Settings, list[str]]:
    """The settings, and one sentence for each member that was ignored. Never raises."""
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
            problems.append(f"{where}: there is no such setting.")
        else:
            _member(value, field.name, hints[field.name], where, values, problems)
    return kind(**values)


def _member(
    value: Any, name: str, hint: Any, where: str, values: dict[str, Any], problems: list[str]
) -> None:
    nested = _nested(hint)
    if nested is not None and isinstance(value, dict):
        values[name] = _tolerant(value, nested, where, problems)
        return
    try:
        values[name] = msgspec.convert(value, hint, strict=True)
    except msgspec.ValidationError as error:
        problems.append(f"{where}: {_without_values(str(error))}")


def _tolerant(value: dict[str, Any], nested: type[T], where: str, problems: list[str]) -> T:
    return _struct(value, nested, f"{where}.", problems)


def _nested(hint: Any) -> type[msgspec.Struct] | None:
    """The struct that a member is (or may be): its members are judged one by one."""
    options = typing.get_args(hint) if isinstance(hint, pytypes.UnionType) else (hint,)
    for option in options:
        if isinstance(option, type) and issubclass(option, msgspec.Struct):
            return option
    return None


def _without_values(problem: str) -> str:
    """msgspec names types, and a value only where an enumeration is missed: leave that out."""
    return "not one of the values that it can have." if "Invalid enum value" in problem else f"{problem}."
