"""The data of what was done to the context: a conversation that was made shorter, or that could not be."""

from __future__ import annotations

from typing import Literal

from steersman.domain.event_turns import EventData
from steersman.domain.usage import Usage

Trigger = Literal["pressure", "overflow", "human", "subtask", "round"]


class ContextCompacted(EventData, frozen=True):
    """From here on requests are built from this. The log itself stays whole.

    `summary` stands for every message up to `through_seq`; it is empty while only results are shortened.
    Results up to `results_through_seq` are shown shortened, with a handle. What people said in the summarised
    part is kept in their own words, in at most `words_limit` bytes of UTF-8. Tokens are those of a whole
    request; `usage` is what the summary (and with `overflow` the refused request) cost.
    """

    through_seq: int
    summary: str
    tokens_before: int
    tokens_after: int
    trigger: Trigger
    results_through_seq: int
    words_limit: int
    usage: Usage = Usage()


class CompactionFailed(EventData, frozen=True):
    """It was tried and nothing changed. `reason` is a sentence for people, `usage` what the try cost."""

    trigger: Trigger
    reason: str
    usage: Usage = Usage()
