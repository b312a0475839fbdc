"""Every request can be rebuilt from the log alone, byte for byte: a real server, a real endpoint."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from steersman.__main__ import main
from steersman.domain import events as ev
from steersman.store.folder import FolderStore
from tests.e2e.conftest import Steersman
from tests.e2e.editor import DEADLINE, editor, script
from tests.fixtures.provider import (
    DONE,
    Provider,
    Reply,
    Request,
    fin,
    http,
    provider,
    reply,
    stall,
    tc,
    txt,
    use,
)
from tests.fixtures.rebuilt import rebuilt

TOO_LONG = http(400, {"error": {"message": "too long", "code": "context_length_exceeded"}})


def says(words: str) -> Reply:
    return reply(txt(words), fin("stop"), use(50, 5), DONE)


def calls(name: str, **arguments: Any) -> Reply:
    return reply(tc(0, f"call-{name}", name, json.dumps(arguments)), fin("tool_calls"), use(50, 5), DONE)


def completes(request: Request) -> Reply:
    """The model completes the goal that the request tells it of."""
    goal, revision = re.findall(r"Goal: (g-\w+), revision (\d+)", request.raw.decode())[-1]
    return calls(
        "update_goal", goal_id=goal, revision=int(revision), action="complete", evidence="it was seen"
    )


def is_summary(request: Request) -> bool:
    return "Sum up everything above" in str(request.body["messages"][-1]["content"])


async def test_every_body_that_was_sent_is_rebuilt_from_the_log(
    tmp_path: Path, clean_env: dict[str, str], steersman: Steersman
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    big = "".join(f"line {n} of a big file\n" for n in range(900))
    (folder / "big.py").write_text(big, encoding="utf-8")
    answers: list[Any] = [
        calls("read_file", path="big.py"),
        calls("no_such_tool", x="\u2028 and \U0001f6b2"),
        says("I have read it."),
        http(503, "busy"),
        says("Better now."),
        reply(txt("Half an ans"), stall()),
        says("Back again."),
        TOO_LONG,
        says("A summary: big.py was read."),
        says("It fits now."),
        completes,
        says("The goal is reached."),
    ]
    async with provider(*answers) as endpoint:
        options = {
            "stateDir": str(tmp_path / "state"),
            "model": {
                "baseUrl": endpoint.base_url,
                "name": "m",
                "temperature": 0.25,
                "retryBaseSeconds": 0.01,
            },
        }
        async with editor(folder, options, env=clean_env, kill=True) as ed:
            session = await ed.new()
            uri = (folder / "big.py").as_uri()
            await ed.run(session, "Read it. \u2028 <notice>", context=[{"uri": uri, "text": "line 1"}])
            await ed.run(session, "Again?")
            await ed.prompt(session, "And now")
            await ed.event("assistant/chunk", after=len(ed.events))
        async with editor(folder, options, env=clean_env) as ed:
            await ed.request("steersman/session/open", {"sessionId": session})
            await ed.run(session, "Are you there?")
            await ed.request("steersman/session/configure", {"sessionId": session, "mode": "plan"})
            await ed.run(session, "More")
            await ed.request("steersman/session/configure", {"sessionId": session, "mode": "agent"})
            await ed.request("steersman/goal/create", {"sessionId": session, "objective": "See it."})
            await ed.until(lambda: (ed.infos[-1]["goal"] or {}).get("phase") == "complete")
            await ed.until(lambda: ed.infos[-1]["state"] == "idle")
        await check(endpoint, tmp_path / "state", session, steersman)


async def check(endpoint: Provider, state: Path, session: str, steersman: Steersman) -> None:
    assert endpoint.script == [], "every answer was asked for"
    sent = [request.raw for request in endpoint.requests if not is_summary(request)]
    retried = [body for n, body in enumerate(sent) if n == 0 or body != sent[n - 1]]
    assert len(sent) == len(retried) + 1, "the busy endpoint was asked twice for the same"
    requests = await rebuilt(FolderStore(state), session)
    assert [body for _, body in requests] == retried
    for at, body in requests[-2:]:
        ran = steersman("replay", session, "--at", str(at), "--request", "--state-dir", str(state))
        assert (ran.stdout.encode(), ran.stderr) == (body, "")
    ran = steersman("replay", session[:9], "--at", str(requests[0][0]), "--state-dir", str(state))
    told = json.loads(ran.stdout)
    assert told["request"] == json.loads(requests[0][1])
    assert (told["session"]["lastSeq"], told["session"]["turn"]) == (requests[0][0], 1)
    assert requests[0][1].decode() in ran.stdout, "its bytes are there as they were sent"


async def test_following_a_session_prints_each_event_as_it_comes(
    tmp_path: Path, clean_env: dict[str, str]
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    replies = script(tmp_path / "script.jsonl", {"text": "first"}, {"text": "second"})
    state = str(tmp_path / "state")
    async with editor(folder, {"stateDir": state, "scriptedModel": str(replies)}, env=clean_env) as ed:
        session = await ed.new()
        command = [sys.executable, "-m", "steersman", "replay", session, "--state-dir", state, "--follow"]
        following = await asyncio.create_subprocess_exec(
            *command, "--at", "1", stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_env
        )
        assert following.stdout is not None
        assert following.stderr is not None
        async with asyncio.timeout(DEADLINE):
            assert json.loads(await following.stdout.readline())["type"] == "session/opened"
            await ed.run(session, "go")
            seen = [json.loads(await following.stdout.readline())]
            while seen[-1]["type"] != "turn/end":
                seen.append(json.loads(await following.stdout.readline()))
        assert [event["seq"] for event in seen] == list(range(3, 3 + len(seen)))
        told = {event["seq"]: (event["time"], event["type"]) for event in ed.events}
        assert [told[event["seq"]] for event in seen] == [(event["time"], event["type"]) for event in seen]
        following.send_signal(signal.SIGINT)
        async with asyncio.timeout(DEADLINE):
            assert await following.wait() == 3
        assert await following.stderr.read() == b"Stopped.\n"


def test_a_moment_that_the_log_does_not_have_is_refused(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    state = tmp_path / "state"

    async def make() -> None:
        store = FolderStore(state)
        log = await store.create("s-abc", None)
        created = ev.SessionCreated(format_version=1, workspace_folder=None, title="x")
        await log.append([ev.to_stored(ev.make_event("s-abc", 1, 1, created))])
        await log.close()

    asyncio.run(make())

    def replay(*words: str) -> tuple[int, str, str]:
        try:
            code = main(["replay", "--state-dir", str(state), *words])
        except SystemExit as left:
            code = int(str(left.code))
        told = capfdbinary.readouterr()
        return code, told.out.decode(), told.err.decode()

    code, out, _ = replay("s-abc")
    assert (code, json.loads(out)["request"], json.loads(out)["session"]["lastSeq"]) == (0, None, 1)
    assert replay("s-abc", "--at", "2")[0] == 2
    assert "no event 2: the last is 1" in replay("s-abc", "--at", "2")[2]
    assert "asked nothing" in replay("s-abc", "--request")[2]
    for words in (("s-abc", "--at", "0"), ("s-abc", "--request", "--follow"), (), ("s-nobody",)):
        assert replay(*words)[0] == 2
    (state / "sessions" / "s-abc" / "session.db").write_bytes(b"")
    code, out, err = replay("s-abc")
    assert (code, out) == (1, "")
    assert "damaged at event 1" in err
