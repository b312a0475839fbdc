"""Commands through the editor: how one ended is told as the editor tells it, and never as more."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from steersman.lsp.client_commands import ClientCommands
from steersman.lsp.client_messages import COMMAND_RUN
from steersman.ports.process import ProcessOutcome, ProcessPort, ProcessSpec
from tests.lsp.client_runs import RunClient

SPEC = ProcessSpec(
    argv=["make", "all of it"],
    cwd="/w/shop",
    timeout_seconds=60,
    session_id="s1",
    turn=2,
    call_id="c1",
    title="make 'all of it'",
)
ENDED: dict[str, Any] = {"exitCode": 0, "output": "built", "durationMs": 7.4, "cancelled": False}


@pytest.fixture
def client() -> RunClient:
    return RunClient()


def commands(client: RunClient, **more: Any) -> ClientCommands:
    made = ClientCommands(client, Path.as_uri, **more)
    port: ProcessPort = made
    assert port is made
    return made


async def outcome_of(client: RunClient, answer: Any) -> ProcessOutcome:
    client.answer(COMMAND_RUN, answer)
    return await commands(client).run(SPEC, asyncio.Event())


async def test_the_editor_is_asked_with_everything_and_tells_how_it_ended(client: RunClient) -> None:
    outcome = await outcome_of(client, ENDED)
    assert outcome == ProcessOutcome(ended="exited", exit_code=0, output="built", duration_ms=7)
    [(_, params)] = client.calls
    assert params.pop("runId")
    assert params == {
        "sessionId": "s1",
        "turn": 2,
        "callId": "c1",
        "folder": "file:///w/shop",
        "argv": ["make", "all of it"],
        "timeoutSeconds": 60,
        "title": "make 'all of it'",
    }


@pytest.mark.parametrize(
    ("answer", "ended", "code"),
    [
        (ENDED | {"exitCode": 3}, "exited", 3),
        (ENDED | {"cancelled": True}, "cancelled", None),
        (ENDED | {"timedOut": True}, "timeout", None),
        (ENDED | {"exitCode": None, "timedOut": True}, "timeout", None),
        (ENDED | {"timedOut": "yes"}, "unknown", None),
        ({"exitCode": None}, "unknown", None),
        ({"exitCode": "0"}, "unknown", None),
        ({"output": "no code"}, "unknown", None),
        (ENDED | {"exitCode": True}, "unknown", None),
        (ENDED | {"durationMs": float("inf")}, "unknown", None),
        (ENDED | {"output": 5}, "unknown", None),
        (None, "unknown", None),
        (0, "unknown", None),
        ([], "unknown", None),
        (RuntimeError("no terminal (-32803)"), "unknown", None),
    ],
)
async def test_only_an_exit_code_is_an_end(
    client: RunClient, answer: Any, ended: str, code: int | None
) -> None:
    outcome = await outcome_of(client, answer)
    assert (outcome.ended, outcome.exit_code) == (ended, code)
    assert (ended == "unknown") == bool(outcome.problem)


async def test_a_command_may_be_accepted_and_its_end_told_later(client: RunClient) -> None:
    client.accept(COMMAND_RUN)
    runner = commands(client)
    task = asyncio.create_task(runner.run(SPEC, asyncio.Event()))
    await client.asked.wait()
    run_id = client.calls[0][1]["runId"]
    runner.result(ENDED | {"runId": "another", "exitCode": 9})
    runner.result(ENDED | {"runId": run_id, "exitCode": 1})
    runner.result(ENDED | {"runId": run_id, "exitCode": 0})
    assert (await task).exit_code == 1


@pytest.mark.parametrize("accepts", [True, False])
@pytest.mark.parametrize("stops", [True, False])
async def test_silence_ends_at_the_deadline_or_the_stop_and_is_withdrawn(
    client: RunClient, accepts: bool, stops: bool
) -> None:
    (client.accept if accepts else client.hold)(COMMAND_RUN)
    runner = commands(client, grace_seconds=0.02)
    cancel = asyncio.Event()
    spec = ProcessSpec(argv=["x"], cwd="/w", timeout_seconds=60 if stops else 0.02)
    task = asyncio.create_task(runner.run(spec, cancel))
    await client.asked.wait()
    if stops:
        cancel.set()
    assert (await task).ended == ("cancelled" if stops else "timeout")
    assert client.withdrawn == [client.calls[0][1]["runId"]]
    assert client.left == (0 if accepts else 1)
