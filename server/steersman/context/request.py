"""The request builder: from the folded state to the bytes of a chat-completions request.

Each part of the history is encoded once and stays encoded, so building costs the same at step 2,000 as at
step 20. The log keeps what the model wrote; the request holds only what a strict provider accepts.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from steersman.domain.events import RequestHeader
from steersman.domain.messages import ContextItem, Human, Notice, ToolCall
from steersman.domain.state import AssistantEntry, Entry, ResultEntry, SessionState, UserEntry

_TAGS: Final = re.compile(
    r"<(?=/?(?:goal_round|goal_complete|goal_blocked|notice|attached)\b)", re.IGNORECASE
)
_EMPTY: Final = "(empty)"


def inert(text: str) -> str:
    """Text in which the host's own wrapper tags are harmless: data must not look like the host."""
    return _TAGS.sub("&lt;", text)


class RequestBuilder:
    """Builds requests for one session. What it keeps is a cache of a pure function of the history."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._last: Entry | None = None
        self._header: RequestHeader | None = None
        self._head = b""
        self._tail = b""

    def build(self, state: SessionState) -> bytes:
        """The whole body for the open step of `state`.

        Raises:
            ValueError: the log holds no request header yet.
        """
        header = state.header
        if header is None:
            raise ValueError("no request header in the log")
        self._use_header(header)
        self._catch_up(state, header.model)
        return b"".join((self._head, b",".join(self._parts), self._tail))

    def _use_header(self, header: RequestHeader) -> None:
        if header is self._header:
            return
        if self._header is None or self._header.model != header.model:
            self._parts, self._last = [], None
        self._header = header
        system = msgspec.json.encode({"role": "system", "content": header.system})
        self._head = b'{"model":' + msgspec.json.encode(header.model) + b',"messages":[' + system + b","
        members: dict[str, Any] = {}
        if header.tools:
            members["tools"] = [
                {
                    "type": "function",
                    "function": {
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": tool.parameters,
                    },
                }
                for tool in header.tools
            ]
        members["stream"] = True
        members["stream_options"] = {"include_usage": True}
        members.update(header.params)
        self._tail = b"]," + msgspec.json.encode(members)[1:]

    def _catch_up(self, state: SessionState, model: str) -> None:
        history = state.history
        known = len(self._parts)
        if known > len(history) or (known and history[known - 1] is not self._last):
            self._parts, known = [], 0
        for entry in history[known:]:
            self._parts.append(msgspec.json.encode(message(entry, model)))
        self._last = history[-1] if history else None


def message(entry: Entry, model: str) -> dict[str, Any]:
    """One entry of the history as a chat message for `model`."""
    match entry:
        case UserEntry():
            return {"role": "user", "content": _user_text(entry)}
        case ResultEntry():
            content = inert(entry.content) or _EMPTY
            return {"role": "tool", "tool_call_id": entry.call_id, "content": content}
        case AssistantEntry():
            return _assistant(entry, model)


def _assistant(entry: AssistantEntry, model: str) -> dict[str, Any]:
    result: dict[str, Any] = {"role": "assistant", "content": entry.text or None}
    if entry.tool_calls:
        result["tool_calls"] = [_call(call) for call in entry.tool_calls]
        # Only the provider that streamed its reasoning in this member wants it back, and only beside calls.
        if entry.reasoning and entry.reasoning_field and entry.model == model:
            result[entry.reasoning_field] = entry.reasoning
    return result


def _call(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name or "unnamed", "arguments": _strict_arguments(call.arguments)}
    return {"id": call.call_id, "type": "function", "function": function}


def _strict_arguments(raw: str) -> str:
    """The arguments if they are a JSON object, else `{}`: some providers refuse a whole history for less."""
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeError):
        return "{}"
    return raw if isinstance(value, dict) else "{}"


def _user_text(entry: UserEntry) -> str:
    match entry.source:
        case Human():
            attached = "".join(_attached(item) for item in entry.context or ())
            return inert(entry.text) + attached
        case Notice(name="goal_complete" | "goal_blocked" as name):
            return f"<{name}>\n{inert(entry.text)}\n</{name}>"
        case Notice(name=name):
            return f'<notice name="{name}">\n{inert(entry.text)}\n</notice>'
        case _:
            return entry.text


def _attached(item: ContextItem) -> str:
    where = item.uri
    if item.range is not None:
        where += f" lines {item.range.start.line + 1}-{item.range.end.line + 1}"
    kind = item.kind or "file"
    body = f"\n{inert(item.text)}\n" if item.text else ""
    return f'\n\n<attached kind="{kind}" from="{inert(where)}">{body}</attached>'
