"""Real violent ends of a real server: what was promised is there, what happened is known, nothing moves."""

from __future__ import annotations

import pytest

from tests.proof.layer import check
from tests.proof.layers import LAYERS
from tests.proof.sigkill import KILLS

KILLED = LAYERS["sigkill"]


@pytest.mark.timeout(240)
@pytest.mark.parametrize("case", range(KILLED.quick))
def test_a_killed_server_loses_no_promise_and_repeats_no_command(case: int) -> None:
    counts = check(KILLED, 1, first=case)
    assert counts["kills"] == KILLS


@pytest.mark.full
@pytest.mark.timeout(0)
def test_very_many_violent_ends() -> None:
    counts = check(KILLED, KILLED.full)
    assert counts["acknowledged"] > KILLED.full
