"""What the end-to-end tests share: the product as a command, in an environment that holds no key."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e import editor

Steersman = Callable[..., "subprocess.CompletedProcess[str]"]
"""Called with the words after `steersman`; `timeout` in seconds, `cwd` and `env` as in subprocess."""


@pytest.fixture
def clean_env(tmp_path: Path) -> dict[str, str]:
    """This process's environment without keys and endpoints, with a home and a state folder of its own."""
    home = tmp_path / "home"
    home.mkdir()
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "STEERSMAN_"))
    }
    return kept | {
        "HOME": str(home),
        "XDG_STATE_HOME": str(home / "state"),
        "XDG_CACHE_HOME": str(home / "cache"),
        "NO_COLOR": "1",
        "COLUMNS": "100",
    }


@pytest.fixture(params=editor.TRANSPORTS)
def over_every_transport(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test runs once over stdio and once over TCP."""
    monkeypatch.setattr(editor, "transport", request.param)


@pytest.fixture
def steersman(clean_env: dict[str, str]) -> Steersman:
    """Runs `steersman …` as a real process without a terminal, and gives its exit code and output."""

    def run(
        *words: str, timeout: float = 120.0, cwd: Path | None = None, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "steersman", *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=timeout,
            cwd=cwd,
            env=clean_env | (env or {}),
            check=False,
        )

    return run
