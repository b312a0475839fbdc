"""A real store in a folder of the test's own, with everything closed at the end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.store.rows import ClosingStore


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[ClosingStore]:
    store = ClosingStore(tmp_path / "state")
    yield store
    await store.close()


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Where `store` keeps the database of the session `s-1`."""
    return tmp_path / "state" / "sessions" / "s-1" / "session.db"
