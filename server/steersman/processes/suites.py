"""Which test command a folder suggests when none is configured. Reads a few files, runs nothing."""

from __future__ import annotations

import configparser
import json
import tomllib
from pathlib import Path

PYTEST = ["python", "-m", "pytest"]
NPM = ["npm", "test"]
SILENCE = "no test specified"
"""What npm puts into a new package's test script: it is not a test command."""
CONFIG_BYTES = 1 << 20
"""A configuration file that is longer is none."""


def suggested_command(folder: Path) -> list[str] | None:
    """The command, or None where nothing in the folder says how its tests are run."""
    if _names_pytest(folder) or _has_python_tests(folder):
        return list(PYTEST)
    if _has_npm_test(folder / "package.json"):
        return list(NPM)
    return None


def _names_pytest(folder: Path) -> bool:
    if any((folder / name).is_file() for name in ("pytest.ini", ".pytest.ini", "pytest.toml", "conftest.py")):
        return True
    tool = _toml(folder / "pyproject.toml").get("tool")
    if isinstance(tool, dict) and "pytest" in tool:
        return True
    return _has_section(folder / "setup.cfg", "tool:pytest") or _has_section(folder / "tox.ini", "pytest")


def _has_python_tests(folder: Path) -> bool:
    places = (folder, folder / "tests", folder / "test")
    return any(next(place.glob(pattern), None) for place in places for pattern in ("test_*.py", "*_test.py"))


def _has_npm_test(package: Path) -> bool:
    try:
        scripts = json.loads(_text(package))["scripts"]
        script = scripts["test"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return False
    return isinstance(script, str) and bool(script.strip()) and SILENCE not in script


def _has_section(file: Path, section: str) -> bool:
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(_text(file))
    except configparser.Error:
        return False
    return parser.has_section(section)


def _toml(file: Path) -> dict[str, object]:
    try:
        return tomllib.loads(_text(file))
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def _text(file: Path) -> str:
    """The text of a small regular file, else nothing."""
    try:
        if not file.is_file() or file.stat().st_size > CONFIG_BYTES:
            return ""
        return file.read_text("utf-8", "replace")
    except OSError:
        return ""
