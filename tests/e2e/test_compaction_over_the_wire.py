"""Compaction on a real server: by hand in maintenance, under pressure, on a refusal, and over a restart."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from tests.e2e.editor import Editor, editor, plain, script
from tests.fixtures.provider import (
    DONE,
    Provider,
    Request,
    Script,
    fin,
    http,
    provider,
    reply,
    stall,
    txt,
    use,
)

LONG = "a" * 3000
PROMPT = "please look at this and say what you think of it"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    made.mkdir()
    return made


def scripted(tmp_path: Path, *lines: Any, window: int | None = None) -> dict[str, Any]:
    return {
        "stateDir": str(tmp_path / "state"),
        "scriptedModel": str(script(tmp_path / "script.jsonl", *lines)),
        "model": {"contextWindow": window},
    }


async def talk(ed: Editor, session: str, turns: int) -> None:
    for n in range(turns):
        assert await ed.run(session, f"{PROMPT} ({n})") == {"kind": "completed"}


async def test_a_person_makes_a_conversation_shorter_and_goes_on(
    tmp_path: Path, folder: Path, clean_env: dict[str, str]
) -> None:
    lines = [{"text": LONG}] * 4 + [{"for": "summary", "text": "We talked."}, {"text": "on we go"}]
    async with editor(folder, scripted(tmp_path, *lines), env=clean_env) as ed:
        session = await ed.new()
        await talk(ed, session, 4)
        ed.order.clear()
        answer = await ed.request("steersman/session/compact", {"sessionId": session})
        assert answer["compacted"] is True
        assert answer["tokensAfter"] < answer["tokensBefore"]
        event = (await ed.event("context/compacted"))["data"]
        assert event["summary"] == "We talked."
        assert event["trigger"] == "human"
        assert {key: event[key] for key in ("tokensBefore", "tokensAfter")} == {
            key: answer[key] for key in ("tokensBefore", "tokensAfter")
        }
        assert any(info["state"] == "maintenance" for info in ed.infos)
        await ed.until(lambda: ed.infos[-1]["state"] == "idle")
        assert ed.infos[-1]["context"]["usedTokens"] == answer["tokensAfter"]
        assert await ed.run(session, "and now?") == {"kind": "completed"}


async def test_the_command_twin_and_a_session_that_has_nothing_to_leave_out(
    tmp_path: Path, folder: Path, clean_env: dict[str, str]
) -> None:
    async with editor(folder, scripted(tmp_path, {"text": "hi"}), env=clean_env) as ed:
        session = await ed.new()
        answer = await ed.command("steersman.compact", {})
        assert answer == {"compacted": False, "tokensBefore": 0, "tokensAfter": 0}
        assert await ed.run(session, "hello") == {"kind": "completed"}
        answer = await ed.command("steersman.compact", {"sessionId": session})
        assert answer["compacted"] is False
        assert answer["tokensBefore"] == answer["tokensAfter"] > 0


async def test_what_is_sent_in_maintenance_is_queued_and_runs_right_after(
    tmp_path: Path, folder: Path, clean_env: dict[str, str]
) -> None:
    slow = {"for": "summary", "text": "We talked a bit.", "chunkDelayMs": 150}
    lines = [{"text": LONG}] * 4 + [slow, {"text": "to the steer"}, {"text": "to the prompt"}]
    async with editor(folder, scripted(tmp_path, *lines), env=clean_env) as ed:
        session = await ed.new()
        await talk(ed, session, 4)
        work = asyncio.create_task(ed.request("steersman/session/compact", {"sessionId": session}))
        await ed.until(lambda: ed.infos[-1]["state"] == "maintenance")
        prompted = await ed.prompt(session, "then this")
        assert (prompted["outcome"], prompted.get("turn")) == ("queued", None)
        steered = await ed.request("steersman/turn/steer", {"sessionId": session, "text": "first this"})
        assert (steered["outcome"], steered.get("turn")) == ("queued", None)
        for method in ("steersman/session/compact", "steersman/session/close"):
            with pytest.raises(JsonRpcException) as busy:
                await ed.request(method, {"sessionId": session})
            assert (busy.value.code, plain(busy.value.data)["kind"]) == (-32803, "sessionBusy")
        assert not work.done()
        assert (await work)["compacted"] is True
        await ed.until(lambda: len(ed.data("turn/end")) == 6)
        told = [m["text"] for m in ed.data("user/message")[-2:]]
        assert told == ["first this", "then this"]


async def test_stop_ends_the_maintenance_and_holds_what_waited(
    tmp_path: Path, folder: Path, clean_env: dict[str, str]
) -> None:
    lines = [{"text": LONG}] * 4 + [{"for": "summary", "stallSeconds": 60, "text": "never"}, {"text": "ok"}]
    async with editor(folder, scripted(tmp_path, *lines), env=clean_env) as ed:
        session = await ed.new()
        await talk(ed, session, 4)
        work = asyncio.create_task(ed.request("steersman/session/compact", {"sessionId": session}))
        await ed.until(lambda: ed.infos[-1]["state"] == "maintenance")
        await ed.prompt(session, "waits")
        stopped = await ed.request("steersman/turn/cancel", {"sessionId": session})
        assert (stopped["cancelled"], stopped.get("turn")) == (True, None)
        assert (await work)["compacted"] is False
        await ed.until(
            lambda: ed.infos[-1]["state"] == "idle" and ed.infos[-1]["queue"]["held"] == "cancelled"
        )
        assert await ed.request("steersman/turn/cancel", {"sessionId": session}) == {"cancelled": False}
        assert (await ed.request("steersman/queue/release", {"sessionId": session}))["released"] == 1
        await ed.until(lambda: len(ed.data("turn/end")) == 5)


async def test_cancelling_the_request_closes_the_models_connection(
    folder: Path, tmp_path: Path, clean_env: dict[str, str]
) -> None:
    answers = [reply(txt(LONG), fin("stop"), use(1000 + n, 750), DONE) for n in range(4)]
    env = clean_env | {"OPENAI_API_KEY": "sk-x"}
    async with (
        provider(*answers, reply(txt("so far"), stall())) as p,
        editor(folder, endpoint(tmp_path, p), env=env) as ed,
    ):
        session = await ed.new()
        await talk(ed, session, 4)
        params = {"sessionId": session}
        send = ed.client.protocol.send_request
        work = asyncio.wrap_future(send("steersman/session/compact", params, msg_id="c"))
        asked = await p.asked(5)
        ed.tell(types.CANCEL_REQUEST, types.CancelParams(id="c"))
        with pytest.raises(JsonRpcException) as cancelled:
            await work
        assert cancelled.value.code == -32800
        await asyncio.wait_for(asked.disconnected.wait(), 10)
        await ed.until(lambda: ed.infos[-1]["state"] == "idle")
        assert ed.data("context/compacted") == []


def endpoint(tmp_path: Path, p: Provider, **model: Any) -> dict[str, Any]:
    return {
        "stateDir": str(tmp_path / "state"),
        "model": {"baseUrl": p.base_url, "name": "m", **model},
    }


def answering(characters: int, refuse_above: int | None = None) -> Script:
    """A provider that counts four characters a token, sums up when asked, and refuses what is too long."""

    def answer(request: Request) -> Any:
        if refuse_above is not None and len(request.raw) > refuse_above:
            return http(400, {"error": {"code": "context_length_exceeded", "message": "too long"}})
        asks = str(request.body["messages"][-1]["content"])
        words = "SUMMARY" if "Sum up everything above" in asks else "b" * characters
        return reply(txt(words), fin("stop"), use(len(request.raw) // 4, len(words) // 4), DONE)

    return answer


async def test_the_request_after_a_restart_is_the_same_byte_for_byte(
    folder: Path, tmp_path: Path, clean_env: dict[str, str]
) -> None:
    env = clean_env | {"OPENAI_API_KEY": "sk-x"}
    async with provider(*[answering(2500)] * 40) as p:
        settings = endpoint(tmp_path, p, contextWindow=6000)
        async with editor(folder, settings, env=env, kill=True) as ed:
            session = await ed.new()
            await ed.run(session, "Never touch secrets.py.")
            while len(ed.data("context/compacted")) < 2:
                await talk(ed, session, 1)
            # Right behind a compaction there is room: neither of the next two requests brings another.
        before = p.requests[-1].body
        async with editor(folder, settings, env=env) as ed:
            await ed.request("steersman/session/open", {"sessionId": session})
            await ed.run(session, "another one")
        after = p.requests[-1].body
        shared = before["messages"]
        assert after["messages"][: len(shared)] == shared
        assert after["messages"][1]["content"].count("Never touch secrets.py.") == 1
        assert "SUMMARY" in after["messages"][1]["content"]
        assert {k: v for k, v in after.items() if k != "messages"} == {
            k: v for k, v in before.items() if k != "messages"
        }


async def test_a_refusal_as_too_long_is_answered_by_a_shorter_request_and_the_session_lives_on(
    folder: Path, tmp_path: Path, clean_env: dict[str, str]
) -> None:
    env = clean_env | {"OPENAI_API_KEY": "sk-x"}
    async with (
        provider(*[answering(3000, refuse_above=22_000)] * 60) as p,
        editor(folder, endpoint(tmp_path, p), env=env) as ed,
    ):
        session = await ed.new()
        await talk(ed, session, 14)
        found = ed.data("context/compacted")
        assert found
        assert {c["trigger"] for c in found} == {"overflow"}
        refused = sum(len(r.raw) > 22_000 for r in p.requests)
        assert refused == len(found)


async def test_a_message_that_no_model_can_take_ends_its_turn_and_the_next_small_one_works(
    folder: Path, tmp_path: Path, clean_env: dict[str, str]
) -> None:
    env = clean_env | {"OPENAI_API_KEY": "sk-x"}
    async with (
        provider(*[answering(10, refuse_above=60_000)] * 20) as p,
        editor(folder, endpoint(tmp_path, p), env=env) as ed,
    ):
        session = await ed.new()
        reason = await ed.run(session, "g" * 200_000)
        assert (reason["kind"], reason["code"]) == ("error", "context-limit")
        assert "new session" in reason["message"]
        asked = len(p.requests)
        assert asked == 1
        assert await ed.run(session, "a small one") == {"kind": "completed"}
        assert len(p.requests[-1].raw) <= 60_000
        assert "the messages are too long for the model" in p.requests[-1].body["messages"][1]["content"]
