"""The feed: everything is told once and in order, in frames of a bounded size, however slow the client is."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from steersman.domain.events import CHUNK, StoredEvent
from steersman.lsp.feed import Feeds, LspFeed
from steersman.ports.feed import RecordingFeed
from tests.lsp.test_progress import info


class Line:
    """A writer that a test makes busy; what is sent is kept."""

    def __init__(self) -> None:
        self.busy = False
        self.sent: list[bytes] = []
        self._waiting: list[Callable[[], None]] = []

    def send(self, body: bytes) -> None:
        self.sent.append(body)

    def when_free(self, callback: Callable[[], None]) -> None:
        self._waiting.append(callback)

    def free(self) -> None:
        self.busy = False
        waiting, self._waiting = self._waiting, []
        for callback in waiting:
            callback()

    def told(self) -> list[Any]:
        """Sequence numbers of events, and `changed` where a value was told, by session."""
        told: list[Any] = []
        for body in self.sent:
            message = json.loads(body)
            params = message["params"]
            if message["method"] == "steersman/session/didChange":
                told.append((params["session"]["sessionId"], "changed"))
            else:
                told += [(params["sessionId"], event["seq"]) for event in params["events"]]
        return told


def chunk(seq: int, size: int = 2) -> StoredEvent:
    return StoredEvent(seq=seq, time=1, type=CHUNK, data=b'"' + b"x" * size + b'"')


def event(seq: int) -> StoredEvent:
    return StoredEvent(seq=seq, time=1, type="turn/start", data=b"{}")


def feed_of(line: Line) -> LspFeed:
    return LspFeed(line)  # type: ignore[arg-type]


def test_a_client_that_keeps_up_is_told_at_once() -> None:
    line = Line()
    feed_of(line).appended("s", [chunk(1)])
    assert line.told() == [("s", 1)]


def test_chunks_for_a_client_that_lags_are_put_together() -> None:
    line = Line()
    feed = feed_of(line)
    line.busy = True
    for seq in range(1, 101):
        feed.appended("s", [chunk(seq)])
    assert line.sent == []
    line.free()
    assert line.told() == [("s", seq) for seq in range(1, 101)]
    assert len(line.sent) == 1


def test_what_is_no_chunk_never_waits_and_takes_the_chunks_before_it_along() -> None:
    line = Line()
    feed = feed_of(line)
    line.busy = True
    feed.appended("s", [chunk(1)])
    feed.appended("other", [chunk(1)])
    feed.appended("s", [event(2)])
    assert line.told() == [("s", 1), ("s", 2)]
    feed.appended("s", [chunk(3)])
    feed.changed(info(session_id="s"))
    assert line.told()[2:] == [("s", 3), ("s", "changed")]
    line.free()
    assert line.told()[4:] == [("other", 1)]


def test_what_was_put_together_is_still_cut_into_frames() -> None:
    line = Line()
    feed = feed_of(line)
    line.busy = True
    for seq in range(1, 2001):
        feed.appended("s", [chunk(seq, 500)])
    line.free()
    assert line.told() == [("s", seq) for seq in range(1, 2001)]
    assert max(map(len, line.sent)) < 256 * 1024


def test_many_small_events_are_cut_by_their_whole_size() -> None:
    line = Line()
    feed_of(line).appended("s" * 60, [event(seq) for seq in range(5000)])
    assert len(line.told()) == 5000
    assert max(map(len, line.sent)) < 256 * 1024


STEPS = st.lists(
    st.tuples(st.sampled_from(["chunk", "event", "both", "changed", "busy", "free"]), st.sampled_from("ab")),
    max_size=60,
)


@given(STEPS)
def test_nothing_is_lost_doubled_or_out_of_order(steps: list[tuple[str, str]]) -> None:
    line = Line()
    feed = feed_of(line)
    expected: dict[str, list[Any]] = {"a": [], "b": []}
    for step, session in steps:
        mine = expected[session]
        seq = sum(isinstance(each[1], int) for each in mine) + 1
        if step == "busy":
            line.busy = True
        elif step == "free":
            line.free()
        elif step == "changed":
            feed.changed(info(session_id=session))
            mine.append((session, "changed"))
        else:
            events = {"chunk": [chunk(seq)], "event": [event(seq)], "both": [chunk(seq), event(seq + 1)]}[
                step
            ]
            feed.appended(session, events)
            mine += [(session, each.seq) for each in events]
    line.free()
    assert {s: [each for each in line.told() if each[0] == s] for s in "ab"} == expected


def test_a_listener_that_fails_does_not_silence_the_others() -> None:
    failures: list[BaseException] = []
    feeds = Feeds(failures.append)
    last = RecordingFeed()

    class Broken(RecordingFeed):
        def appended(self, session_id: str, events: Any) -> None:
            raise ValueError("broken")

        changed = appended  # type: ignore[assignment]

    feeds.add(Broken())
    feeds.add(last)
    feeds.appended("s", [event(1)])
    feeds.changed(info())
    assert last.order == ["appended", "changed"]
    assert len(failures) == 2
