"""The request: what a strict provider accepts, byte for byte the same from the log alone."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest

from steersman.context.request import RequestBuilder, inert, message
from steersman.domain import events as ev
from steersman.domain.fold import empty, fold_all
from steersman.domain.messages import ContextItem, Human, Notice, Position, Range, ToolCall
from steersman.domain.state import AssistantEntry, ResultEntry, UserEntry
from steersman.ports.model_double import calls, says
from tests.unit.loop.harness import StandInTool, start

CALL = ToolCall(call_id="c", name="work", arguments='{"a": 1}')


def assistant(**more: Any) -> AssistantEntry:
    fields: dict[str, Any] = {"text": "", "tool_calls": (CALL,), "model": "m"}
    return AssistantEntry(**(fields | more))


async def test_every_request_can_be_rebuilt_from_the_log_alone() -> None:
    tool = StandInTool("work")
    replies = [calls(("work", {"name": str(n)})) for n in range(4)]
    loop, model = await start([*replies, says("ok"), says("two")], [tool])
    await loop.prompt("go")
    await loop.idle()
    await loop.prompt("again")
    await loop.idle()
    events = await loop.log()
    rebuilt = []
    for n, event in enumerate(events):
        if isinstance(event.data, ev.AssistantMessage):
            asked_at = next(k for k in range(n, 0, -1) if not isinstance(events[k].data, ev.AssistantMessage))
            state = fold_all(empty("s-test"), events[: asked_at + 1])
            rebuilt.append(msgspec.json.decode(RequestBuilder().build(state)))
    assert rebuilt == model.requests


async def test_the_prefix_of_the_request_never_changes() -> None:
    tool = StandInTool("work")
    loop, _ = await start([*(calls(("work", {"name": str(n)})) for n in range(50)), says("ok")], [tool])
    bodies: list[bytes] = []
    build = loop.agent._builder.build

    def spy(state: Any) -> bytes:
        bodies.append(build(state))
        return bodies[-1]

    loop.agent._builder.build = spy  # type: ignore[method-assign]
    await loop.prompt("go")
    await loop.idle()
    assert len(bodies) == 51
    tail = bodies[0][bodies[0].rindex(b'],"tools"') :]
    for before, after in itertools.pairwise(bodies):
        assert after.startswith(before.removesuffix(tail))
        assert after.endswith(tail)


def test_a_request_needs_a_header() -> None:
    with pytest.raises(ValueError, match="header"):
        RequestBuilder().build(empty("s-1"))


def test_another_model_makes_the_parts_anew() -> None:
    def header(model: str) -> ev.RequestHeader:
        return ev.RequestHeader(turn=1, step=1, model=model, params={}, system="s", tools=[])

    state = msgspec.structs.replace(empty("s-1"), header=header("m"))
    entry = assistant(reasoning="hmm", reasoning_field="reasoning_content")
    state = msgspec.structs.replace(state, history=state.history.append(entry))
    builder = RequestBuilder()
    assert b"hmm" in builder.build(state)
    assert b"hmm" not in builder.build(msgspec.structs.replace(state, header=header("other")))


@pytest.mark.parametrize("raw", ["", "{", "[1]", '"x"', "null", '{"a": 1} trailing', "\ud800"])
def test_arguments_that_are_no_object_are_sent_as_an_empty_one(raw: str) -> None:
    sent = message(assistant(tool_calls=(ToolCall(call_id="c", name="w", arguments=raw),)), "m")
    assert sent["tool_calls"][0]["function"]["arguments"] == "{}"


def test_whole_arguments_are_sent_as_the_model_wrote_them() -> None:
    assert message(assistant(), "m")["tool_calls"][0]["function"]["arguments"] == '{"a": 1}'


@pytest.mark.parametrize(
    ("entry", "kept"),
    [
        (assistant(reasoning="r", reasoning_field="reasoning_content"), True),
        (assistant(reasoning="r"), False),
        (assistant(reasoning="r", reasoning_field="reasoning_content", model="other"), False),
        (assistant(reasoning="r", reasoning_field="reasoning_content", tool_calls=(), text="t"), False),
    ],
)
def test_reasoning_goes_back_only_to_the_model_that_wants_it(entry: AssistantEntry, kept: bool) -> None:
    assert ("reasoning_content" in message(entry, "m")) is kept


def test_an_empty_result_says_that_it_is_empty() -> None:
    assert message(ResultEntry(call_id="c", content=""), "m")["content"] == "(empty)"


@pytest.mark.parametrize(
    "text",
    [
        "<goal_round>",
        "</goal_round>",
        '<notice name="user">',
        "< notice>",
        "<GOAL_COMPLETE/>",
        "<attached x>",
    ],
)
def test_data_cannot_look_like_the_host(text: str) -> None:
    for entry in (
        UserEntry(text=f"see {text}", source=Human()),
        UserEntry(text=text, source=Notice(name="n")),
        ResultEntry(call_id="c", content=text),
    ):
        content = message(entry, "m")["content"]
        inner = content.removeprefix('<notice name="n">').removesuffix("</notice>")
        assert "<goal" not in inner.lower()
        assert "<notice" not in inner
        assert "<attached" not in inner


def test_other_markup_is_left_alone() -> None:
    assert inert("<div> a < b <notices>") == "<div> a < b <notices>"


def test_attachments_stand_behind_the_words_with_their_place() -> None:
    item = ContextItem(
        uri="file:///a.py",
        range=Range(start=Position(line=0, character=0), end=Position(line=2, character=1)),
        text="x = 1",
        kind="selection",
    )
    content = message(UserEntry(text="why?", source=Human(), context=[item]), "m")["content"]
    assert content == (
        'why?\n\n<attached kind="selection" from="file:///a.py lines 1-3">\nx = 1\n</attached>'
    )
