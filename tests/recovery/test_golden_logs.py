"""Logs that a released format's program wrote: they are read for ever, as they were meant then.

Until a format is released its log is made anew where it changes: `python -m tests.fixtures.golden.make`.
"""

from __future__ import annotations

import json
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from steersman.domain.events import FORMAT_VERSION
from steersman.domain.value import encode
from steersman.loop.inbox import Words
from steersman.ports.event_log_memory import MemoryStore
from steersman.ports.feed import RecordingFeed
from steersman.ports.model_double import ScriptedReplies, says
from steersman.sessions.export import export
from steersman.sessions.loading import examine
from steersman.sessions.open_session import OpenSession
from steersman.sessions.projection import seen
from tests.fixtures.rebuilt import rebuilt
from tests.unit.loop.harness import until
from tests.unit.sessions.test_service import Desk
from tests.unit.store.rows import ClosingStore

GOLDEN = Path(__file__).resolve().parents[1] / "fixtures" / "golden"
FORMATS = sorted(path.name for path in GOLDEN.glob("format-*"))


class Kept:
    """A golden log in a state folder of the test's own, and what it must say."""

    def __init__(self, name: str, state: Path) -> None:
        self.expected = json.loads((GOLDEN / name / "expected.json").read_text("utf-8"))
        self.session_id = self.expected["session"]["sessionId"]
        self.store = ClosingStore(state)
        folder = state / "sessions" / self.session_id
        folder.mkdir(parents=True)
        shutil.copy(GOLDEN / name / "session.db", folder)


@pytest.fixture(params=FORMATS)
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Kept:
    return Kept(request.param, tmp_path / "state")


def missing(told: Any, golden: Any, path: str = "$") -> list[str]:
    """Where a value no longer says what the golden one says. It may say more."""
    if isinstance(golden, dict) and isinstance(told, dict):
        return [problem for key in golden for problem in missing(told.get(key), golden[key], f"{path}.{key}")]
    return [] if told == golden else [f"{path}: {told!r} instead of {golden!r}"]


def test_the_present_format_has_its_golden_log() -> None:
    assert [f"format-{version}" for version in range(1, FORMAT_VERSION + 1)] == FORMATS


async def test_a_golden_log_still_says_what_it_said(kept: Kept) -> None:
    loaded = await examine(kept.store, kept.session_id)
    assert loaded.damaged is None
    told = json.loads(encode(seen(loaded, read_only=True)))
    assert missing(told, kept.expected["session"]) == []


async def test_every_request_of_a_golden_log_is_rebuilt_byte_for_byte(kept: Kept) -> None:
    requests = await rebuilt(kept.store, kept.session_id)
    told = [{"seq": seq, "sha256": sha256(body).hexdigest()} for seq, body in requests]
    assert told == kept.expected["requests"]


async def test_a_golden_log_is_exported(kept: Kept) -> None:
    lines = (await export(kept.store, kept.session_id, "jsonl", lambda text: text)).split("\n")[:-1]
    assert len(lines) == kept.expected["session"]["lastSeq"]
    shown = await export(kept.store, kept.session_id, "markdown", lambda text: text)
    assert "cannot be read" not in shown


async def test_work_goes_on_in_a_golden_log(kept: Kept, tmp_path: Path) -> None:
    desk = Desk(MemoryStore(), ScriptedReplies([says("still here")]), tmp_path)
    log = await kept.store.open(kept.session_id)
    session = await OpenSession.take(log, desk.services, RecordingFeed(), kept.store, lambda folder: None)
    await session.agent.prompt(Words(message_id="m-golden", text="go on"))
    await until(lambda: session.state.turn is None)
    assert session.state.turns == kept.expected["turns"] + 1
    await session.close()
    assert (await examine(kept.store, kept.session_id)).damaged is None
