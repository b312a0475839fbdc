"""Tool arguments: the JSON schema that the model is sent, and the strict way back from its raw string."""

from __future__ import annotations

import functools
from typing import Any, TypeVar

import msgspec

from steersman.domain.value import clean_text
from steersman.errors import ToolFailed
from steersman.tools.base import Arguments

A = TypeVar("A", bound=Arguments)


@functools.cache
def schema(arguments: type[Arguments]) -> dict[str, Any]:
    """The JSON schema of a tool's arguments, small: no references, titles, or null for optional members."""
    (root,), components = msgspec.json.schema_components([arguments], ref_template="{name}")
    whole: dict[str, Any] = _plain(root, components)
    return whole


def decode(arguments: type[A], raw: str) -> A:
    """The arguments in a raw string as the model wrote it; nothing at all or `null` means `{}`.

    Raises:
        ToolFailed: `INVALID_ARGUMENTS` – not JSON (with the position), not an object, or members that
            do not fit (with their names).
    """
    text = raw.strip()
    if text in ("", "null"):
        text = "{}"
    try:
        return msgspec.json.decode(clean_text(text), type=arguments)
    except msgspec.ValidationError as error:
        raise ToolFailed("INVALID_ARGUMENTS", f"{error}. {_expected(arguments)}") from None
    except (msgspec.DecodeError, RecursionError) as error:
        problem = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise ToolFailed(
            "INVALID_ARGUMENTS", f"the arguments are not a JSON object: {problem}. {_expected(arguments)}"
        ) from None


def _expected(arguments: type[Arguments]) -> str:
    fields = msgspec.structs.fields(arguments)
    if not fields:
        return "This tool takes no arguments."
    members = ", ".join(field.name if field.required else f"{field.name}?" for field in fields)
    return f"Expected members: {members}."


def _plain(node: Any, components: dict[str, Any]) -> Any:
    """A schema node with its references put in and what a model has no use for left out."""
    if isinstance(node, list):
        return [_plain(item, components) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _plain(components[node["$ref"]], components)
    if "anyOf" in node:
        choices = [choice for choice in node["anyOf"] if choice != {"type": "null"}]
        if len(choices) == 1:
            return _plain(choices[0], components)
    kept = {key: value for key, value in node.items() if key not in ("title", "default")}
    members = kept.pop("properties", None)
    if members is None:
        return {key: _plain(value, components) for key, value in kept.items()}
    kept.pop("description", None)  # a struct's docstring is for people
    return {
        **{key: _plain(value, components) for key, value in kept.items()},
        "properties": {name: _plain(member, components) for name, member in members.items()},
    }
