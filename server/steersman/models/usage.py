"""Token counts of every provider in one normal form: the input with its cached part, the output with its
reasoning part."""

from __future__ import annotations

from typing import Any

from steersman.domain.settings import Prices
from steersman.domain.usage import Usage, priced


def normal_usage(told: Any, prices: Prices | None) -> Usage | None:
    """The usage of one request, with its cost where prices are known. None if nothing usable was told.

    Some providers count cached input or reasoning beside the totals instead of inside them; their
    `total_tokens` gives that away.
    """
    if not isinstance(told, dict):
        return None
    prompt = _first(told, "prompt_tokens", "input_tokens")
    output = _first(told, "completion_tokens", "output_tokens")
    if not prompt and not output:
        return None
    cached = _cached(told)
    reasoning = _count(_member(told, "completion_tokens_details"), "reasoning_tokens") or _count(
        told, "reasoning_tokens"
    )
    total = _count(told, "total_tokens")
    if cached > prompt or (cached and total == prompt + cached + output):
        prompt += cached
    if reasoning > output or (reasoning and total == prompt + output + reasoning):
        output += reasoning
    usage = Usage(
        requests=1,
        input_tokens=prompt,
        cached_input_tokens=cached,
        output_tokens=output,
        reasoning_tokens=reasoning,
    )
    return priced(usage, prices)


def _cached(told: dict[str, Any]) -> int:
    for owner, member in (
        (_member(told, "prompt_tokens_details"), "cached_tokens"),
        (told, "prompt_cache_hit_tokens"),
        (told, "cache_read_input_tokens"),
    ):
        count = _count(owner, member)
        if count:
            return count
    return 0


def _first(told: dict[str, Any], *members: str) -> int:
    return next((count for member in members if (count := _count(told, member))), 0)


def _member(told: dict[str, Any], name: str) -> dict[str, Any]:
    value = told.get(name)
    return value if isinstance(value, dict) else {}


def _count(told: dict[str, Any], member: str) -> int:
    """A count of tokens; 0 for what is none."""
    value = told.get(member)
    return int(value) if isinstance(value, int | float) and 0 < value < 2**53 else 0
