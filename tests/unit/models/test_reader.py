"""Text, reasoning and halves of characters, as a reader passes them on."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.domain.messages import Delta
from steersman.domain.reply import ReplyAssembler
from steersman.errors import ModelFailed
from steersman.models.reader import ReplyReader
from steersman.ports.model import Finish
from tests.fixtures.provider import DONE, chunk, fin, tc, txt

EMOJI = "\U0001f600"


def read(*pieces: bytes) -> tuple[ReplyAssembler, Finish]:
    reader = ReplyReader()
    deltas = [delta for piece in pieces for delta in reader.feed(piece)]
    *rest, finish = reader.end()
    assert isinstance(finish, Finish)
    deltas += [delta for delta in rest if isinstance(delta, Delta)]
    return ReplyAssembler(deltas), finish


def code_of(*pieces: bytes) -> str:
    try:
        read(*pieces)
    except ModelFailed as failure:
        return failure.code
    return "answer"


def body(delta: Any) -> ReplyAssembler:
    return read(chunk(delta), fin("stop"), DONE)[0]


@pytest.mark.parametrize(
    ("delta", "text", "reasoning"),
    [
        ({"content": [{"type": "text", "text": "a"}, "b", 3, {"type": "image"}]}, "ab", ""),
        ({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "t"}]}]}, "", "t"),
        ({"content": [{"type": "thinking", "thinking": "t"}]}, "", "t"),
        ({"reasoning": "r", "reasoning_details": [{"type": "reasoning.text", "text": "r"}]}, "", "r"),
        ({"reasoning_details": [{"text": "r"}, {"data": "x"}, None]}, "", "r"),
        ({"reasoning_content": "r", "reasoning": "r", "content": "a"}, "a", "r"),
        ({"reasoning": {"effort": "high"}, "content": "a"}, "a", ""),
        ({"refusal": "No.", "content": None}, "No.", ""),
    ],
)
def test_words_come_from_wherever_the_provider_put_them(delta: Any, text: str, reasoning: str) -> None:
    reply = body(delta)
    assert (reply.text, reply.reasoning) == (text, reasoning)


def test_a_function_call_of_the_old_kind_is_a_call() -> None:
    [call] = body({"function_call": {"name": "read", "arguments": "{}"}}).tool_calls
    assert (call.name, call.arguments) == ("read", "{}")


def test_text_and_calls_keep_their_order() -> None:
    reader = ReplyReader()
    pieces = (txt("Let me look. "), tc(0, "a", "list", "{}"), txt("done"))
    deltas = [delta for piece in pieces for delta in reader.feed(piece)]
    assert [bool(delta.tool_call) for delta in deltas] == [False, True, False]


def test_only_the_first_of_several_choices_counts() -> None:
    both = {"choices": [{"index": 1, "delta": {"content": "no"}}, {"index": 0, "delta": {"content": "yes"}}]}
    reply, _ = read(b"data: " + json.dumps(both).encode() + b"\n\n", DONE)
    assert reply.text == "yes"


@pytest.mark.parametrize("member", ["content", "reasoning_content"])
def test_a_character_split_between_two_chunks_is_whole_again(member: str) -> None:
    high, low = (json.dumps(EMOJI)[1:-1][start : start + 6] for start in (0, 6))
    halves = [chunk({member: "X"}).replace(b"X", half.encode()) for half in (f"a{high}", f"{low}b")]
    reply, _ = read(*halves, DONE)
    assert (reply.text or reply.reasoning) == f"a{EMOJI}b"


def test_a_half_character_alone_becomes_a_replacement_and_harms_nothing() -> None:
    reply, _ = read(chunk({"content": "X"}).replace(b"X", b"a\\ude00b"), chunk({"content": "c"}), DONE)
    assert reply.text == "a\ufffdbc"


@pytest.mark.parametrize("odd", [b'"logprobs": NaN', b'"logprobs": -Infinity', b'"x": "\xff\xfe"'])
def test_what_strict_json_refuses_but_providers_send_is_read(odd: bytes) -> None:
    reply, _ = read(b'data: {"choices": [{"delta": {"content": "a"}}], ' + odd + b"}\n\n", DONE)
    assert reply.text == "a"


def test_json_nested_without_end_is_a_cut_answer_not_a_crash() -> None:
    with pytest.raises(ModelFailed) as caught:
        read(b"data: " + b"[" * 100_000 + b"\n\n")
    assert caught.value.code == "transport"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
members = ["content", "reasoning", "reasoning_content", "reasoning_details", "tool_calls", "refusal"]


@given(st.dictionaries(st.sampled_from(members), json_values), json_values, json_values)
def test_whatever_a_provider_sends_ends_in_an_answer_or_a_named_failure(
    delta: Any, usage: Any, reason: Any
) -> None:
    value = {"choices": [{"delta": delta, "finish_reason": reason}], "usage": usage}
    outcome = code_of(b"data: " + json.dumps(value).encode() + b"\n\n", DONE)
    assert outcome in ("answer", "empty", "transport", "protocol")


@given(st.binary(max_size=300))
def test_any_bytes_at_all_end_in_an_answer_or_a_named_failure(data: bytes) -> None:
    assert code_of(data) in ("answer", "empty", "transport", "protocol", "context-limit", "quota")
