"""The request builder: from the folded state to the bytes of a chat-completions request.

In this order: the header's system text, what stands for the earlier conversation, the conversation since,
and – where the objective is not in it – the goal as it stands. So between two compactions the prefix is the
same, byte for byte. Each part is encoded once and stays encoded, so building costs the same at step 2,000 as
at step 20. The log keeps what the model wrote; the request holds only what a strict provider accepts.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from steersman.context.condensed import earlier_text
from steersman.context.goal_text import state_text
from steersman.context.inert import inert
from steersman.context.shortened import short_result
from steersman.domain.events import RequestHeader
from steersman.domain.goal import Goal
from steersman.domain.messages import ContextItem, GoalSource, Human, Notice, ToolCall
from steersman.domain.state import AssistantEntry, Compaction, Entry, ResultEntry, SessionState, UserEntry

_EMPTY: Final = "(empty)"
_BYTES_PER_TOKEN: Final = 4


class RequestBuilder:
    """Builds requests for one session. What it keeps is a cache of a pure function of the history."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._last: Entry | None = None
        self._header: RequestHeader | None = None
        self._compaction: Compaction | None = None
        self._earlier: list[bytes] = []
        self._head = b""
        self._tail = b""

    def build(self, state: SessionState) -> bytes:
        """The whole body for the open step of `state`.

        Raises:
            ValueError: the log holds no request header yet.
        """
        self._prepare(state)
        return b"".join((self._head, *self._earlier, *self._parts, *_task_layer(state), self._tail))

    def tokens(self, state: SessionState) -> int:
        """What the next request takes: what the model told of the last one, and what came since, estimated.

        Raises:
            ValueError: as `build`.
        """
        self._prepare(state)
        history, fresh = state.history, 0
        for index in range(len(history) - 1, -1, -1):
            if history[index].seq <= state.measured_seq:
                break
            fresh += len(self._parts[index])
        if not state.measured_seq:
            fresh += len(self._head) + len(self._tail)
        return state.context_tokens + -(-fresh // _BYTES_PER_TOKEN)

    def sizes(self, state: SessionState) -> list[int]:
        """The bytes of each entry of the history. Raises ValueError as `build`."""
        self._prepare(state)
        return [len(part) for part in self._parts]

    def _prepare(self, state: SessionState) -> None:
        header = state.header
        if header is None:
            raise ValueError("no request header in the log")
        if state.compaction is not self._compaction:
            self._parts, self._last, self._compaction = [], None, state.compaction
            self._earlier = [*_earlier(state.compaction)]
        self._use_header(header)
        self._catch_up(state, header.model)

    def _use_header(self, header: RequestHeader) -> None:
        if header is self._header:
            return
        if self._header is None or self._header.model != header.model:
            self._parts, self._last = [], None
        self._header = header
        system = msgspec.json.encode({"role": "system", "content": header.system})
        self._head = b'{"model":' + msgspec.json.encode(header.model) + b',"messages":[' + system
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
        short = state.compaction.results_through_seq if state.compaction is not None else 0
        for index in range(known, len(history)):
            self._parts.append(_part(message(history[index], model, short)))
        self._last = history[-1] if history else None


def _part(value: dict[str, Any]) -> bytes:
    """A message as it stands behind another one: so a request is one copy of its parts."""
    return b"," + msgspec.json.encode(value)


def _earlier(compaction: Compaction | None) -> list[bytes]:
    """The message that stands for the earlier conversation, if some of it is left out."""
    if compaction is None or not compaction.through_seq:
        return []
    return [_part({"role": "user", "content": earlier_text(compaction)})]


def _task_layer(state: SessionState) -> list[bytes]:
    """The goal as it stands, where no message of a round in the history tells it (anew in every request)."""
    goal, compaction, told = state.goal, state.compaction, state.round_told
    if goal is None or goal.phase != "active" or compaction is None:
        return []
    if told is not None and told.seq > compaction.through_seq and _tells(told, goal):
        return []
    return [_part({"role": "user", "content": state_text(state.goals, goal)})]


def _tells(told: UserEntry, goal: Goal) -> bool:
    source = told.source
    return isinstance(source, GoalSource) and (source.goal_id, source.revision) == (goal.id, goal.revision)


def message(entry: Entry, model: str, short_through: int = 0) -> dict[str, Any]:
    """One entry of the history as a chat message for `model`; results up to `short_through` are shortened."""
    match entry:
        case UserEntry():
            return {"role": "user", "content": _user_text(entry)}
        case ResultEntry():
            whole = entry.seq > short_through
            content = inert(entry.content if whole else short_result(entry.content)) or _EMPTY
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
