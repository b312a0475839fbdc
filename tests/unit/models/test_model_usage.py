"""Token counts of different providers in one normal form."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from steersman.domain.settings import Prices
from steersman.models.usage import normal_usage


@pytest.mark.parametrize(
    ("told", "counts"),
    [
        (
            {
                "prompt_tokens": 2613,
                "completion_tokens": 50,
                "prompt_tokens_details": {"cached_tokens": 2560},
            },
            (2613, 2560, 50, 0),
        ),
        ({"prompt_tokens": 10, "completion_tokens": 5, "prompt_cache_hit_tokens": 4}, (10, 4, 5, 0)),
        (
            {
                "prompt_tokens": 53,
                "completion_tokens": 5,
                "cache_read_input_tokens": 2560,
                "total_tokens": 2618,
            },
            (2613, 2560, 5, 0),
        ),
        (
            {"prompt_tokens": 53, "completion_tokens": 5, "cache_read_input_tokens": 20, "total_tokens": 78},
            (73, 20, 5, 0),
        ),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 8,
                "completion_tokens_details": {"reasoning_tokens": 6},
            },
            (9, 0, 8, 6),
        ),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 8,
                "completion_tokens_details": {"reasoning_tokens": 6},
                "total_tokens": 23,
            },
            (9, 0, 14, 6),
        ),
        ({"input_tokens": 3, "output_tokens": 4}, (3, 0, 4, 0)),
        ({"prompt_tokens": 3, "completion_tokens": None, "prompt_tokens_details": None}, (3, 0, 0, 0)),
        ({"prompt_tokens": 3, "completion_tokens": -1, "total_tokens": "x"}, (3, 0, 0, 0)),
    ],
)
def test_counts_come_in_one_form(told: Any, counts: tuple[int, int, int, int]) -> None:
    usage = normal_usage(told, None)
    assert usage is not None
    assert (usage.requests, usage.estimated) == (1, False)
    parts = (usage.input_tokens, usage.cached_input_tokens, usage.output_tokens, usage.reasoning_tokens)
    assert parts == counts
    assert usage.cost is msgspec.UNSET


@pytest.mark.parametrize(
    "told", [None, {}, [], "x", {"prompt_tokens": 0}, {"prompt_tokens": "3"}, {"total_tokens": 1e300}]
)
def test_what_tells_nothing_is_no_usage(told: Any) -> None:
    assert normal_usage(told, None) is None


def test_cached_input_has_its_own_price() -> None:
    told = {"prompt_tokens": 100, "completion_tokens": 10, "prompt_cache_hit_tokens": 60}
    usage = normal_usage(told, Prices(input=2.0, cached_input=0.5, output=8.0))
    assert usage is not None
    assert usage.cost == pytest.approx((40 * 2.0 + 60 * 0.5 + 10 * 8.0) / 1e6)
