"""The test command: what a folder suggests, which interpreter runs it, what a selection adds (F06)."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.domain.checks import Selection
from steersman.processes.suites import suggested_command
from steersman.processes.test_command import is_pytest, resolved, selected, with_results

PYTEST = ["python", "-m", "pytest"]
PYTHON = Path("/folder/.venv/bin/python")


@pytest.mark.parametrize(
    ("name", "text", "command"),
    [
        ("pytest.ini", "[pytest]\n", PYTEST),
        ("conftest.py", "", PYTEST),
        ("pyproject.toml", "[tool.pytest.ini_options]\n", PYTEST),
        ("pyproject.toml", "[tool.ruff]\n", None),
        ("pyproject.toml", "[[[ not toml", None),
        ("setup.cfg", "[tool:pytest]\n", PYTEST),
        ("setup.cfg", "no section\n", None),
        ("tox.ini", "[pytest]\n", PYTEST),
        ("tests/test_a.py", "", PYTEST),
        ("test/a_test.py", "", PYTEST),
        ("test_a.py", "", PYTEST),
        ("main.py", "", None),
        ("package.json", '{"scripts": {"test": "vitest run"}}', ["npm", "test"]),
        ("package.json", '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}', None),
        ("package.json", '{"scripts": []}', None),
        ("package.json", "[" * 100_000, None),
        ("package.json", "\ud800not json".encode("utf-8", "surrogatepass").decode("latin-1"), None),
    ],
)
def test_a_folder_suggests_the_command_of_its_runner(
    tmp_path: Path, name: str, text: str, command: list[str] | None
) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    assert suggested_command(tmp_path) == command


def test_an_empty_or_missing_folder_suggests_nothing(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").mkdir()
    assert suggested_command(tmp_path) is None
    assert suggested_command(tmp_path / "missing") is None


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["python", "-m", "pytest"], [str(PYTHON), "-m", "pytest"]),
        (["python3", "x.py"], [str(PYTHON), "x.py"]),
        (["pytest", "-q"], [str(PYTHON), "-m", "pytest", "-q"]),
        (["/usr/bin/python3", "-m", "pytest"], ["/usr/bin/python3", "-m", "pytest"]),
        (["npm", "test"], ["npm", "test"]),
        (["python3.12", "-V"], ["python3.12", "-V"]),
    ],
)
def test_python_in_a_command_is_the_folders(argv: list[str], expected: list[str]) -> None:
    assert resolved(argv, PYTHON) == expected


def test_without_any_python_the_command_stays() -> None:
    assert resolved(["python", "-V"], None) == ["python", "-V"]


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["pytest"], True),
        (["/x/bin/py.test", "-q"], True),
        (["python", "-W", "error", "-m", "pytest"], True),
        (["uv", "run", "pytest"], True),
        (["coverage", "run", "-m", "pytest"], True),
        (["grep", "pytest"], False),
        (["python", "pytest"], False),
        (["npm", "test"], False),
    ],
)
def test_pytest_is_recognised_where_it_is_the_runner(argv: list[str], expected: bool) -> None:
    assert is_pytest(argv) is expected


def test_options_stand_before_the_end_of_options() -> None:
    argv = with_results(["uv", "run", "pytest", "--", "tests"], Path("/t/r.xml"), Path("/t/c"))
    assert argv[:4] == ["uv", "run", "pytest", "--junitxml=/t/r.xml"]
    assert argv[-2:] == ["--", "tests"]


def test_an_end_of_options_of_the_launcher_is_not_the_runners() -> None:
    argv = with_results(["uv", "--", "run", "pytest"], Path("/t/r.xml"), Path("/t/c"))
    assert argv[:4] == ["uv", "--", "run", "pytest"]


def test_a_selection_is_appended() -> None:
    selection = Selection(files=["tests/test_a.py"], tests=["tests/test_b.py::test_x[1]"])
    assert selected(PYTEST, selection) == [*PYTEST, "tests/test_a.py", "tests/test_b.py::test_x[1]"]


def test_plain_names_are_an_expression() -> None:
    assert selected(PYTEST, Selection(tests=["test_a", "TestB"])) == [*PYTEST, "-k", "test_a or TestB"]


def test_npm_gets_a_selection_behind_its_own_options() -> None:
    assert selected(["npm", "test"], Selection(files=["a.test.js"])) == ["npm", "test", "--", "a.test.js"]


def test_no_selection_changes_nothing() -> None:
    assert selected(PYTEST, None) == selected(PYTEST, Selection()) == PYTEST


@given(st.lists(st.text(max_size=9)), st.lists(st.text(max_size=9)))
def test_no_selected_name_becomes_an_option(files: list[str], tests: list[str]) -> None:
    added = selected(PYTEST, Selection(files=files, tests=tests))[len(PYTEST) :]
    options = [word for word in added if word.startswith(("-", "@"))]
    assert options in ([], ["-k"])
    if options:
        assert added[0] == "-k"
        assert "-" not in added[1]
