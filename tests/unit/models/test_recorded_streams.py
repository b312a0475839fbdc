"""Streams of real providers assemble to what they say, wherever the network cuts them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from steersman.domain.messages import Delta
from steersman.domain.reply import ReplyAssembler
from steersman.errors import ModelFailed
from steersman.models.reader import ReplyReader
from steersman.ports.model import Finish
from tests.unit.models.corpus import ROOT, Recording, needs_corpus, recordings

pytestmark = needs_corpus
ALL = recordings()
SMALL_BYTES = 2000


def cut(body: bytes, size: int) -> Iterator[bytes]:
    return (body[start : start + size] for start in range(0, len(body), size))


def read(pieces: Iterable[bytes]) -> tuple[ReplyAssembler, list[Delta], Finish | None, ModelFailed | None]:
    reader, deltas, finish = ReplyReader(), [], None
    try:
        for piece in pieces:
            deltas += reader.feed(piece)
            if reader.done:
                break
        for item in reader.end():
            if isinstance(item, Finish):
                finish = item
            else:
                deltas.append(item)
    except ModelFailed as failure:
        return ReplyAssembler(deltas), deltas, None, failure
    return ReplyAssembler(deltas), deltas, finish, None


def assert_as_recorded(recording: Recording, pieces: Iterable[bytes]) -> None:
    reply, _, finish, failure = read(pieces)
    assert [(c.call_id, c.name, c.arguments) for c in reply.tool_calls] == recording.calls
    assert reply.reasoning == (recording.choice["reasoning"] or "")
    if recording.expected["errors"]:
        assert recording.text.startswith(reply.text)
        assert failure is not None
        assert failure.code == "transport"
        assert failure.retryable
    else:
        assert reply.text == recording.text
        assert failure is None
        assert finish is not None
        assert finish.finish_reason == recording.choice["finish_reason"]


@pytest.mark.parametrize("size", [1, 7, 37, 1000, 1 << 20])
@pytest.mark.parametrize("recording", ALL)
def test_a_recorded_stream_assembles_to_what_it_says_in_pieces_of_any_size(
    recording: Recording, size: int
) -> None:
    assert_as_recorded(recording, cut(recording.body, size))


@pytest.mark.parametrize("recording", [p for p in ALL if len(p.values[0].body) <= SMALL_BYTES])
def test_a_small_stream_assembles_to_what_it_says_cut_in_two_at_every_byte(recording: Recording) -> None:
    for offset in range(len(recording.body)):
        assert_as_recorded(recording, (recording.body[:offset], recording.body[offset:]))


@pytest.mark.parametrize("recording", ALL)
def test_line_ends_and_a_byte_order_mark_do_not_matter(recording: Recording) -> None:
    for line_end in (b"\r\n", b"\r"):
        body = b"\xef\xbb\xbf" + recording.body.replace(b"\r\n", b"\n").replace(b"\n", line_end)
        assert_as_recorded(recording, cut(body, 5))


@pytest.mark.parametrize("recording", [p for p in ALL if len(p.values[0].body) <= SMALL_BYTES])
def test_a_stream_that_ends_early_is_finished_only_where_it_says_so(recording: Recording) -> None:
    """Cut for good at every byte: whatever calls a finished answer holds are those of the whole stream."""
    for offset in range(len(recording.body)):
        reply, _, finish, failure = read([recording.body[:offset]])
        if finish is None:
            assert failure is not None
            assert failure.retryable
        else:
            assert finish.finish_reason is not None or b"[DONE]" in recording.body[:offset]
            assert [(c.call_id, c.name, c.arguments) for c in reply.tool_calls] == recording.calls


@pytest.mark.parametrize("recording", ALL)
def test_ids_are_told_once_and_names_are_never_doubled(recording: Recording) -> None:
    _, deltas, _, _ = read([recording.body])
    calls = [delta.tool_call for delta in deltas if delta.tool_call is not None]
    for index in {call.index for call in calls}:
        assert sum(call.id is not None for call in calls if call.index == index) == 1
        assert sum(call.name is not None for call in calls if call.index == index) == 1
    assert all(delta.text != "" and delta.reasoning != "" for delta in deltas)


@pytest.mark.parametrize("recording", ALL)
def test_recorded_usage_comes_out_in_one_normal_form(recording: Recording) -> None:
    told = recording.expected["usage"]
    _, _, finish, _ = read([recording.body])
    if finish is None:
        return
    if not told:
        assert finish.usage is None
        return
    assert finish.usage is not None
    assert finish.usage.requests == 1
    assert finish.usage.input_tokens + finish.usage.output_tokens == told["total_tokens"]
    assert finish.usage.cached_input_tokens <= finish.usage.input_tokens
    assert finish.usage.reasoning_tokens <= finish.usage.output_tokens


@pytest.mark.parametrize("recording", ALL)
def test_only_reasoning_content_is_wanted_back(recording: Recording) -> None:
    _, _, finish, _ = read([recording.body])
    if finish is not None:
        wanted = recording.choice["reasoning_field"] == "reasoning_content"
        assert (finish.reasoning_field == "reasoning_content") == wanted


@pytest.mark.parametrize("path", sorted(ROOT.glob("other-protocols/*.sse")), ids=lambda path: path.stem)
def test_a_stream_of_another_protocol_is_named_as_such(path: Path) -> None:
    body = path.read_bytes()
    for size in (1, 100, len(body)):
        _, deltas, _, failure = read(cut(body, size))
        assert failure is not None
        assert failure.code == "protocol"
        assert not failure.retryable
        assert deltas == []
