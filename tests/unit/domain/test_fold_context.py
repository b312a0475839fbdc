"""The fold of compactions: where one may stand, what it may leave out, and what follows from it."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from steersman.domain import events as ev
from steersman.domain.fold import fold
from steersman.domain.state import ResultEntry, SessionState
from steersman.domain.usage import Usage
from steersman.errors import LogViolation
from tests.unit.domain.test_fold import VALID, folded, log

COST = Usage(requests=1, input_tokens=50, output_tokens=7)
IDLE = len(VALID)
"""The whole valid log: no turn is open."""
ASKED = 10
"""The step is open, and the model has not answered."""
ANSWERED = 12
STEERED = 26
"""The second step is open, with the first one's results in the history."""


def compacted(**more: Any) -> ev.ContextCompacted:
    fields: dict[str, Any] = {
        "through_seq": 22,
        "summary": "what was done",
        "tokens_before": 100,
        "tokens_after": 40,
        "trigger": "human",
        "results_through_seq": 22,
        "words_limit": 1000,
        "usage": COST,
    }
    return ev.ContextCompacted(**(fields | more))


def then(count: int, *data: ev.EventData) -> SessionState:
    """The state after the first events of the valid log and these."""
    return folded(log([*VALID[:count], *data]))


def refused(count: int, *data: ev.EventData) -> str:
    with pytest.raises(LogViolation) as violation:
        then(count, *data)
    assert violation.value.seq == count + len(data)
    return violation.value.reason


def test_requests_are_built_from_what_is_left_and_people_keep_their_words() -> None:
    state = then(IDLE, compacted())
    assert [entry.seq for entry in state.history] == [26, 27]
    assert state.compaction is not None
    assert state.compaction.summary == "what was done"
    assert [entry.text for entry in state.compaction.words] == ["text of m1"]
    assert (state.context_tokens, state.context_estimated, state.measured_seq) == (40, True, IDLE + 1)


def test_words_add_up_over_compactions_and_a_summary_replaces_the_one_before() -> None:
    again = compacted(through_seq=26, summary="all of it", results_through_seq=26)
    state = then(IDLE, compacted(), again)
    assert state.compaction is not None
    assert state.compaction.summary == "all of it"
    assert [entry.text for entry in state.compaction.words] == ["text of m1", "text of m2"]
    assert [entry.seq for entry in state.history] == [27]


def test_shortened_results_leave_the_history_as_it_is() -> None:
    before = then(IDLE)
    state = then(IDLE, compacted(through_seq=0, summary="", results_through_seq=22))
    assert list(state.history) == list(before.history)
    assert state.compaction is not None
    assert state.compaction.results_through_seq == 22


def test_what_a_summary_cost_is_counted_where_it_was_made() -> None:
    assert then(IDLE, compacted()).usage == then(IDLE).usage + COST
    pressed = then(STEERED, compacted(trigger="pressure"))
    assert pressed.usage == then(STEERED).usage
    assert pressed.step is not None
    assert pressed.step.usage == COST
    too_little = ev.AssistantMessage(
        turn=1, step=2, text="hi", tool_calls=[], finish_reason="stop", usage=Usage(requests=1)
    )
    end = ev.StepEnd(turn=1, step=2, usage=Usage(requests=1, input_tokens=50, output_tokens=7))
    assert "usage" in refused(STEERED, compacted(trigger="pressure"), too_little, end)


def test_what_was_read_before_counts_as_unread() -> None:
    data = [*VALID[:20], replace(VALID[20], seen={"file:///a": "x"}), *VALID[21:]]
    assert folded(log(data)).seen
    assert not folded(log([*data, compacted()])).seen


def test_a_refused_request_was_an_attempt() -> None:
    retry = ev.ModelRetry(turn=1, step=2, attempt=2, code="server", delay_ms=1)
    state = then(STEERED, compacted(trigger="overflow"), retry)
    assert state.step is not None
    assert state.step.retries == 2
    assert "attempt 2" in refused(STEERED, compacted(trigger="pressure"), retry)


def test_failures_in_a_row_are_counted_until_one_helps() -> None:
    failed = ev.CompactionFailed(trigger="pressure", reason="no", usage=COST)
    state = then(STEERED, failed, failed)
    assert state.turn is not None
    assert state.turn.failed_compactions == 2
    assert state.step is not None
    assert state.step.usage == COST + COST
    state = then(STEERED, failed, compacted(trigger="pressure"))
    assert state.turn is not None
    assert state.turn.failed_compactions == 0


