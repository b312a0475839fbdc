"""Estimates of tokens, for providers that tell no usage. Always marked as estimates."""

from __future__ import annotations

from typing import Final

from steersman.domain.settings import Prices
from steersman.domain.usage import Usage, priced

BYTES_PER_TOKEN: Final = 4


def estimate(request: bytes, reply_characters: int, prices: Prices | None) -> Usage:
    """The usage of one request that told none: `request` is its body, the reply counted in code points."""
    usage = Usage(
        requests=1,
        input_tokens=-(-len(request) // BYTES_PER_TOKEN),
        output_tokens=-(-reply_characters // BYTES_PER_TOKEN),
        estimated=True,
    )
    return priced(usage, prices)
