"""Measures: `python -m tests.bench [NAME …] [--rounds N] [--json FILE]`, by hand or nightly.

Each `bench_NAME.py` here has `measure(rounds) -> list[Row]`: ours and a floor in turn, medians of the rounds.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import sys
from dataclasses import asdict
from datetime import date
from pathlib import Path

from tests.bench.rows import Row, table

NAMES = sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py"))


def main() -> int:
    """Exit code 1 if a ratio is above its limit."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; all without")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(NAMES):
        parser.error(f"no benchmark {', '.join(sorted(unknown))}")
    rows: list[Row] = []
    for name in arguments.names or NAMES:
        rows += importlib.import_module(f"tests.bench.bench_{name}").measure(arguments.rounds)
    where = f"{platform.python_implementation()} {platform.python_version()}, {os.cpu_count()} cores"
    print(f"{date.today()} · {where} · medians of {arguments.rounds}\n\n{table(rows)}")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps([asdict(row) for row in rows], indent=2), encoding="utf-8")
    return 1 if any(row.too_much for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
