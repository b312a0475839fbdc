"""A server does not grow with the turns that it has seen."""

from __future__ import annotations

import sys
import time

import pytest

from tests.proof.layer import check
from tests.proof.layers import LAYERS
from tests.proof.soak import TURNS, soak_case

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="descriptors are counted as on POSIX")


@pytest.mark.timeout(240)
def test_fifty_turns_leave_memory_descriptors_and_threads_as_they_were() -> None:
    assert check(LAYERS["soak"], 1)["turns"] == TURNS


@pytest.mark.full
@pytest.mark.timeout(0)
def test_a_thousand_turns_in_one_session_leave_them_as_they_were() -> None:
    check(LAYERS["long-session"], 1)


@pytest.mark.full
@pytest.mark.timeout(0)
def test_half_an_hour_of_sessions() -> None:
    until = time.monotonic() + 1800
    number = 0
    while time.monotonic() < until:
        soak_case(number)
        number += 1
