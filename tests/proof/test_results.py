"""The README's table of what was proved is made from the record of what ran."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from tests.proof import results
from tests.proof.__main__ import main
from tests.proof.layer import play
from tests.proof.layers import LAYERS
from tests.proof.results import BEGIN, END, Machine, Part, Record, load, renewed, table


def part(name: str, **more: object) -> Record:
    machine = Machine("System", 2, "3", "3")
    values = {"first": 0, "cases": 10, "failed": [], "counts": {"commits": 1234}, "seconds": 1.0}
    one = Part(**(values | {"command": "c", "day": "d", "machine": machine} | more))  # type: ignore[arg-type]
    return Record({name: [one]})


def test_the_readme_shows_what_the_record_holds() -> None:
    text = (results.ROOT / "README.md").read_text(encoding="utf-8")
    assert text == renewed(text, load()), "renew it: python -m tests.proof.results"


def test_every_layer_of_the_record_is_one_that_there_is() -> None:
    assert set(load().layers) <= set(LAYERS)


def test_a_part_of_the_full_size_says_so_and_a_failure_is_not_hidden() -> None:
    layer = LAYERS["schedules"]
    assert f"10 schedules of {layer.full:,} | 1,234 commits | none |" in table(part("schedules"))
    assert "| 1 | `schedules`: 0–9 |" in table(part("schedules", failed=[7]))
    assert f"| {layer.full:,} schedules |" in table(part("schedules", cases=layer.full))
    assert f"| {layer.what} | not yet | | | `schedules` |" in table(Record())
    assert "Run d on System with 2 CPUs, Python 3, SQLite 3. " in table(part("schedules"))


def test_a_readme_without_the_markers_is_told() -> None:
    with pytest.raises(ValueError, match="markers"):
        renewed(f"{BEGIN} but no end", Record())
    assert renewed(f"a {BEGIN} old {END} b", Record()).startswith(f"a {BEGIN}\n| what |")


def test_parts_are_recorded_beside_each_other(tmp_path, monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(results, "FILE", tmp_path / "results.json")
    assert main(["crash-points", "--count", "2", "--workers", "1", "--record"]) == 0
    assert main(["crash-points", "--first", "300", "--count", "1", "--workers", "1", "--record"]) == 0
    parts = load().layers["crash-points"]
    assert [(one.first, one.cases, one.failed) for one in parts] == [(0, 2, []), (300, 1, [])]
    assert parts[1].command == "python -m tests.proof crash-points --first 300 --count 1"
    assert "crash-points: 2 crashes in" in capsys.readouterr().out
    assert main(["crash-points", "--first", "1", "--count", "3", "--workers", "1", "--record"]) == 0
    assert [(one.first, one.cases) for one in load().layers["crash-points"]] == [(1, 3), (300, 1)]


def test_no_time_is_no_case_and_what_began_is_ended() -> None:
    layer = LAYERS["crash-points"]
    assert play(layer, range(3), until=0.0).cases == 0
    assert play(replace(layer, chunk=2), range(2), until=time.monotonic() + 1e-3).cases == 2
