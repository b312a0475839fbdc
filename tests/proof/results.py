"""What truly ran: `results.json`, and the table of the README that is made from it and never typed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Final

import msgspec

from tests.proof.layers import LAYERS

ROOT: Final = Path(__file__).resolve().parents[2]
FILE: Final = Path(__file__).with_name("results.json")
BEGIN: Final = "<!-- proof: made by python -m tests.proof.results -->"
SHOWN: Final = 6
"""How many of the things that a layer counted its row names, the most frequent first."""
END: Final = "<!-- proof: end -->"


class Machine(msgspec.Struct, frozen=True):
    system: str
    cpus: int
    python: str
    sqlite: str


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One run of cases `first` and those behind it. `failed` are the numbers of those that failed."""

    first: int
    cases: int
    failed: list[int]
    counts: dict[str, int]
    seconds: float
    command: str
    day: str
    machine: Machine


class Record(msgspec.Struct, frozen=True):
    layers: dict[str, list[Part]] = {}


def load() -> Record:
    return msgspec.json.decode(FILE.read_bytes(), type=Record) if FILE.exists() else Record()


def save(record: Record) -> None:
    FILE.write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")


def table(record: Record) -> str:
    """The record as Markdown: one row a layer, with what is still missing to its full size."""
    lines = ["| what | ran | saw | failed | again |", "|---|---|---|---|---|"]
    for name, layer in LAYERS.items():
        parts = record.layers.get(name, [])
        if not parts:
            lines.append(f"| {layer.what} | not yet | | | `{name}` |")
            continue
        cases = sum(part.cases for part in parts)
        ran = f"{cases:,} {layer.unit}"
        ran += f" of {layer.full:,}" if cases < layer.full else ""
        numbers = ", ".join(f"{part.first}–{part.first + part.cases - 1}" for part in parts)
        counts: Counter[str] = sum((Counter(part.counts) for part in parts), Counter())
        saw = ", ".join(f"{count:,} {said.replace('_', ' ')}" for said, count in counts.most_common(SHOWN))
        failed = sum(len(part.failed) for part in parts)
        lines.append(f"| {layer.what} | {ran} | {saw} | {failed or 'none'} | `{name}`: {numbers} |")
    return "\n".join([*lines, "", _when(record)])


def _when(record: Record) -> str:
    """When and on what it ran, and how a case is repeated."""
    parts = [part for parts in record.layers.values() for part in parts]
    days = sorted({part.day for part in parts})
    machines = sorted({_machine(part.machine) for part in parts})
    ran = f"Run {' to '.join(sorted({days[0], days[-1]}))} on {' and '.join(machines)}. " if parts else ""
    return ran + (
        "A case follows from its number alone, which is its seed; the last column names the layer and the "
        "numbers that ran: `python -m tests.proof LAYER --first NUMBER --count 1` repeats one."
    )


def _machine(machine: Machine) -> str:
    return f"{machine.system} with {machine.cpus} CPUs, Python {machine.python}, SQLite {machine.sqlite}"


def renewed(text: str, record: Record) -> str:
    """A README's text with the table of the record between its markers. Raises ValueError without them."""
    before, found, rest = text.partition(BEGIN)
    _, end, behind = rest.partition(END)
    if not found or not end:
        raise ValueError(f"the README lacks the markers {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{table(record)}\n{END}{behind}"


def main() -> None:
    readme = ROOT / "README.md"
    readme.write_text(renewed(readme.read_text(encoding="utf-8"), load()), encoding="utf-8")


if __name__ == "__main__":
    main()
