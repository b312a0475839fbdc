"""Requests to the client over the wire: only what it advertised, and its later words find their request."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from steersman.ports.process import ProcessSpec, TestRun
from tests.lsp.wire import Served, served

COUNTS = {"collected": 1, "passed": 1}
RECEIPT = {"status": "passed", "exitCode": 0, "counts": COUNTS, "tests": [], "output": "ok"}


def offering(*members: str) -> Any:
    return {"experimental": {"steersman": {"protocolVersion": 1, **{name: {} for name in members}}}}


async def asked(desk: Served, method: str) -> Any:
    while (message := await desk.wire.receive()).get("method") != method:
        pass
    return message


async def test_a_client_that_offers_nothing_leaves_all_to_the_server() -> None:
    async with served() as desk:
        await desk.wire.initialize(offering("events"))
        assert desk.ports is not None
        assert (desk.ports.tests, desk.ports.commands) == (None, None)
        assert desk.ports.questions.refusal(()) is not None


async def test_an_accepted_test_run_ends_with_its_notification(tmp_path: Path) -> None:
    async with served() as desk:
        await desk.wire.initialize(offering("tests"), {"tests": {"command": ["make", "test"]}})
        assert desk.ports is not None
        assert desk.ports.tests is not None
        assert desk.ports.commands is None
        run = TestRun(run_id="r1", folder=str(tmp_path), timeout_seconds=30, session_id="s", turn=1)
        running = asyncio.create_task(desk.ports.tests.run_tests(run, asyncio.Event()))
        request = await asked(desk, "steersman/tests/run")
        assert request["params"]["argv"] == ["make", "test"]
        assert request["params"]["folder"] == tmp_path.as_uri()
        desk.wire.send({"jsonrpc": "2.0", "id": request["id"], "result": {"accepted": True}})
        for strange in (None, [], {"runId": "r2"}, {"runId": None}):
            desk.wire.tell("steersman/tests/result", strange)
            desk.wire.tell("steersman/tests/progress", strange)
        desk.wire.tell("steersman/tests/progress", {"runId": "r1", "test": "t", "outcome": "passed"})
        desk.wire.tell("steersman/tests/result", {"runId": "r1", **RECEIPT})
        desk.wire.tell("steersman/tests/result", {"runId": "r1", **RECEIPT, "status": "failed"})
        assert (await running).status == "passed"


async def test_an_accepted_command_ends_with_its_notification(tmp_path: Path) -> None:
    async with served() as desk:
        await desk.wire.initialize(offering("commands"))
        assert desk.ports is not None
        assert desk.ports.commands is not None
        spec = ProcessSpec(argv=["make"], cwd=str(tmp_path), timeout_seconds=30)
        running = asyncio.create_task(desk.ports.commands.run(spec, asyncio.Event()))
        request = await asked(desk, "steersman/command/run")
        desk.wire.send({"jsonrpc": "2.0", "id": request["id"], "result": {"accepted": True}})
        run_id = request["params"]["runId"]
        desk.wire.tell("steersman/command/result", {"runId": run_id, "exitCode": 3, "output": "no"})
        assert (await running).exit_code == 3


@pytest.mark.parametrize("accepts", [True, False])
async def test_a_stop_withdraws_the_request_and_tells_the_client(tmp_path: Path, accepts: bool) -> None:
    async with served() as desk:
        await desk.wire.initialize(offering("tests"))
        assert desk.ports is not None
        assert desk.ports.tests is not None
        stop = asyncio.Event()
        run = TestRun(run_id="r1", folder=str(tmp_path), timeout_seconds=30)
        running = asyncio.create_task(desk.ports.tests.run_tests(run, stop))
        request = await asked(desk, "steersman/tests/run")
        if accepts:
            desk.wire.send({"jsonrpc": "2.0", "id": request["id"], "result": {"accepted": True}})
            desk.wire.tell("steersman/tests/progress", {"runId": "r1", "test": "t", "outcome": "passed"})
            # A request behind them is answered only when they were taken.
            await desk.wire.error("steersman/nothing/here")
        stop.set()
        assert (await running).status == "cancelled"
        if not accepts:
            assert (await asked(desk, "$/cancelRequest"))["params"] == {"id": request["id"]}
        assert (await asked(desk, "steersman/request/cancelled"))["params"] == {"id": "r1"}
