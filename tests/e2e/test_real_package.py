"""A real package with one defect: its own tests go red, `steersman run` repairs it, nothing else changes."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.e2e import real_package
from tests.e2e.conftest import Steersman

pytestmark = pytest.mark.timeout(180)
"""Fetching the package, and several runs of its suite."""

MODULE = "src/iniconfig/_parse.py"
SOUND = 'line.split("=", 1)'
BROKEN = 'line.rsplit("=", 1)'
"""The last `=` of a line, where the first one ends the name."""


@pytest.fixture(scope="session")
def packed() -> Path:
    return real_package.archive()


@pytest.fixture
def env(clean_env: dict[str, str]) -> dict[str, str]:
    """Without the pytest plugins of this project, which the package knows nothing of."""
    return clean_env | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


@pytest.fixture
def package(packed: Path, tmp_path: Path) -> Path:
    return real_package.unpack(packed, tmp_path)


def put_the_defect_in(package: Path) -> None:
    module = package / MODULE
    sound = module.read_bytes()
    assert sound.count(SOUND.encode()) == 1
    module.write_bytes(sound.replace(SOUND.encode(), BROKEN.encode()))


def script(path: Path) -> Path:
    """What the model does: look, repair, run the tests, report."""
    edits = [{"old_text": BROKEN, "new_text": SOUND}]
    calls = [
        ("read_file", {"path": MODULE}),
        ("edit_file", {"path": MODULE, "edits": edits}),
        ("run_tests", {}),
    ]
    lines = [{"toolCalls": [{"name": name, "arguments": arguments}]} for name, arguments in calls]
    report = {"text": "The name ended at the last equals sign instead of the first. The tests pass again."}
    path.write_text("".join(json.dumps(line) + "\n" for line in [*lines, report]), encoding="utf-8")
    return path


def test_the_suite_of_the_real_package_sees_the_defect(package: Path, env: dict[str, str]) -> None:
    sound = real_package.run_its_tests(package, env)
    assert sound.returncode == 0, sound.stdout
    put_the_defect_in(package)
    broken = real_package.run_its_tests(package, env)
    assert broken.returncode == 1, broken.stdout
    assert "FAILED testing/test_iniconfig.py::test_tokenize[assignment in value]" in broken.stdout


def test_a_run_repairs_a_real_package_and_changes_only_the_line_it_means(
    package: Path, tmp_path: Path, env: dict[str, str], steersman: Steersman
) -> None:
    before = real_package.contents(package)
    put_the_defect_in(package)
    assert real_package.run_its_tests(package, env).returncode == 1

    prompt = "The first equals sign of a line ends the name. Make the tests pass."
    scripted = ["--scripted-model", str(script(tmp_path / "script.jsonl"))]
    tests = shlex.join(real_package.TESTS)
    proof = ["--test-command", tests, "--check", tests]
    ran = steersman("run", "--workspace", str(package), "--prompt", prompt, *scripted, *proof, env=env)

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert real_package.run_its_tests(package, env).returncode == 0
    assert real_package.contents(package) == before


def test_a_run_that_repairs_nothing_ends_with_a_failure(
    package: Path, tmp_path: Path, env: dict[str, str], steersman: Steersman
) -> None:
    """The model says that it is done; the check says that it is not, and the exit code follows the check."""
    put_the_defect_in(package)
    before = real_package.contents(package)
    lines = tmp_path / "script.jsonl"
    lines.write_text(json.dumps({"text": "All tests pass now."}) + "\n", encoding="utf-8")

    options = ["--scripted-model", str(lines), "--check", shlex.join(real_package.TESTS)]
    ran = steersman("run", "--workspace", str(package), "--prompt", "Make the tests pass.", *options, env=env)

    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "All tests pass now." in ran.stdout
    assert real_package.contents(package) == before
