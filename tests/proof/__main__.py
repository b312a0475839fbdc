"""Run layers of the proof at any size, and record what ran: `python -m tests.proof [LAYER …]`.

    python -m tests.proof                            every layer, full size
    python -m tests.proof schedules --seconds 300    as many of its cases as fit into five minutes
    python -m tests.proof schedules --first 317 --count 1
    python -m tests.proof --record                   and put what ran into tests/proof/results.json

A later part (`--first`) stands beside an earlier one in the record, or in its place where they share numbers,
so no case counts twice; a run from 0 begins the record of its layer anew. A failure is recorded as one.
"""

from __future__ import annotations

import argparse
import os
import platform
import sqlite3
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from tests.proof.layer import Layer, Outcome, play
from tests.proof.layers import LAYERS
from tests.proof.results import Machine, Part, load, save


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    failed = False
    for layer in [LAYERS[name] for name in arguments.layers or LAYERS]:
        outcome = _run(layer, arguments)
        failed = failed or bool(outcome.failures)
        _tell(layer, outcome)
        if arguments.record:
            _record(layer, outcome, arguments.first, _command(layer, arguments))
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.proof", description="Run the proof of Steersman.")
    parser.add_argument("layers", nargs="*", choices=[*LAYERS, []], metavar="LAYER", help=", ".join(LAYERS))
    parser.add_argument("--quick", action="store_true", help="the sizes of every change")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--count", type=int, help="how many cases")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no new cases after this")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes at a time")
    parser.add_argument("--record", action="store_true", help="put what ran into results.json")
    return parser


def _run(layer: Layer, arguments: argparse.Namespace) -> Outcome:
    whole = layer.quick if arguments.quick else layer.full - arguments.first
    count = arguments.count if arguments.count is not None else whole
    numbers = range(arguments.first, arguments.first + count)
    until = time.monotonic() + arguments.seconds
    return play(layer, numbers, workers=arguments.workers, until=until)


def _command(layer: Layer, arguments: argparse.Namespace) -> str:
    words = ["python -m tests.proof", layer.name]
    words += ["--quick"] if arguments.quick else []
    words += [f"--first {arguments.first}"] if arguments.first else []
    words += [f"--count {arguments.count}"] if arguments.count is not None else []
    words += [f"--seconds {arguments.seconds:g}"] if arguments.seconds != float("inf") else []
    return " ".join(words)


def _tell(layer: Layer, outcome: Outcome) -> None:
    counts = ", ".join(f"{name} {count}" for name, count in outcome.counts.items())
    words = f"{layer.name}: {outcome.cases} {layer.unit} in {outcome.seconds:g} s, "
    sys.stdout.write(f"{words}{len(outcome.failures)} failed ({counts})\n")
    for failure in outcome.failures:
        sys.stdout.write(f"\n--- case {failure.case}\n{failure.words}\n")
    sys.stdout.flush()


def _record(layer: Layer, outcome: Outcome, first: int, command: str) -> None:
    machine = Machine(
        system=f"{platform.system()} {platform.machine()}",
        cpus=os.cpu_count() or 1,
        python=platform.python_version(),
        sqlite=sqlite3.sqlite_version,
    )
    part = Part(
        first=first,
        cases=outcome.cases,
        failed=[failure.case for failure in outcome.failures],
        counts=outcome.counts,
        seconds=outcome.seconds,
        command=command,
        day=datetime.now(UTC).date().isoformat(),
        machine=machine,
    )
    record = load()
    known = record.layers.get(layer.name, [])
    apart = [one for one in known if one.first + one.cases <= first or first + part.cases <= one.first]
    parts = [part, *apart] if first else [part]
    layers = record.layers | {layer.name: sorted(parts, key=lambda one: one.first)}
    save(msgspec.structs.replace(record, layers={name: layers[name] for name in LAYERS if name in layers}))


if __name__ == "__main__":
    sys.exit(main())
