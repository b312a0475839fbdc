"""Tool calls in the pieces that providers really send."""

from __future__ import annotations

import pytest

from steersman.domain.reply import ReplyAssembler
from steersman.models.calls import CallPieces
from steersman.models.chunks import CallPiece, Function


def piece(
    index: int | None = None, call_id: str | None = None, name: str | None = None, arguments: object = None
) -> CallPiece:
    return CallPiece(index=index, id=call_id, function=Function(name=name, arguments=arguments))


def assembled(*chunks: list[CallPiece]) -> list[tuple[str, str, str]]:
    pieces = CallPieces()
    reply = ReplyAssembler(delta for chunk in chunks for delta in pieces.feed(chunk))
    return [(call.call_id, call.name, call.arguments) for call in reply.tool_calls]


@pytest.mark.parametrize(
    ("chunks", "calls"),
    [
        pytest.param(
            [[piece(0, "a", "read", "")], [piece(0, None, None, "{}")]], [("a", "read", "{}")], id="plain"
        ),
        pytest.param(
            [[piece(0, "a", "read", "{")], [piece(0, "a", "read", "}")]],
            [("a", "read", "{}")],
            id="id and name repeated",
        ),
        pytest.param(
            [[piece(0, "a", "read_")], [piece(0, None, "file", "{}")]],
            [("a", "read_file", "{}")],
            id="name in pieces",
        ),
        pytest.param(
            [[piece(0, "a", "read")], [piece(0, "a", "read_file")], [piece(0, "a", None, "{}")]],
            [("a", "read_file", "{}")],
            id="name grows",
        ),
        pytest.param(
            [[piece(0, "a", "read", "{}")], [piece(0, "b", "list", "{}")]],
            [("a", "read", "{}"), ("b", "list", "{}")],
            id="every call has index 0",
        ),
        pytest.param(
            [[piece(0, "a", "read", "{")], [piece(0, "noise", None, "}")]],
            [("a", "read", "{}")],
            id="a new id in every piece",
        ),
        pytest.param(
            [[piece(None, "a", "read", "{}"), piece(None, "b", "list", "{}")]],
            [("a", "read", "{}"), ("b", "list", "{}")],
            id="no index",
        ),
        pytest.param(
            [[piece(None, "a", "read", "{")], [piece(None, "b", "list", "[")], [piece(None, "a", None, "}")]],
            [("a", "read", "{}"), ("b", "list", "[")],
            id="no index, mixed by id",
        ),
        pytest.param(
            [
                [piece(None, None, "read", "{}"), piece(None, None, "read", "{}")],
                [piece(None, None, "list", "{}")],
            ],
            [("", "read", "{}"), ("", "read", "{}"), ("", "list", "{}")],
            id="no index, no id",
        ),
        pytest.param(
            [
                [piece(None, None, "read", '{"a"')],
                [piece(None, None, "read", ":1}")],
                [piece(None, None, "read", "{}")],
            ],
            [("", "read", '{"a":1}'), ("", "read", "{}")],
            id="no index, no id, name repeated",
        ),
        pytest.param(
            [[piece(None, None, "read")], [piece(None, None, "list")]],
            [("", "read", ""), ("", "list", "")],
            id="no index, no id, no arguments",
        ),
        pytest.param(
            [[piece(3, "", "read", "{}")], [piece(3, "late")], [piece(1, "b", "list")]],
            [("late", "read", "{}"), ("b", "list", "")],
            id="odd indices, late id",
        ),
        pytest.param(
            [[piece(0, "a", "read", {"x": 1})]], [("a", "read", '{"x":1}')], id="arguments as an object"
        ),
        pytest.param([[piece(0, "a", "read", None)], [CallPiece(index=0)]], [("a", "read", "")], id="nulls"),
    ],
)
def test_pieces_make_whole_calls(chunks: list[list[CallPiece]], calls: list[tuple[str, str, str]]) -> None:
    assert assembled(*chunks) == calls


def test_ten_calls_mixed_piece_by_piece_stay_apart() -> None:
    chunks = [[piece(n, f"id{n}", f"tool{n}", "")] for n in range(10)]
    chunks += [[piece(n, None, None, text)] for text in ('{"n":', "{n}", "}") for n in range(10)]
    calls = assembled(*[[*c] for c in chunks])
    assert [call[:2] for call in calls] == [(f"id{n}", f"tool{n}") for n in range(10)]


def test_a_piece_that_says_nothing_is_no_delta() -> None:
    pieces = CallPieces()
    assert len(pieces.feed([piece(0, "a", "read", "")])) == 1
    assert pieces.feed([piece(0, "a", "read", ""), piece(0)]) == []
