"""Tool calls in pieces, brought to one form: dense indices, one id, a name told once, arguments appended.

Providers leave out the index or the id, use index 0 for every call, repeat the id or the whole name in each
piece, send names in pieces, or send arguments as an object. The rules here are checked against recordings
of real streams.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from steersman.domain.messages import Delta, ToolCallDelta
from steersman.models.chunks import CallPiece


class CallPieces:
    """Assigns the pieces of one reply to its calls. A call gets its index by the order of first pieces."""

    def __init__(self) -> None:
        self._calls: list[_Seen] = []
        self._by_index: dict[int, _Seen] = {}

    def feed(self, pieces: Iterable[CallPiece]) -> list[Delta]:
        """The deltas of the pieces of one chunk; none for a piece that says nothing new."""
        deltas = []
        used: set[int] = set()
        for piece in pieces:
            call = self._call_of(piece, used)
            used.add(call.index)
            news = call.news(piece)
            if news is not None:
                deltas.append(Delta(tool_call=news))
        return deltas

    def _call_of(self, piece: CallPiece, used: set[int]) -> _Seen:
        if piece.index is None:
            return self._by_content(piece, used) or self._new(piece)
        call = self._by_index.get(piece.index)
        # A new id with a name is a new call even under an old index; a new id alone is noise.
        if call is None or (_name(piece) and _differs(piece.id, call.id)):
            call = self._by_index[piece.index] = self._new(piece)
        return call

    def _by_content(self, piece: CallPiece, used: set[int]) -> _Seen | None:
        """The call that a piece without an index goes on with: by its id, else the last one if it is open."""
        if piece.id:
            known = next((call for call in self._calls if call.id == piece.id), None)
            if known is not None:
                return known
        last = self._calls[-1] if self._calls else None
        if last is None or last.index in used or _differs(piece.id, last.id):
            return None
        name = _name(piece)
        return None if name and last.is_other(name) else last

    def _new(self, piece: CallPiece) -> _Seen:
        call = _Seen(len(self._calls), piece.id or "")
        self._calls.append(call)
        return call


class _Seen:
    """What of a call has been passed on."""

    def __init__(self, index: int, call_id: str) -> None:
        self.index = index
        self.id = call_id
        self._told = False
        self._name = ""
        self._arguments: list[str] = []

    def is_other(self, name: str) -> bool:
        """Whether a name without index or id begins a call after this one."""
        if not self._name:
            return False
        return name != self._name or _is_whole("".join(self._arguments))

    def news(self, piece: CallPiece) -> ToolCallDelta | None:
        self.id = self.id or piece.id or ""
        call_id = self.id if self.id and not self._told else None
        self._told = self._told or call_id is not None
        name = self._new_name(_name(piece))
        arguments = _arguments(piece)
        if arguments:
            self._arguments.append(arguments)
        if call_id is None and not name and not arguments:
            return None
        return ToolCallDelta(index=self.index, id=call_id, name=name or None, arguments=arguments or None)

    def _new_name(self, name: str) -> str:
        """What a piece adds to the name. One that begins with all of it tells it again from the start."""
        if self._arguments:
            return ""
        addition = name.removeprefix(self._name)
        self._name += addition
        return addition


def _name(piece: CallPiece) -> str:
    return (piece.function.name or "") if piece.function else ""


def _arguments(piece: CallPiece) -> str:
    value: Any = piece.function.arguments if piece.function else None
    if value is None or isinstance(value, str):
        return value or ""
    return msgspec.json.encode(value).decode()


def _differs(new: str | None, known: str) -> bool:
    return bool(new) and bool(known) and new != known


def _is_whole(arguments: str) -> bool:
    try:
        msgspec.json.decode(arguments)
    except (msgspec.DecodeError, UnicodeError):
        return False
    return True
