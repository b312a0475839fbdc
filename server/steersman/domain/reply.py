"""What streamed pieces add up to. Pure: live assembly and recovery use the same addition."""

from __future__ import annotations

from collections.abc import Iterable

from steersman.domain.messages import Delta, ToolCall, ToolCallDelta


class ReplyAssembler:
    """Adds up the deltas of one reply, in the order in which they came."""

    def __init__(self, deltas: Iterable[Delta] = ()) -> None:
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: dict[int, _Call] = {}
        for delta in deltas:
            self.feed(delta)

    def feed(self, delta: Delta) -> None:
        """Add one more delta."""
        if delta.text:
            self._text.append(delta.text)
        if delta.reasoning:
            self._reasoning.append(delta.reasoning)
        if delta.tool_call is not None:
            self._calls.setdefault(delta.tool_call.index, _Call()).feed(delta.tool_call)

    @property
    def text(self) -> str:
        return "".join(self._text)

    @property
    def reasoning(self) -> str:
        return "".join(self._reasoning)

    @property
    def tool_calls(self) -> list[ToolCall]:
        """The calls in the order of their first pieces. An id is empty where the provider gave none."""
        return [call.whole() for call in self._calls.values()]


class _Call:
    """One call in pieces: the first id counts, names and arguments are joined."""

    def __init__(self) -> None:
        self._id = ""
        self._name: list[str] = []
        self._arguments: list[str] = []

    def feed(self, piece: ToolCallDelta) -> None:
        self._id = self._id or piece.id or ""
        if piece.name:
            self._name.append(piece.name)
        if piece.arguments:
            self._arguments.append(piece.arguments)

    def whole(self) -> ToolCall:
        return ToolCall(call_id=self._id, name="".join(self._name), arguments="".join(self._arguments))
