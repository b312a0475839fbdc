"""The commands of a fresh clone: instant when everything is there, clear when something is missing."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

PROGRAM = Path(__file__).resolve().parents[2] / ".ci" / "dev.py"


@pytest.fixture
def dev() -> ModuleType:
    spec = importlib.util.spec_from_file_location("steersman_dev", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def installed(dev: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """An environment that has been made already, and the list of the locks that are installed into it."""
    python = dev._python_of(tmp_path)
    python.parent.mkdir()
    python.touch()
    (tmp_path / "pyvenv.cfg").touch()
    monkeypatch.setenv("STEERSMAN_VENV", str(tmp_path))
    done: list[str] = []
    monkeypatch.setattr(dev, "_install", lambda _, name: done.append(name))
    return done


def test_a_second_run_installs_nothing(dev: ModuleType, installed: list[str]) -> None:
    assert dev.ready("dev") == dev.ready("dev")
    assert installed == ["dev"]


def test_the_test_packages_serve_the_demo_too(dev: ModuleType, installed: list[str]) -> None:
    dev.ready("dev")
    dev.ready("runtime")
    assert installed == ["dev"]


def test_the_demo_packages_do_not_serve_the_tests(dev: ModuleType, installed: list[str]) -> None:
    dev.ready("runtime")
    dev.ready("dev")
    assert installed == ["runtime", "dev"]


def test_a_changed_lock_is_installed_again(
    dev: ModuleType, installed: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dev.ready("dev")
    locks = tmp_path / "locks"
    locks.mkdir()
    for name in dev.COVERS:
        (locks / f"{name}.txt").write_text("other==1\n", encoding="utf-8")
    monkeypatch.setattr(dev, "LOCKS", locks)
    dev.ready("dev")
    assert installed == ["dev", "dev"]


def test_an_installation_that_failed_is_tried_again(
    dev: ModuleType, installed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise SystemExit(2)

    with monkeypatch.context() as broken:
        broken.setattr(dev, "_install", fail)
        with pytest.raises(SystemExit):
            dev.ready("dev")
    dev.ready("dev")
    assert installed == ["dev"]


def test_a_folder_that_is_no_environment_is_left_alone(
    dev: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "letters.txt").write_text("dear", encoding="utf-8")
    monkeypatch.setenv("STEERSMAN_VENV", str(tmp_path))
    with pytest.raises(SystemExit, match="2"):
        dev.ready("dev")
    assert "is not a virtual environment" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["letters.txt"]


def test_a_python_that_is_too_old_is_told_so(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(dev, "OLDEST_PYTHON", (99, 0))
    with pytest.raises(SystemExit, match="2"):
        dev.main(["test"])
    assert "Steersman needs 99.0 or newer" in capsys.readouterr().err


def test_a_python_without_venv_is_told_so(
    dev: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("STEERSMAN_VENV", str(tmp_path / "new"))
    monkeypatch.setattr(dev.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(SystemExit, match="2"):
        dev.main(["demo"])
    assert "install its venv module" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["nonsense"], ["lock", "extra"]])
def test_words_that_mean_nothing_are_refused(words: list[str]) -> None:
    ended = subprocess.run(
        [sys.executable, str(PROGRAM), *words], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr


@pytest.mark.skipif(os.name != "posix", reason="the other way to start a program is used elsewhere")
def test_a_command_takes_the_place_of_this_process_with_its_environment_activated(tmp_path: Path) -> None:
    """So that a signal and the exit code are the command's own."""
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    inner = (
        "import os; print(os.getpid(), os.environ['VIRTUAL_ENV'], os.environ['PATH']); raise SystemExit(7)"
    )
    program = (
        "import runpy, sys; from pathlib import Path; become = runpy.run_path(sys.argv[1])['_become'];"
        "become(Path(sys.argv[2]), ['-c', sys.argv[3]], Path.cwd())"
    )
    command = [sys.executable, "-c", program, str(PROGRAM), str(python), inner]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as started:
        said, _ = started.communicate(timeout=30)
    assert started.returncode == 7
    assert said.startswith(f"{started.pid} {tmp_path} {python.parent}{os.pathsep}")
