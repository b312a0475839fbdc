"""The whole way over stdio with a real server: prompt, read, edit the live buffer, run the tests, done."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from pygls.exceptions import JsonRpcException

from tests.e2e.editor import Editor, call, editor, script
from tests.fixtures.provider import DONE, fin, provider, reply, stall, tc, txt, use

pytestmark = pytest.mark.usefixtures("over_every_transport")

WRONG = "def total(items):\n    return sum(items) - 1\n"
RIGHT = "def total(items):\n    return sum(items)\n"
TEST = "from cart import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"
EDIT = {"old_text": "sum(items) - 1", "new_text": "sum(items)"}


@pytest.fixture
def env(clean_env: dict[str, str]) -> dict[str, str]:
    """The small project's own tests need none of our plugins."""
    return clean_env | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A small project with one defect and one red test."""
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "cart.py").write_text(WRONG, encoding="utf-8")
    (folder / "test_cart.py").write_text(TEST, encoding="utf-8")
    return folder


def options(tmp_path: Path, *lines: Any, **more: Any) -> dict[str, Any]:
    return {
        "stateDir": str(tmp_path / "state"),
        "scriptedModel": str(script(tmp_path / "script.jsonl", *lines)),
        "tests": {"command": [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]},
        **more,
    }


REPAIR = [
    {"text": "Let me look.", **call("read_file", path="cart.py")},
    call("run_tests"),
    call("edit_file", path="cart.py", edits=[EDIT]),
    call("run_tests"),
    {"text": "total() subtracted 1. It is fixed, and the tests pass."},
]


@pytest.mark.parametrize("profile", ["visual-studio-code", "neovim"])
async def test_a_defect_is_repaired_in_the_live_buffer_and_the_tests_turn_green(
    tmp_path: Path, shop: Path, env: dict[str, str], profile: str
) -> None:
    async with editor(shop, options(tmp_path, *REPAIR), env=env, profile=profile) as ed:
        uri = ed.open(shop / "cart.py", WRONG + "# not saved yet\n")
        session = await ed.new()
        # The tests read the disk, so the person's words about it: what is unsaved is saved by the test.
        reason = await ed.run(session, "Make the tests pass.")
        assert reason == {"kind": "completed"}
        assert ed.buffers[uri][1] == RIGHT + "# not saved yet\n"
        (edit,) = ed.edits
        assert (edit.label or "").startswith("Steersman: ")
        statuses = [receipt["status"] for receipt in ed.data("tests/receipt")]
        # The buffer was never saved, so the disk – and with it the tests – stayed red, and that is told.
        assert statuses == ["failed", "failed"]


async def test_a_closed_file_is_repaired_and_the_receipt_turns_green(
    tmp_path: Path, shop: Path, env: dict[str, str]
) -> None:
    async with editor(shop, options(tmp_path, *REPAIR), env=env) as ed:
        session = await ed.new()
        assert await ed.run(session, "Make the tests pass.") == {"kind": "completed"}
        assert (shop / "cart.py").read_text(encoding="utf-8") == RIGHT
        red, green = ed.data("tests/receipt")
        assert (red["status"], red["counts"]["failed"]) == ("failed", 1)
        assert (green["status"], green["counts"]["passed"]) == ("passed", 1)
        assert green["runner"] == "server"
        results = ed.data("tool/result")
        assert [r["outcome"] for r in results] == ["ok", "ok", "ok", "ok"]
        assert all(r["verified"]["ok"] for r in (results[0], results[2], results[3]))


async def test_events_are_told_once_in_order_and_behind_the_answer(
    tmp_path: Path, shop: Path, env: dict[str, str]
) -> None:
    async with editor(shop, options(tmp_path, *REPAIR), env=env) as ed:
        session = await ed.new()
        await ed.run(session, "Make the tests pass.")
        await ed.until(lambda: ed.infos[-1]["state"] == "idle")
        seqs = [e["seq"] for e in ed.events]
        assert seqs == list(range(1, len(seqs) + 1))
        page = await ed.request("steersman/session/events", {"sessionId": session, "limit": 10_000})
        assert page["events"] == ed.events
        assert ed.infos[-1]["lastSeq"] == seqs[-1]
        assert ed.order[0] == "didAppend"


async def test_a_prompt_needs_a_model(tmp_path: Path, shop: Path, env: dict[str, str]) -> None:
    async with editor(shop, {"stateDir": str(tmp_path / "state")}, env=env) as ed:
        session = await ed.new()
        error = await refused(ed, "steersman/turn/prompt", {"sessionId": session, "text": "hi"})
        assert error["data"]["kind"] == "notConfigured"
        status = await ed.request("steersman/status")
        assert status["model"]["configured"] is False


async def refused(ed: Editor, method: str, params: Any) -> dict[str, Any]:
    from tests.e2e.editor import plain

    with pytest.raises(JsonRpcException) as error:
        await ed.request(method, params)
    return {"code": error.value.code, "message": error.value.message, "data": plain(error.value.data)}


async def test_an_endpoint_that_is_down_is_an_event_and_the_session_stays_usable(
    tmp_path: Path, shop: Path, env: dict[str, str]
) -> None:
    settings = {
        "stateDir": str(tmp_path / "state"),
        "model": {"baseUrl": "http://127.0.0.1:9/v1", "name": "m", "maxRetries": 1, "retryBaseSeconds": 0.01},
    }
    async with editor(shop, settings, env=env) as ed:
        session = await ed.new()
        reason = await ed.run(session, "hi")
        assert (reason["kind"], reason["code"]) == ("error", "transport")
        assert [retry["code"] for retry in ed.data("model/retry")] == ["transport"]
        again = await ed.run(session, "hi again")
        assert again["kind"] == "error"


async def test_a_real_provider_is_asked_as_a_strict_one_wants_it(
    tmp_path: Path, shop: Path, env: dict[str, str]
) -> None:
    answers = [
        reply(tc(0, "c1", "read_file", '{"path": "cart.py"}'), fin("tool_calls"), use(20, 5), DONE),
        reply(txt("It subtracts 1."), fin("stop"), use(50, 6), DONE),
    ]
    async with provider(*answers) as p:
        settings = {"stateDir": str(tmp_path / "state"), "model": {"baseUrl": p.base_url, "name": "m"}}
        async with editor(shop, settings, env=env) as ed:
            await ed.request("steersman/credentials/set", {"apiKey": "sk-canary-123"})
            session = await ed.new()
            assert (await ed.run(session, "What is wrong?"))["kind"] == "completed"
            assert ed.infos[-1]["usage"]["inputTokens"] == 70
        first, second = p.requests
        assert first.headers["authorization"] == "Bearer sk-canary-123"
        assert first.body["stream"] is True
        assert [m["role"] for m in second.body["messages"]] == ["system", "user", "assistant", "tool"]
        assert "sum(items) - 1" in second.body["messages"][-1]["content"]
    for path in (tmp_path / "state").rglob("*"):
        if path.is_file():
            assert b"sk-canary-123" not in path.read_bytes(), path


async def test_stop_closes_the_model_connection_in_milliseconds(
    tmp_path: Path, shop: Path, env: dict[str, str]
) -> None:
    async with provider(reply(txt("thinking "), stall())) as p:
        settings = {"stateDir": str(tmp_path / "state"), "model": {"baseUrl": p.base_url, "name": "m"}}
        async with editor(shop, settings, env=env) as ed:
            session = await ed.new()
            await ed.prompt(session, "go")
            await ed.event("assistant/chunk")
            pressed = time.monotonic()
            answer = await ed.request("steersman/turn/cancel", {"sessionId": session})
            assert answer == {"cancelled": True, "turn": 1}
            async with asyncio.timeout(5):
                await p.requests[0].disconnected.wait()
            assert p.requests[0].disconnected_at is not None
            assert p.requests[0].disconnected_at - pressed < 1.0
            assert await ed.turn_end() == {"kind": "aborted", "by": "human"}
            (message,) = ed.data("assistant/message")
            assert (message["text"], message["interrupted"]) == ("thinking ", True)


async def test_a_steer_joins_the_running_turn(tmp_path: Path, shop: Path, env: dict[str, str]) -> None:
    lines = [
        {"text": "Looking.", "chunkDelayMs": 200, **call("read_file", path="cart.py")},
        {"text": "Both done."},
    ]
    async with editor(shop, options(tmp_path, *lines), env=env) as ed:
        session = await ed.new()
        await ed.prompt(session, "go")
        answer = await ed.request("steersman/turn/steer", {"sessionId": session, "text": "and explain"})
        assert answer["outcome"] == "injected"
        await ed.turn_end()
        assert [m["text"] for m in ed.data("user/message")] == ["go", "and explain"]
        assert len(ed.data("turn/start")) == 1


async def test_a_command_is_asked_and_a_denial_is_told_with_its_words(
    tmp_path: Path, shop: Path, env: dict[str, str]
) -> None:
    lines = [call("run_command", argv=[sys.executable, "-c", "print(6 * 7)"])] * 2 + [{"text": "ok"}]
    async with editor(shop, options(tmp_path, *lines), env=env) as ed:
        answers = [{"decision": "deny", "feedback": "why?"}, {"decision": "allowOnce"}]
        ed.decide = lambda asked: answers.pop(0)
        session = await ed.new()
        await ed.run(session, "go")
        denied, ran = ed.data("tool/result")
        assert denied["outcome"] == "denied"
        assert "why?" in denied["content"]
        assert ran["outcome"] == "ok"
        assert "42" in ran["content"]
        assert ed.approvals[0]["argv"] == [sys.executable, "-c", "print(6 * 7)"]
        assert ed.approvals[0]["risk"] == "execute"


async def test_stop_ends_a_running_command_with_its_children(
    tmp_path: Path, shop: Path, env: dict[str, str]
) -> None:
    mark = f"steersman-mark-{os.getpid()}"
    program = (
        "import subprocess, sys, time;"
        f"subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)', '{mark}'],"
        " start_new_session=True); print('up', flush=True); time.sleep(600)"
    )
    lines = [call("run_command", argv=[sys.executable, "-c", program, mark])]
    async with editor(shop, options(tmp_path, *lines), env=env) as ed:
        ed.decide = lambda asked: {"decision": "allowOnce"}
        session = await ed.new()
        await ed.prompt(session, "go")
        await ed.event("tool/start")
        await ed.until(lambda: len(marked(mark)) >= 2)
        await ed.request("steersman/turn/cancel", {"sessionId": session})
        assert (await ed.turn_end())["kind"] == "aborted"
        assert [r["outcome"] for r in ed.data("tool/result")] == ["aborted"]
        assert marked(mark) == []


def marked(mark: str) -> list[int]:
    """The processes that carry a mark in their command line (and are no zombies)."""
    import psutil

    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        line = process.info["cmdline"] or []
        if mark in line and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process.pid)
    return found


async def test_after_kill_9_in_mid_turn_nothing_is_lost_and_nothing_moves(
    tmp_path: Path, shop: Path, env: dict[str, str]
) -> None:
    ran = tmp_path / "ran.txt"
    program = f"import time; open({str(ran)!r}, 'a').write('x'); time.sleep(600)"
    lines = [call("run_command", argv=[sys.executable, "-c", program]), {"text": "never"}]
    settings = options(tmp_path, *lines)
    async with editor(shop, settings, env=env, kill=True) as ed:
        ed.decide = lambda asked: {"decision": "allowOnce"}
        session = await ed.new()
        await ed.prompt(session, "go")
        await ed.event("tool/start")
        await ed.until(lambda: ran.exists() and ran.read_text() == "x")
        await ed.prompt(session, "later", messageId="later")
        told = list(ed.events)
    async with editor(shop, settings, env=env) as ed:
        info = await ed.request("steersman/session/open", {"sessionId": session})
        assert info["state"] == "idle"
        assert info["queue"]["held"] == "restart"
        assert [m["text"] for m in info["queue"]["nextTurn"]] == ["later"]
        page = await ed.request("steersman/session/events", {"sessionId": session, "limit": 10_000})
        assert page["events"][: len(told)] == told, "an acknowledged event is gone"
        (result,) = [e["data"] for e in page["events"] if e["type"] == "tool/result"]
        assert result["outcome"] == "unknown"
        ends = [e["data"]["reason"] for e in page["events"] if e["type"] == "turn/end"]
        assert ends == [{"kind": "interrupted"}]
        await asyncio.sleep(0.3)
        after = await ed.request("steersman/session/events", {"sessionId": session, "limit": 10_000})
        assert after["lastSeq"] == page["lastSeq"], "something moved by itself"
        assert ran.read_text() == "x", "the command ran again"
        again = await ed.prompt(session, "later", messageId="later")
        assert again["outcome"] == "queued"


async def test_a_second_server_may_read_and_not_write(
    tmp_path: Path, shop: Path, env: dict[str, str]
) -> None:
    settings = options(tmp_path, {"text": "ok"})
    async with (
        editor(shop, settings, env=env) as first,
        editor(shop, settings, env=env) as second,
    ):
        session = await first.new()
        await first.run(session, "hi")
        error = await refused(second, "steersman/turn/prompt", {"sessionId": session, "text": "me too"})
        assert error["data"]["kind"] == "sessionLocked"
        assert error["data"]["holder"]["pid"] == first.pid
        seen = await second.request("steersman/session/open", {"sessionId": session, "readOnly": True})
        assert seen["readOnly"] is True
        page = await second.request("steersman/session/events", {"sessionId": session})
        assert page["lastSeq"] >= seen["lastSeq"]
        await first.request("steersman/session/close", {"sessionId": session})
        assert (await second.request("steersman/session/open", {"sessionId": session}))["readOnly"] is False


async def test_a_damaged_log_is_refused_and_read_up_to_the_damage(
    tmp_path: Path, shop: Path, env: dict[str, str]
) -> None:
    import sqlite3

    settings = options(tmp_path, {"text": "ok"})
    async with editor(shop, settings, env=env) as ed:
        session = await ed.new()
        await ed.run(session, "hi")
    (database,) = (tmp_path / "state").rglob("*.db")
    with sqlite3.connect(database) as connection:
        connection.execute(
            "UPDATE events SET data = CAST(replace(CAST(data AS TEXT), 'hi', 'ho') AS BLOB)"
            " WHERE type = 'inbox/queued'"
        )
    connection.close()
    before = stored(database)
    async with editor(shop, settings, env=env) as ed:
        error = await refused(ed, "steersman/session/open", {"sessionId": session})
        assert error["data"]["kind"] == "sessionCorrupt"
        assert error["data"]["seq"] == 3
        seen = await ed.request("steersman/session/open", {"sessionId": session, "readOnly": True})
        assert seen["damaged"]["seq"] == 3
        other = await ed.new()
        assert (await ed.run(other, "still here?"))["kind"] in ("completed", "error")
    assert stored(database) == before


def stored(database: Path) -> list[Any]:
    """The rows of a log as they lie in its file."""
    import sqlite3

    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        rows = connection.execute("SELECT * FROM events ORDER BY seq").fetchall()
    connection.close()
    return rows


@pytest.mark.parametrize(
    ("method", "params", "kind"),
    [
        ("steersman/session/open", {"sessionId": "s-nobody"}, "sessionNotFound"),
        ("steersman/turn/prompt", {"sessionId": "s-nobody", "text": "hi"}, "sessionNotFound"),
        ("steersman/session/open", {"sessionId": "../../etc"}, "sessionNotFound"),
    ],
)
async def test_an_unknown_session_is_told_so(
    tmp_path: Path, shop: Path, env: dict[str, str], method: str, params: Any, kind: str
) -> None:
    async with editor(shop, options(tmp_path), env=env) as ed:
        error = await refused(ed, method, params)
        assert (error["code"], error["data"]["kind"]) == (-32803, kind)


async def test_bad_params_and_a_workspace_that_does_not_exist(
    tmp_path: Path, shop: Path, env: dict[str, str]
) -> None:
    async with editor(shop, options(tmp_path), env=env) as ed:
        error = await refused(ed, "steersman/turn/prompt", {"sessionId": "s"})
        assert error["code"] == -32602
        error = await refused(ed, "steersman/session/new", {"workspaceFolder": (shop / "gone").as_uri()})
        assert "exist" in error["message"]
        assert (await ed.request("steersman/session/list"))["sessions"] == []


async def test_an_editor_that_refuses_is_believed(tmp_path: Path, shop: Path, env: dict[str, str]) -> None:
    lines = [call("edit_file", path="cart.py", edits=[EDIT]), {"text": "It did not work."}]
    async with editor(shop, options(tmp_path, *lines), env=env) as ed:
        ed.refuse = True
        uri = ed.open(shop / "cart.py")
        session = await ed.new()
        await ed.run(session, "go")
        (result,) = ed.data("tool/result")
        assert result["error"]["code"] == "REFUSED_BY_EDITOR"
        assert ed.buffers[uri][1] == WRONG
        assert (shop / "cart.py").read_text(encoding="utf-8") == WRONG


async def test_a_client_without_the_extension_drives_everything_by_commands(
    tmp_path: Path, shop: Path, env: dict[str, str]
) -> None:
    async with editor(shop, options(tmp_path, *REPAIR), env=env, offers=None) as ed:
        answer = await ed.command("steersman.prompt", {"text": "Make the tests pass."})
        assert answer["outcome"] == "started"
        await ed.until(lambda: (shop / "cart.py").read_text(encoding="utf-8") == RIGHT)
        assert ed.events == []
        listed = await ed.command("steersman.listSessions")
        assert len(listed["sessions"]) == 1


async def test_the_server_ends_when_it_is_asked_to_and_leaves_no_process(
    tmp_path: Path, shop: Path, env: dict[str, str]
) -> None:
    import psutil

    lines = [call("run_command", argv=[sys.executable, "-c", "import time; time.sleep(600)"])]
    async with editor(shop, options(tmp_path, *lines), env=env, kill=True) as ed:
        ed.decide = lambda asked: {"decision": "allowOnce"}
        session = await ed.new()
        await ed.prompt(session, "go")
        await ed.event("tool/start")
        server = psutil.Process(ed.pid)
        await ed.until(lambda: len(server.children(recursive=True)) >= 1)
        family = server.children(recursive=True)
        os.kill(ed.pid, signal.SIGTERM)
        gone, alive = psutil.wait_procs([server, *family], timeout=4)
        assert alive == []
        assert server in gone
    rows = json.dumps(await last_events(tmp_path, shop, env, session))
    assert '"by": "shutdown"' in rows


async def last_events(tmp_path: Path, shop: Path, env: dict[str, str], session: str) -> Any:
    async with editor(shop, options(tmp_path), env=env) as ed:
        page = await ed.request("steersman/session/events", {"sessionId": session, "limit": 10_000})
        return page["events"][-5:]
