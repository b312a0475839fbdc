"""Whatever comes from outside: a value or a refusal, and never a way out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fixtures.provider import DONE, event, fin, raw, rsn, tc, txt, use
from tests.proof.fuzz import DOORS, clean_up, every_cut
from tests.proof.layer import check
from tests.proof.layers import LAYERS

FUZZ = LAYERS["fuzz"]


@pytest.fixture(autouse=True)
def _cleaned() -> Iterator[None]:
    yield
    clean_up()


def test_damaged_input_is_a_value_or_a_refusal() -> None:
    counts = check(FUZZ, FUZZ.quick)
    assert set(counts) == set(DOORS)


@pytest.mark.full
@pytest.mark.timeout(0)
def test_very_much_damaged_input_is_a_value_or_a_refusal() -> None:
    check(FUZZ, FUZZ.full)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_a_real_stream_gives_the_same_events_cut_at_every_byte(end: bytes) -> None:
    pieces = [
        raw(": ping\n\n"),
        rsn("hm é"),
        txt("a\u2028b\u0085c 😀"),
        tc(0, "c", "read_file", '{"pa'),
        tc(0, arguments='th":1}'),
    ]
    stream = b"".join([*pieces, event({"choices": []}), fin("tool_calls"), use(1, 2), DONE])
    assert len(every_cut(stream.replace(b"\n", end))) == 8
