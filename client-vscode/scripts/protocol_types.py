"""Writes src/lsp/protocol.ts from the server's own messages: one truth for both sides of the wire.

    python client-vscode/scripts/protocol_types.py            write it
    python client-vscode/scripts/protocol_types.py --check    fail if it is not what the messages say

Runs in an environment that has the server installed.
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
import types
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec

from steersman.domain.events import EVENT_DATA
from steersman.domain.settings import Settings
from steersman.lsp.client_messages import CLIENT_NOTIFICATIONS, SERVER_NOTIFICATIONS, SERVER_REQUESTS
from steersman.lsp.messages import PROTOCOL_VERSION, ROUTES, Route
from steersman.sessions.api import SessionApi
from steersman.sessions.requests import EventView

TARGET: Final = Path(__file__).resolve().parents[1] / "src" / "lsp" / "protocol.ts"
HEAD: Final = """\
// Generated from the server's messages by scripts/protocol_types.py. Do not edit.
// Members with a `?` are left out where they have their default.

/* eslint-disable */
"""
EVENTS: Final = """\
/** An event of a type that this version knows. */
export type EventOf<T extends keyof Events> = Omit<EventView, 'type' | 'data'> & { type: T; data: Events[T] };

/** An event of a session's log. Types that are not in `Events` come from a newer server. */
export type StoredEvent = EventView;

export function isEvent<T extends keyof Events>(event: StoredEvent, type: T): event is EventOf<T> {
  return event.type === type;
}
"""
_QUOTED_NAME: Final = re.compile(r"`[a-z]+(?:_[a-z]+)+`")
PLAIN: Final = {
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    type(None): "null",
    None: "null",
}


class Writer:
    """Turns Python types into TypeScript, and remembers which structs it named on the way."""

    def __init__(self) -> None:
        self._structs: dict[str, type[Any]] = {}
        self._written: dict[str, str] = {}

    def ts(self, kind: Any) -> str:
        """The TypeScript of a type. Raises TypeError for one that has no JSON form here."""
        if kind is Any or kind is msgspec.Raw:
            return "unknown"
        if kind in PLAIN:
            return PLAIN[kind]
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            return self._name(kind)
        origin, arguments = typing.get_origin(kind), typing.get_args(kind)
        if origin is Annotated:
            return self.ts(arguments[0])
        if origin is Literal:
            return " | ".join("true" if value is True else f"'{value}'" for value in arguments)
        if origin in (typing.Union, types.UnionType):
            names = dict.fromkeys(self.ts(part) for part in arguments if part is not msgspec.UnsetType)
            return "unknown" if "unknown" in names else " | ".join(names)
        if origin in (list, tuple):
            inner = self.ts(arguments[0])
            return f"({inner})[]" if "|" in inner else f"{inner}[]"
        if origin is dict:
            return f"Record<{self.ts(arguments[0])}, {self.ts(arguments[1])}>"
        raise TypeError(f"no TypeScript for {kind!r}")

    def structs(self) -> Iterator[str]:
        """The interfaces of all structs that were named, and of those that these name."""
        while missing := sorted(self._structs.keys() - self._written.keys()):
            for name in missing:
                self._written[name] = self._interface(self._structs[name])
        yield from (self._written[name] for name in sorted(self._written))

    def _name(self, struct: type[Any]) -> str:
        name = struct.__name__
        if self._structs.setdefault(name, struct) is not struct:
            raise TypeError(f"two messages are called {name}")
        return name

    def _interface(self, struct: type[Any]) -> str:
        config = struct.__struct_config__
        lines = [*_comment(struct), f"export interface {struct.__name__} {{"]
        if config.tag is not None:
            lines.append(f"  {config.tag_field}: '{config.tag}';")
        hints = typing.get_type_hints(struct, include_extras=True)
        for field in msgspec.structs.fields(struct):
            optional = (config.omit_defaults and not field.required) or field.default is msgspec.UNSET
            kind = hints[field.name]
            if optional and field.default is None:
                kind = _without_none(kind)
            lines.append(f"  {field.encode_name}{'?' if optional else ''}: {self.ts(kind)};")
        return "\n".join([*lines, "}"])


def _without_none(kind: Any) -> Any:
    """A member that is left out is never null as well."""
    parts = [part for part in typing.get_args(kind) if part is not type(None)]
    return kind if not parts else typing.Union[tuple(parts)]  # noqa: UP007 - made of parts known only here


def _comment(struct: type[Any]) -> list[str]:
    text = inspect.cleandoc(struct.__doc__ or "")
    if not text or text.startswith(f"{struct.__name__}("):
        return []
    paragraph = " ".join(text.split("\n\n")[0].split()).replace("*/", "* /")
    return [f"/** {_QUOTED_NAME.sub(lambda name: _camel(name[0]), paragraph)} */"]


def _camel(name: str) -> str:
    """A member's name as the wire spells it."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def result_of(route: Route) -> Any:
    """What a route's verb answers: the verb is asked on a stand-in which method of the sessions it calls."""

    class Asked:
        def __getattr__(self, name: str) -> Callable[[Any], str]:
            return lambda params: name

    called = route.verb(typing.cast("SessionApi", Asked()), None)
    hints = typing.get_type_hints(getattr(SessionApi, called))
    (result,) = typing.get_args(hints["return"])
    return result


def table(name: str, comment: str, rows: dict[str, str]) -> str:
    lines = [f"/** {comment} */", f"export interface {name} {{"]
    return "\n".join([*lines, *(f"  '{key}': {value};" for key, value in rows.items()), "}"])


def protocol() -> str:
    """The whole module."""
    writer = Writer()

    def pair(params: Any, result: Any) -> str:
        return f"{{ params: {writer.ts(params)}; result: {writer.ts(result)} }}"

    tables = [
        table(
            "Requests",
            "What a client asks of the server.",
            {method: pair(route.params, result_of(route)) for method, route in ROUTES.items()},
        ),
        table(
            "ServerRequests",
            "What the server asks of a client that offers it.",
            {method: pair(*shapes) for method, shapes in SERVER_REQUESTS.items()},
        ),
        table(
            "ServerNotifications",
            "What the server tells.",
            {method: writer.ts(params) for method, params in SERVER_NOTIFICATIONS.items()},
        ),
        table(
            "ClientNotifications",
            "What a client tells.",
            {method: writer.ts(params) for method, params in CLIENT_NOTIFICATIONS.items()},
        ),
        table(
            "Events",
            "The data of each type of event.",
            {name: writer.ts(data) for name, data in EVENT_DATA.items()},
        ),
    ]
    writer.ts(Settings)
    writer.ts(EventView)
    parts = [
        f"export const PROTOCOL_VERSION = {PROTOCOL_VERSION};",
        *tables,
        EVENTS.strip(),
        *writer.structs(),
    ]
    return HEAD + "\n" + "\n\n".join(parts) + "\n"


def main() -> int | str:
    """What `sys.exit` takes."""
    parser = argparse.ArgumentParser(description=inspect.getdoc(sys.modules[__name__]))
    parser.add_argument("--check", action="store_true", help="write nothing, fail if it would change")
    made = protocol()
    if not parser.parse_args().check:
        TARGET.write_text(made, encoding="utf-8")
        return 0
    if TARGET.read_text(encoding="utf-8") == made:
        return 0
    return f"{TARGET.name} is not what the messages say: run {Path(__file__).name}"


if __name__ == "__main__":
    sys.exit(main())
