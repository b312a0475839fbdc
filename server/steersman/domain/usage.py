"""What was spent, in one normal form: total input, its cached part, output, its reasoning part."""

from __future__ import annotations

import msgspec

from steersman.domain.settings import Prices
from steersman.domain.value import Strict


class Usage(Strict, frozen=True, omit_defaults=False):
    """Sums over requests, also judges, summaries and retries.

    Token members count tokens, `seconds` is running time without waits for people. `cost` is unset where
    prices are unknown: unknown is not 0.
    """

    requests: int = 0
    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    estimated: bool = False
    cost: float | msgspec.UnsetType = msgspec.UNSET
    seconds: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return add(self, other)


def add(left: Usage, right: Usage) -> Usage:
    """The sum of two usages. A sum is estimated if a part is; its cost is known only if some part's is."""
    costs = [u.cost for u in (left, right) if u.cost is not msgspec.UNSET]
    return Usage(
        requests=left.requests + right.requests,
        input_tokens=left.input_tokens + right.input_tokens,
        cached_input_tokens=left.cached_input_tokens + right.cached_input_tokens,
        output_tokens=left.output_tokens + right.output_tokens,
        reasoning_tokens=left.reasoning_tokens + right.reasoning_tokens,
        estimated=left.estimated or right.estimated,
        cost=sum(costs) if costs else msgspec.UNSET,
        seconds=round(left.seconds + right.seconds, 6),
    )


def priced(usage: Usage, prices: Prices | None) -> Usage:
    """The usage with its cost, where prices (per million tokens) are known. Cached input has its own."""
    if prices is None:
        return usage
    cached = prices.input if prices.cached_input is None else prices.cached_input
    cost = (
        (usage.input_tokens - usage.cached_input_tokens) * prices.input
        + usage.cached_input_tokens * cached
        + usage.output_tokens * prices.output
    ) / 1_000_000
    return msgspec.structs.replace(usage, cost=cost)
