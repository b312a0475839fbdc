"""From a test command to the argument vector that is run: interpreter, selection, results file. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path, PurePath

from steersman.domain.checks import Selection

_PYTHON = re.compile(r"python3?(\.exe)?")
_PYTEST = ("pytest", "py.test", "pytest.exe")
_LAUNCHERS = ("-m", "run")
"""Words after which `pytest` is the runner: `python -m pytest`, `uv run pytest`, `poetry run pytest`."""
_NAME = re.compile(r"[^\W\d]\w*")


def is_pytest(argv: Sequence[str]) -> bool:
    return _pytest_index(argv) is not None


def resolved(argv: Sequence[str], interpreter: Path | None) -> list[str]:
    """The command with the folder's interpreter in place of `python`, or of the Python behind `pytest`.

    A program that is given by a path is taken as it stands.
    """
    program, *rest = argv
    if interpreter is None:
        return list(argv)
    if _PYTHON.fullmatch(program):
        return [str(interpreter), *rest]
    if program in _PYTEST:
        return [str(interpreter), "-m", "pytest", *rest]
    return list(argv)


def selected(argv: Sequence[str], selection: Selection | None) -> list[str]:
    """The command for a part of the suite. No name can turn into an option.

    Plain names of tests go to pytest's `-k`; everything else is appended as the runner's own ids and paths.
    """
    if selection is None or not (selection.files or selection.tests):
        return list(argv)
    names: list[str] = []
    tests = list(selection.tests)
    if is_pytest(argv) and tests and all(_NAME.fullmatch(test) for test in tests):
        names, tests = tests, []
    chosen = [_harmless(text) for text in dict.fromkeys([*selection.files, *tests])]
    options = ["-k", " or ".join(names)] if names else []
    separator = ["--"] if list(argv[:2]) == ["npm", "test"] and "--" not in argv else []
    return [*_with_options(argv, options), *separator, *chosen]


def with_results(argv: Sequence[str], results: Path, cache: Path) -> list[str]:
    """A pytest command that also writes JUnit XML, and keeps its cache out of the workspace."""
    return _with_options(
        argv,
        [f"--junitxml={results}", "-o", "junit_family=xunit1", "-o", f"cache_dir={cache}"],
    )


def _pytest_index(argv: Sequence[str]) -> int | None:
    for index, word in enumerate(argv):
        if PurePath(word).name in _PYTEST and (index == 0 or argv[index - 1] in _LAUNCHERS):
            return index
    return None


def _with_options(argv: Sequence[str], options: Sequence[str]) -> list[str]:
    """Options go last, so that they win, but before a `--` that follows the runner."""
    start = _pytest_index(argv) or 0
    end = argv.index("--", start) if "--" in argv[start:] else len(argv)
    return [*argv[:end], *options, *argv[end:]]


def _harmless(text: str) -> str:
    """pytest reads `-x` as an option and `@file` as a file of options; a path can do neither."""
    return f"./{text}" if text.startswith(("-", "@")) else text
