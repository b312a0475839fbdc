"""A session and a plain model of it agree after all that a person, a model and fate do (hypothesis)."""

from __future__ import annotations

import pytest

from tests.proof.layer import check
from tests.proof.layers import LAYERS
from tests.proof.machine import Plain

MACHINE = LAYERS["state-machine"]
PARTS = 3


@pytest.mark.timeout(240)
@pytest.mark.parametrize("part", range(PARTS))
def test_a_session_and_its_plain_model_agree_after_everything(part: int) -> None:
    check(MACHINE, MACHINE.quick // PARTS, first=part, step=PARTS)


@pytest.mark.full
@pytest.mark.timeout(0)
def test_they_agree_in_very_many_orders() -> None:
    check(MACHINE, MACHINE.full)


def test_the_plain_model_is_what_a_person_expects() -> None:
    plain = Plain()
    plain.prompt("a")
    plain.prompt("b")
    plain.steer("c")
    plain.stop(drop=False)
    assert (plain.next_turn, plain.held, plain.ends) == (["c", "b"], "cancelled", ["aborted"])
    plain.release()
    plain.words()
    assert plain.told == [(1, "a"), (2, "c"), (3, "b")]
    plain.restart()
    assert (plain.ends, plain.running) == (["aborted", "completed", "interrupted"], False)
