"""A log that a run wrote folds at every prefix, and with any single change it is refused."""

from __future__ import annotations

import pytest

from steersman.domain.fold import empty, fold
from tests.proof.fold_mutations import SHAPE_NAMES, accepted, log_of
from tests.proof.layer import check
from tests.proof.layers import LAYERS

FOLD = LAYERS["fold"]


def test_any_single_mutation_of_a_log_that_a_run_wrote_is_refused() -> None:
    counts = check(FOLD, FOLD.quick)
    assert all(count > 20 for count in counts.values())
    assert len(counts) == 9


@pytest.mark.parametrize("number", range(len(SHAPE_NAMES)))
def test_what_a_run_wrote_folds_at_every_prefix_and_can_be_continued(number: int) -> None:
    events = log_of(number)
    state = empty(events[0].session_id)
    for event in events:
        state = fold(state, event)
    assert accepted(events)
    assert state.last_seq == len(events)


@pytest.mark.full
@pytest.mark.timeout(0)
def test_very_many_mutations_are_refused() -> None:
    check(FOLD, FOLD.full)
