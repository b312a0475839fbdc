"""Fixtures for the tools: a workspace folder on the disk and a context in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.tools.context import Context


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def context(root: Path) -> Context:
    return Context(root)
