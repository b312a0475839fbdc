"""The strict fold: what a valid log folds to, and that any single change of it is refused."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.domain import events as ev
from steersman.domain.fold import empty, fold, fold_all, pass_chunk, pass_chunks
from steersman.domain.messages import Delta, Human, Notice, ToolCall
from steersman.domain.state import SessionState
from steersman.domain.usage import Usage
from steersman.errors import LogViolation

USAGE = Usage(requests=1, input_tokens=10, output_tokens=5)
HEADER = ev.RequestHeader(turn=1, step=1, model="m", params={}, system="s", tools=[])


def queued(message_id: str, queue: str = "next-turn") -> ev.InboxQueued:
    return ev.InboxQueued(
        message_id=message_id,
        queue=queue,  # type: ignore[arg-type]
        source=Human(),
        text=f"text of {message_id}",
        method="turn/prompt",
        outcome="queued",
    )


def told(message_id: str, step: int) -> ev.UserMessage:
    return ev.UserMessage(
        turn=1, step=step, message_id=message_id, source=Human(), text=f"text of {message_id}"
    )


VALID: list[ev.EventData] = [
    ev.SessionCreated(format_version=1, workspace_folder=None, title="t"),
    ev.SessionOpened(reason="new", server="s"),
    queued("m1"),
    ev.TurnStart(turn=1, trigger="human"),
    ev.TaskChanged(from_="IDLE", to="IN_PROGRESS", cause="turn"),
    ev.InboxClaimed(message_ids=["m1"], turn=1, step=1),
    ev.StepStart(turn=1, step=1),
    told("m1", 1),
    HEADER,
    ev.AssistantChunk(turn=1, step=1, attempt=1, deltas=[Delta(text="x")]),
    ev.ModelRetry(turn=1, step=1, attempt=1, code="server", delay_ms=1),
    ev.AssistantMessage(
        turn=1,
        step=1,
        text="",
        tool_calls=[ToolCall(call_id=c, name="work", arguments="{}") for c in ("a", "b")],
        finish_reason="tool_calls",
        usage=USAGE,
    ),
    ev.ToolCalled(turn=1, step=1, call_id="a", name="work", arguments="{}", mode="parallel"),
    ev.ToolCalled(turn=1, step=1, call_id="b", name="work", arguments="{}", mode="parallel"),
    ev.ApprovalAsked(
        approval_id="ap", call_id="a", turn=1, tool="work", title="t", detail="", risk="execute"
    ),
    ev.ApprovalDecided(approval_id="ap", decision="allowOnce", by="human"),
    ev.ToolStart(turn=1, step=1, call_id="a"),
    ev.ToolStart(turn=1, step=1, call_id="b"),
    queued("m2", "next-step"),
    queued("m3"),
    ev.ToolResult(turn=1, step=1, call_id="a", outcome="ok", content="1"),
    ev.ToolResult(turn=1, step=1, call_id="b", outcome="ok", content="2"),
    ev.StepEnd(turn=1, step=1, usage=USAGE),
    ev.InboxClaimed(message_ids=["m2"], turn=1, step=2),
    ev.StepStart(turn=1, step=2),
    told("m2", 2),
    ev.AssistantMessage(turn=1, step=2, text="hi", tool_calls=[], finish_reason="stop", usage=USAGE),
    ev.StepEnd(turn=1, step=2, usage=USAGE),
    ev.TurnEnd(turn=1, reason=ev.Completed()),
    ev.InboxHeld(reason="cancelled"),
    ev.InboxEdited(message_id="m3", text="better"),
    ev.InboxReleased(),
    ev.InboxRemoved(message_id="m3", reason="withdrawn"),
]


def log(data: list[ev.EventData] | None = None) -> list[ev.Event]:
    return [ev.make_event("s-1", seq, 1000 + seq, item) for seq, item in enumerate(data or VALID, 1)]


def folded(events: list[ev.Event]) -> SessionState:
    return fold_all(empty("s-1"), events)


def test_a_valid_log_folds_to_its_state() -> None:
    state = folded(log())
    assert (state.turns, state.turn, state.task) == (1, None, "IN_PROGRESS")
    assert state.usage.requests == 2
    assert state.inbox.next_turn == ()
    assert [type(entry).__name__ for entry in state.history] == [
        "UserEntry", "AssistantEntry", "ResultEntry", "ResultEntry", "UserEntry", "AssistantEntry",
    ]  # fmt: skip


def test_folding_twice_gives_the_same() -> None:
    assert folded(log()) == folded(log())


def test_every_prefix_folds_and_a_fold_can_be_continued() -> None:
    events = log()
    for cut in range(len(events) + 1):
        assert fold_all(folded(events[:cut]), events[cut:]) == folded(events)


def test_a_chunk_row_passes_without_its_data() -> None:
    events = log()
    index = next(n for n, e in enumerate(events) if e.type == ev.CHUNK)
    before = folded(events[:index])
    assert pass_chunk(before, events[index].seq, events[index].time) == fold(before, events[index])


def test_a_run_of_chunk_rows_passes_as_each_of_them_would() -> None:
    events = log()
    index = next(n for n, e in enumerate(events) if e.type == ev.CHUNK)
    before = folded(events[:index])
    run = [ev.StoredEvent(seq=index + n, time=9_000 + n, type=ev.CHUNK, data=b"") for n in range(1, 6)]
    one_by_one = before
    for row in run:
        one_by_one = pass_chunk(one_by_one, row.seq, row.time)
    assert pass_chunks(before, run) == one_by_one
    assert pass_chunks(before, []) == before
    for broken in (run[:2] + run[3:], run[::-1], [*run, run[-1]]):
        with pytest.raises(LogViolation):
            pass_chunks(before, broken)
    late = msgspec.structs.replace(run[3], time=0)
    with pytest.raises(LogViolation, match="time goes back") as refused:
        pass_chunks(before, [*run[:3], late, run[4]])
    assert refused.value.seq == run[3].seq
    with pytest.raises(LogViolation, match="no turn is open"):
        pass_chunks(folded(log()[:2]), [msgspec.structs.replace(run[0], seq=3)])


def test_a_chunk_row_outside_a_step_is_refused() -> None:
    with pytest.raises(LogViolation, match="no turn is open"):
        pass_chunk(folded(log()[:2]), 3, 2000)


def test_rows_survive_the_way_through_bytes() -> None:
    events = log()
    rows = [ev.to_stored(event) for event in events]
    assert [ev.from_stored("s-1", row) for row in rows] == events


@pytest.mark.parametrize("index", range(len(VALID)))
def test_a_dropped_event_is_refused(index: int) -> None:
    events = log()
    with pytest.raises(LogViolation):
        folded(events[:index] + events[index + 1 :] + log([*VALID, queued("end")])[-1:])


@pytest.mark.parametrize("index", range(len(VALID)))
def test_a_doubled_event_is_refused(index: int) -> None:
    events = log()
    with pytest.raises(LogViolation):
        folded([*events[: index + 1], *events[index:]])


@settings(max_examples=300, deadline=None)
@given(st.integers(0, len(VALID) - 2))
def test_swapped_neighbours_are_refused(index: int) -> None:
    events = log()
    events[index], events[index + 1] = events[index + 1], events[index]
    with pytest.raises(LogViolation):
        folded(events)


@settings(max_examples=200, deadline=None)
@given(st.integers(1, len(VALID) - 1), st.integers(1, 5000))
def test_time_never_goes_back(index: int, back: int) -> None:
    events = log()
    earlier = msgspec.structs.replace(events[index], time=events[index - 1].time - back)
    with pytest.raises(LogViolation, match="time goes back"):
        folded([*events[:index], earlier])


@settings(max_examples=200, deadline=None)
@given(st.integers(0, len(VALID) - 1), st.sampled_from(sorted(ev.EVENT_DATA)))
def test_an_event_under_another_type_is_refused(index: int, name: str) -> None:
    events = log()
    if name == events[index].type:
        return
    events[index] = msgspec.structs.replace(events[index], type=name)
    with pytest.raises(LogViolation):
        folded(events)


def test_an_event_of_another_session_is_refused() -> None:
    with pytest.raises(LogViolation, match="another session"):
        fold(empty("s-2"), log()[0])


def test_an_unknown_type_is_refused_unless_it_says_that_it_may_be_ignored() -> None:
    with pytest.raises(ValueError, match="unknown event type"):
        ev.decode_data("later/thing", b"{}", ignorable=False)
    data = ev.decode_data("later/thing", b'{"a": 1}', ignorable=True)
    state = folded(log())
    event = ev.Event(
        session_id="s-1", seq=state.last_seq + 1, time=9999, type="later/thing", data=data, ignorable=True
    )
    after = fold(state, event)
    assert after.last_seq == state.last_seq + 1
    assert ev.encode_data(data) == b'{"a": 1}'


def test_an_unknown_member_is_refused() -> None:
    with pytest.raises(ValueError, match="turn/start"):
        ev.decode_data("turn/start", b'{"turn": 1, "trigger": "human", "more": 1}', ignorable=False)


def after(count: int, *more: ev.EventData) -> list[ev.Event]:
    """The first `count` valid events, then others."""
    return log([*VALID[:count], *more])


def up_to(kind: type[Any], *, which: int = 0, include: bool = True) -> int:
    hits = [n for n, data in enumerate(VALID) if isinstance(data, kind)]
    return hits[which] + (1 if include else 0)


def forged(message_id: str) -> ev.UserMessage:
    return ev.UserMessage(turn=1, step=1, message_id=message_id, source=Human(), text="forged")


def result(call_id: str, outcome: Any) -> ev.ToolResult:
    return ev.ToolResult(turn=1, step=1, call_id=call_id, outcome=outcome, content="")


CALLED = up_to(ev.ToolCalled, which=1)
STARTED = up_to(ev.ToolStart, which=1)


@pytest.mark.parametrize(
    ("events", "reason"),
    [
        (after(2, ev.TurnStart(turn=2, trigger="human")), "does not follow"),
        (after(4, ev.TurnStart(turn=2, trigger="human")), "open already"),
        (after(2, ev.StepStart(turn=1, step=1)), "no turn is open"),
        (after(2, queued("x"), queued("x")), "queued before"),
        (after(2, ev.InboxReleased()), "not held"),
        (after(2, ev.InboxHeld(reason="error")), "empty queue"),
        (after(2, ev.InboxRemoved(message_id="z", reason="stale")), "does not wait"),
        (after(2, ev.TaskChanged(from_="PAUSED", to="IN_PROGRESS", cause="")), "the task is"),
        (after(2, ev.TaskChanged(from_="IDLE", to="FAILED", cause="")), "no row"),
        (after(7, forged("q")), "not claimed"),
        (after(7, forged("m1")), "differs"),
        (after(9, HEADER), "equal to the last"),
        (after(CALLED, result("a", "ok")), "never started"),
        (after(CALLED, ev.ToolStart(turn=1, step=1, call_id="zz")), "no call zz"),
        (after(CALLED, ev.StepEnd(turn=1, step=1, usage=USAGE)), "no result"),
        (after(STARTED, ev.ToolStart(turn=1, step=1, call_id="a")), "started before"),
        (after(STARTED, result("b", "ok")), "belongs to a"),
        (
            after(STARTED, result("a", "not-started")),
            "had started",
        ),
        (after(STARTED, ev.ApprovalDecided(approval_id="ap", decision="deny", by="human")), "not open"),
        (
            after(
                CALLED - 1,
                ev.ToolCalled(turn=1, step=1, call_id="b", name="other", arguments="{}", mode="parallel"),
            ),
            "not the next call",
        ),
    ],
)  # fmt: skip
def test_a_broken_rule_is_refused_with_its_reason(events: list[ev.Event], reason: str) -> None:
    with pytest.raises(LogViolation, match=reason) as refused:
        folded(events)
    assert refused.value.seq == events[-1].seq


def test_a_notice_may_be_told_without_a_claim_but_nothing_else_may() -> None:
    notice = ev.UserMessage(turn=1, step=1, message_id="n", source=Notice(name="x"), text="seen")
    assert len(folded(after(8, notice)).history) == 2


def test_a_session_starts_careful_each_time_it_is_opened() -> None:
    events = after(
        CALLED,
        ev.ApprovalAsked(
            approval_id="ap",
            call_id="a",
            turn=1,
            tool="work",
            title="",
            detail="",
            risk="execute",
            remember="rule",
        ),
        ev.ApprovalDecided(approval_id="ap", decision="allowSession", by="human"),
    )
    state = folded(events)
    assert state.allowed == {"rule"}
    reopened = ev.make_event("s-1", state.last_seq + 1, 9999, ev.SessionOpened(reason="resume", server="s"))
    assert fold(state, reopened).allowed == frozenset()


def test_a_newer_format_is_refused() -> None:
    newer = ev.SessionCreated(format_version=2, workspace_folder=None, title="")
    with pytest.raises(LogViolation, match="update Steersman"):
        folded(log([newer]))
