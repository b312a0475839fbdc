"""A disk that is slow to sync delays what must be durable, and nothing else."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from steersman.ports.feed import RecordingFeed
from steersman.ports.model_double import ScriptedReplies, says
from steersman.sessions import requests as rq
from steersman.sessions.service import SessionService
from steersman.store.folder import FolderStore
from steersman.store.sqlite_log import SqliteLog
from tests.proof.world import Ledger, Shape, services

SLOW_SECONDS = 0.4


async def test_a_slow_sync_delays_the_answer_and_never_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    silent = Ledger()
    silent.end()
    write = SqliteLog._write

    def slowly(self: SqliteLog, *arguments: Any) -> Any:
        time.sleep(SLOW_SECONDS)  # on the database's own thread
        head = write(self, *arguments)
        order.append("durable")
        return head

    parts = services("slow disk", Shape(person={}), silent)
    parts.models = ScriptedReplies([says("ok")])
    service = SessionService(parts, FolderStore(tmp_path), RecordingFeed(), "state")
    try:
        info = await service.new(rq.NewSession())
        monkeypatch.setattr(SqliteLog, "_write", slowly)
        prompting = service.prompt(rq.Prompt(session_id=info.session_id, text="go"))
        prompting.add_done_callback(lambda _: order.append("answered"))
        ticks = 0
        while not prompting.done():
            await asyncio.sleep(0.005)
            ticks += 1
        assert order[:2] == ["durable", "answered"]
        assert ticks > 3, "the event loop stood still while the disk was busy"
        status = await service.status(rq.Nothing())
        assert status.sessions == 1
    finally:
        monkeypatch.setattr(SqliteLog, "_write", write)
        await service.stop()
