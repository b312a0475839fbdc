"""A goal is as the design says, whatever people, the model, crashes and the clock do to it (machine.py)."""

from __future__ import annotations

import pytest

from tests.proof.layer import check
from tests.proof.layers import LAYERS

MACHINE = LAYERS["goal-machine"]
PARTS = 3


@pytest.mark.timeout(240)
@pytest.mark.parametrize("part", range(PARTS))
def test_whatever_people_model_and_crashes_do_the_goal_is_as_the_design_says(part: int) -> None:
    check(MACHINE, MACHINE.quick // PARTS, first=part, step=PARTS)


@pytest.mark.full
@pytest.mark.timeout(0)
def test_whatever_people_model_and_crashes_do_in_full() -> None:
    check(MACHINE, MACHINE.full)
