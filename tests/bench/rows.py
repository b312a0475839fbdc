"""What a benchmark tells: a value of ours, and the same work's floor from the same run. Ratios count."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """`floor` is None where there is nothing to compare; `limit` is the highest ratio that is good enough."""

    what: str
    ours: float
    floor: float | None
    unit: str
    limit: float | None = None

    @property
    def ratio(self) -> float | None:
        return self.ours / self.floor if self.floor else None

    @property
    def too_much(self) -> bool:
        return self.ratio is not None and self.limit is not None and self.ratio > self.limit


def table(rows: Iterable[Row]) -> str:
    """The rows as Markdown."""
    lines = ["| what | ours | floor | ratio | at most |", "|---|---|---|---|---|"]
    for row in rows:
        floor = "" if row.floor is None else f"{row.floor:.3g} {row.unit}"
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
        limit = "" if row.limit is None else f"{row.limit:g}"
        mark = " **over**" if row.too_much else ""
        lines.append(f"| {row.what} | {row.ours:.3g} {row.unit} | {floor} | {ratio}{mark} | {limit} |")
    return "\n".join(lines)
