"""What deltas add up to, live and when a log is read again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from steersman.domain.messages import Delta, ToolCall, ToolCallDelta
from steersman.domain.reply import ReplyAssembler


def call(index: int, **members: str | None) -> Delta:
    return Delta(tool_call=ToolCallDelta(index=index, **members))


def test_nothing_adds_up_to_nothing() -> None:
    reply = ReplyAssembler()
    assert (reply.text, reply.reasoning, reply.tool_calls) == ("", "", [])


def test_calls_stand_in_the_order_of_their_first_pieces_with_their_first_ids() -> None:
    deltas = [
        call(7, name="read"),
        call(2, id="b", name="li"),
        call(7, id="", arguments="{"),
        call(7, id="a", arguments="}"),
        call(2, id="other", name="st"),
    ]
    assert ReplyAssembler(deltas).tool_calls == [
        ToolCall(call_id="a", name="read", arguments="{}"),
        ToolCall(call_id="b", name="list", arguments=""),
    ]


@given(st.lists(st.tuples(st.booleans(), st.text(max_size=5)), max_size=20))
def test_text_and_reasoning_keep_every_character_in_order(pieces: list[tuple[bool, str]]) -> None:
    reply = ReplyAssembler(Delta(text=words) if said else Delta(reasoning=words) for said, words in pieces)
    assert reply.text == "".join(words for said, words in pieces if said)
    assert reply.reasoning == "".join(words for said, words in pieces if not said)
