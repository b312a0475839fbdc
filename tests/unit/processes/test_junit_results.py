"""Results files are written by the workspace's code: good ones are read, others are none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steersman.processes import junit_results
from steersman.processes.junit_results import read_cases

GOOD = """<?xml version="1.0"?><testsuites><testsuite name="s">
<testcase classname="tests.test_a" name="test_ok" file="tests/test_a.py" line="2" time="0.5"/>
<testcase classname="tests.test_a.TestX" name="test_bad[1]" file="tests/test_a.py" line="9" time="0">
  <failure message="assert 1 == 2">long</failure></testcase>
<testcase classname="tests.test_a.TestX" name="test_bad[1]" file="tests/test_a.py" line="9" time="0">
  <error message="teardown">long</error></testcase>
<testcase classname="gone" name="skipped"><skipped message="why"/></testcase>
</testsuite></testsuites>"""


def test_cases_carry_the_runners_ids_and_places_and_the_worst_comes_first(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").touch()
    file = tmp_path / "r.xml"
    file.write_text(GOOD)
    cases = read_cases(file, tmp_path)
    assert cases is not None
    assert [(case.outcome, case.id) for case in cases] == [
        ("error", "tests/test_a.py::TestX::test_bad[1]"),
        ("skipped", "gone::skipped"),
        ("passed", "tests/test_a.py::test_ok"),
    ]
    assert cases[2].uri == (tmp_path / "tests" / "test_a.py").as_uri()
    assert (cases[2].line, cases[2].duration_ms) == (3, 500)
    assert cases[0].message == "teardown"


ENTITIES = "".join(f'<!ENTITY {name} "{f"&{chr(ord(name) - 1)};" * 40}">' for name in "bcdefghi")
BOMB = f'<!DOCTYPE b [<!ENTITY a "aaaaaaaaaa">{ENTITIES}]><testsuites>&i;</testsuites>'


@pytest.mark.parametrize(
    "text",
    ["", "<testsuites>", "nothing", "<other/>", "<testsuites/>", BOMB, "<testsuite><testcase time='x'/>"],
)
def test_a_broken_file_is_no_result_or_an_empty_one(tmp_path: Path, text: str) -> None:
    file = tmp_path / "r.xml"
    file.write_text(text)
    assert not read_cases(file, tmp_path)


def test_neither_a_pipe_nor_a_link_nor_a_folder_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "good").write_text(GOOD)
    (tmp_path / "link").symlink_to(tmp_path / "good")
    for name in ("pipe", "link", "missing", "."):
        assert read_cases(tmp_path / name, tmp_path) is None


def test_a_file_that_is_too_large_is_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(junit_results, "FILE_BYTES", 100)
    (tmp_path / "r.xml").write_text(GOOD)
    assert read_cases(tmp_path / "r.xml", tmp_path) is None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(position=st.integers(0, len(GOOD)), junk=st.binary(max_size=8))
def test_no_damage_to_a_file_raises(tmp_path: Path, position: int, junk: bytes) -> None:
    data = GOOD.encode()
    (tmp_path / "r.xml").write_bytes(data[:position] + junk + data[position + len(junk) :])
    read_cases(tmp_path / "r.xml", tmp_path)