@pytest.mark.parametrize(
    ("count", "data", "reason"),
    [
        (IDLE, compacted(through_seq=12), "parts a call from its result"),
        (IDLE, compacted(through_seq=21), "parts a call from its result"),
        (IDLE, compacted(through_seq=9), "no message"),
        (IDLE, compacted(through_seq=27, results_through_seq=27), "nothing of the conversation stays"),
        (IDLE, compacted(through_seq=99, results_through_seq=99), "past itself"),
        (IDLE, compacted(through_seq=-1), "goes back"),
        (IDLE, compacted(results_through_seq=21), "its results"),
        (IDLE, compacted(results_through_seq=IDLE + 1), "its results"),
        (IDLE, compacted(summary="  "), "nothing stands for"),
        (IDLE, compacted(tokens_after=100), "not shorter"),
        (IDLE, compacted(tokens_after=-1), "not shorter"),
        (IDLE, compacted(words_limit=-1), "limit"),
        (IDLE, compacted(through_seq=0, summary="", results_through_seq=0), "leaves nothing out"),
        (IDLE, compacted(through_seq=0, summary="new", results_through_seq=22), "another summary"),
        (IDLE, compacted(trigger="pressure"), "belongs to a step"),
        (IDLE, compacted(trigger="overflow"), "belongs to a step"),
        (STEERED, compacted(trigger="human"), "in no turn"),
        (ANSWERED, compacted(trigger="pressure", through_seq=8), "answered already"),
        (5, compacted(trigger="subtask"), "answered already"),
        (24, compacted(trigger="round"), "answered already"),
        (1, compacted(), "session/opened"),
        (0, compacted(), "session/created"),
        (IDLE, ev.CompactionFailed(trigger="pressure", reason="x"), "belongs to a step"),
        (ANSWERED, ev.CompactionFailed(trigger="pressure", reason="x"), "answered already"),
    ],
)
def test_what_could_not_have_happened_is_refused(count: int, data: ev.EventData, reason: str) -> None:
    assert reason in refused(count, data)


def test_a_compaction_never_goes_back() -> None:
    assert "goes back" in refused(IDLE, compacted(), compacted(through_seq=8))
    assert "leaves nothing out" in refused(IDLE, compacted(), compacted())


def test_a_retry_of_a_summary_belongs_to_the_open_step_or_to_no_turn() -> None:
    def retry(turn: int | None, step: int | None) -> ev.ModelRetry:
        return ev.ModelRetry(
            turn=turn, step=step, attempt=1, code="server", delay_ms=1, usage=COST, purpose="summary"
        )

    assert then(IDLE, retry(None, None)).usage == then(IDLE).usage + COST
    pressed = then(STEERED, retry(1, 2), retry(1, 2))
    assert pressed.step is not None
    assert (pressed.step.retries, pressed.step.usage) == (0, COST + COST)
    for count, place in ((IDLE, (1, 2)), (STEERED, (None, None)), (STEERED, (1, 1)), (STEERED, (2, 2))):
        assert "another turn" in refused(count, retry(*place))
    assert "open" in refused(IDLE, ev.ModelRetry(attempt=1, code="server", delay_ms=1))


def test_every_place_of_the_cut_keeps_calls_and_results_together() -> None:
    whole = then(IDLE).history
    allowed = []
    for seq in range(IDLE + 1):
        try:
            state = then(IDLE, compacted(through_seq=seq, results_through_seq=IDLE))
        except LogViolation:
            continue
        allowed.append(seq)
        assert not isinstance(state.history[0], ResultEntry)
        assert len(state.history) < len(whole)
    assert allowed == [8, 22, 26]


def test_the_next_request_counts_from_the_compaction_until_the_model_tells_more() -> None:
    state = then(STEERED, compacted(trigger="pressure"))
    told = ev.AssistantMessage(
        turn=1,
        step=2,
        text="hi",
        tool_calls=[],
        finish_reason="stop",
        usage=Usage(requests=1, input_tokens=33, output_tokens=5),
    )
    after = fold(state, ev.make_event("s-1", STEERED + 2, 9_000, told))
    assert (after.context_tokens, after.context_estimated) == (38, False)
    silent = replace(told, usage=Usage(requests=1, estimated=True))
    after = fold(state, ev.make_event("s-1", STEERED + 2, 9_000, silent))
    assert (after.context_tokens, after.measured_seq) == (40, STEERED + 1)
