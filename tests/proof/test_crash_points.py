"""Death at every point of a script: nothing acknowledged is lost, nothing is done twice, nothing moves."""

from __future__ import annotations

import pytest

from tests.proof.crash_points import crash
from tests.proof.layer import check
from tests.proof.layers import LAYERS

CRASHES = LAYERS["crash-points"]
PARTS = 4


@pytest.mark.timeout(240)
@pytest.mark.parametrize("part", range(PARTS))
def test_a_crash_at_every_point_of_a_script_loses_nothing_and_repeats_nothing(part: int) -> None:
    counts = check(CRASHES, CRASHES.quick // PARTS, first=part, step=PARTS)
    assert counts["crashes"] > 0.95 * CRASHES.quick // PARTS


def test_two_and_three_crashes_one_after_the_other() -> None:
    for number in range(12):
        steps = [37 + 23 * number, 5 + 11 * number, 90 + number][: 2 + number % 2]
        assert crash(number % 6, steps)["crashes"] >= 1


@pytest.mark.full
@pytest.mark.timeout(0)
def test_crashes_in_all_scripts_and_in_a_row() -> None:
    check(CRASHES, CRASHES.full)
