"""Test runs through the editor: asked with everything, waited for with an end, and believed with care."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from steersman.domain.checks import Selection
from steersman.domain.receipts import TestReceipt
from steersman.lsp.client_messages import TESTS_RUN
from steersman.lsp.client_tests import ClientTestRunner
from steersman.ports.process import TestRun, TestRunner
from tests.lsp.client_runs import RunClient

RUN = TestRun(run_id="r1", folder="/w/shop", timeout_seconds=60, session_id="s1", turn=2, call_id="c1")
COUNTS = {"collected": 2, "passed": 2, "failed": 0, "errors": 0, "skipped": 0}
PASSED: dict[str, Any] = {
    "runId": "r1",
    "status": "passed",
    "exitCode": 0,
    "counts": COUNTS,
    "tests": [{"id": "a", "outcome": "passed", "durationMs": 1.25}],
    "output": "2 passed",
    "argv": ["pytest"],
    "folder": "file:///w/shop",
    "durationMs": 12.6,
    "runner": "editor",
    "later": 1,
}


@pytest.fixture
def client() -> RunClient:
    return RunClient()


def runner(client: RunClient, **more: Any) -> ClientTestRunner:
    made = ClientTestRunner(client, Path.as_uri, **more)
    port: TestRunner = made
    assert port is made
    return made


async def receipt_of(client: RunClient, claim: Any) -> TestReceipt:
    client.answer(TESTS_RUN, claim)
    return await runner(client).run_tests(RUN, asyncio.Event())


async def test_the_editor_is_asked_with_everything_and_its_receipt_is_the_result(client: RunClient) -> None:
    receipt = await receipt_of(client, PASSED)
    assert (receipt.status, receipt.exit_code, receipt.runner) == ("passed", 0, "editor")
    assert (receipt.run_id, receipt.folder, receipt.argv) == ("r1", "file:///w/shop", ["pytest"])
    assert (receipt.counts.passed, receipt.duration_ms, receipt.tests[0].duration_ms) == (2, 13, 1)
    asked = {
        "runId": "r1",
        "sessionId": "s1",
        "turn": 2,
        "callId": "c1",
        "folder": "file:///w/shop",
        "timeoutSeconds": 60,
        "reason": "tool",
    }
    assert client.calls == [(TESTS_RUN, asked)]
    assert client.withdrawn == []


async def test_the_configured_command_and_a_selection_are_sent(client: RunClient) -> None:
    client.answer(TESTS_RUN, PASSED)
    run = TestRun(
        run_id="r1", folder="/w", timeout_seconds=1, selection=Selection(files=["t.py"]), reason="check"
    )
    await runner(client, command=["make", "test"]).run_tests(run, asyncio.Event())
    [(_, params)] = client.calls
    assert params["argv"] == ["make", "test"]
    assert params["selection"] == {"files": ["t.py"], "tests": []}
    assert (params["reason"], params["turn"], "callId" in params) == ("check", None, False)


@pytest.mark.parametrize(
    ("claimed", "status"),
    [
        ({"exitCode": None}, "passed"),
        ({"counts": {"collected": 0}}, "noTests"),
        ({"counts": {}}, "noTests"),
        ({"status": "failed", "exitCode": 5, "counts": {}}, "noTests"),
        ({"exitCode": 1}, "failed"),
        ({"exitCode": -9}, "failed"),
        ({"counts": COUNTS | {"failed": 1}}, "failed"),
        ({"counts": COUNTS | {"errors": 1}}, "failed"),
        ({"tests": [{"id": "a", "outcome": "error"}]}, "failed"),
        ({"status": "failed", "exitCode": 0}, "failed"),
        ({"status": "error"}, "error"),
        ({"status": "cancelled", "exitCode": None}, "cancelled"),
        ({"status": "timeout"}, "timeout"),
        ({"status": "noTests"}, "noTests"),
    ],
)
async def test_doubt_is_never_a_pass(client: RunClient, claimed: dict[str, Any], status: str) -> None:
    assert (await receipt_of(client, PASSED | claimed)).status == status


NONSENSE: list[Any] = [
    None,
    True,
    "passed",
    [],
    {},
    {"status": "passed"},
    {"accepted": False},
    {"accepted": "true"},
    PASSED | {"status": "great"},
    PASSED | {"counts": {"collected": "2"}},
    PASSED | {"counts": {"collected": 2, "passed": -1}},
    PASSED | {"counts": None},
    PASSED | {"exitCode": True},
    PASSED | {"tests": [{"outcome": "passed"}]},
    PASSED | {"durationMs": float("nan")},
    PASSED | {"durationMs": -1},
    PASSED | {"runId": "another"},
    RuntimeError("no such task (-32803)"),
]


@pytest.mark.parametrize("answer", NONSENSE)
async def test_nonsense_and_errors_are_told_and_never_a_pass(client: RunClient, answer: Any) -> None:
    receipt = await receipt_of(client, answer)
    assert (receipt.status, receipt.exit_code, receipt.counts.collected) == ("error", None, 0)
    assert receipt.output.startswith("The editor")
    assert client.withdrawn == []


@pytest.mark.parametrize("answer", NONSENSE[:-1])
async def test_nonsense_that_comes_later_is_no_pass_either(client: RunClient, answer: Any) -> None:
    client.accept(TESTS_RUN)
    tests = runner(client, grace_seconds=0.0)
    run = TestRun(run_id="r1", folder="/w", timeout_seconds=0.1)
    task = asyncio.create_task(tests.run_tests(run, asyncio.Event()))
    await client.asked.wait()
    tests.result({**answer, "runId": answer.get("runId", "r1")} if isinstance(answer, dict) else answer)
    assert (await task).status in ("error", "timeout")


async def test_a_client_may_accept_and_tell_the_result_later_once(client: RunClient) -> None:
    client.accept(TESTS_RUN)
    tests = runner(client)
    task = asyncio.create_task(tests.run_tests(RUN, asyncio.Event()))
    await client.asked.wait()
    for strange in (None, 5, [], {}, {"runId": 5}, {"runId": ["r1"]}, PASSED | {"runId": "another"}):
        tests.result(strange)
        tests.progress(strange)
    tests.result(PASSED | {"output": "first"})
    tests.result(PASSED | {"output": "second", "status": "failed"})
    assert ((await task).status, (await task).output) == ("passed", "first")
    tests.result(PASSED)  # nobody waits any more
    assert client.withdrawn == []


async def test_a_result_that_overtakes_its_acceptance_is_taken(client: RunClient) -> None:
    client.hold(TESTS_RUN)
    tests = runner(client)
    task = asyncio.create_task(tests.run_tests(RUN, asyncio.Event()))
    await client.asked.wait()
    tests.result(PASSED)
    assert (await task).status == "passed"


@pytest.mark.parametrize("accepts", [True, False])
async def test_a_client_that_never_tells_is_a_timeout_with_what_it_had_told(
    client: RunClient, accepts: bool
) -> None:
    (client.accept if accepts else client.hold)(TESTS_RUN)
    tests = runner(client, grace_seconds=0.1)
    run = TestRun(run_id="r1", folder="/w", timeout_seconds=0.1)
    task = asyncio.create_task(tests.run_tests(run, asyncio.Event()))
    await client.asked.wait()
    tests.progress({"runId": "r1", "test": "a", "outcome": "passed", "output": "a ok\n"})
    tests.progress({"runId": "r1", "test": "b", "outcome": "failed", "output": "b \ud800\n"})
    tests.progress({"runId": "r1", "test": "c", "outcome": "great", "output": 5})
    tests.progress({"runId": "other", "test": "d", "outcome": "passed"})
    receipt = await task
    assert receipt.status == "timeout"
    assert [case.id for case in receipt.tests] == ["b", "a"]
    assert (receipt.counts.collected, receipt.counts.failed) == (2, 1)
    assert receipt.output.endswith("a ok\nb �\n")
    assert client.withdrawn == ["r1"]
    assert client.left == (0 if accepts else 1)


@pytest.mark.parametrize("accepts", [True, False])
async def test_a_stop_withdraws_the_run_at_once(client: RunClient, accepts: bool) -> None:
    (client.accept if accepts else client.hold)(TESTS_RUN)
    cancel = asyncio.Event()
    task = asyncio.create_task(runner(client).run_tests(RUN, cancel))
    await client.asked.wait()
    cancel.set()
    assert (await task).status == "cancelled"
    assert client.withdrawn == ["r1"]
    assert client.left == (0 if accepts else 1)


async def test_an_abandoned_run_is_withdrawn_too(client: RunClient) -> None:
    client.hold(TESTS_RUN)
    task = asyncio.create_task(runner(client).run_tests(RUN, asyncio.Event()))
    await client.asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (client.withdrawn, client.left) == (["r1"], 1)


async def test_failures_come_first_and_long_messages_are_cut(client: RunClient) -> None:
    many = [{"id": f"t{n}", "outcome": "passed"} for n in range(500)]
    bad = {"id": "bad", "outcome": "failed", "message": "x" * 10_000, "line": 3, "uri": "file:///w/t.py"}
    receipt = await receipt_of(client, PASSED | {"status": "failed", "tests": [*many, bad]})
    assert len(receipt.tests) == 200
    assert (receipt.tests[0].id, receipt.tests[0].line) == ("bad", 3)
    assert "characters omitted" in (receipt.tests[0].message or "")
