"""A goal over stdio with a real server: rounds, proof, pause, `/goal`, a restart in mid-round."""

from __future__ import annotations

import asyncio
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.editor import Editor, call, editor, script

pytestmark = pytest.mark.usefixtures("over_every_transport")

WRONG = "def total(items):\n    return sum(items) - 1\n"
EDIT = {"old_text": "sum(items) - 1", "new_text": "sum(items)"}
PROOF = [sys.executable, "-c", "from cart import total; assert total([1, 2]) == 3"]
COMPLETE = call("update_goal", goal_id="${goal.id}", revision="${goal.revision}", action="complete")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "cart.py").write_text(WRONG, encoding="utf-8")
    return folder


def options(tmp_path: Path, *lines: Any, **more: Any) -> dict[str, Any]:
    scripted = script(tmp_path / "script.jsonl", *lines)
    return {"stateDir": str(tmp_path / "state"), "scriptedModel": str(scripted), **more}


async def phase(ed: Editor, wanted: str) -> dict[str, Any]:
    """Wait until the goal is told with a phase; the goal."""
    await ed.until(lambda: bool(ed.infos) and (ed.infos[-1]["goal"] or {}).get("phase") == wanted)
    goal: dict[str, Any] = ed.infos[-1]["goal"]
    return goal


async def test_a_goal_is_worked_on_until_its_check_passes(
    tmp_path: Path, shop: Path, clean_env: dict[str, str]
) -> None:
    lines = [
        COMPLETE,
        {"text": "Not yet, it seems."},
        call("edit_file", path="cart.py", edits=[EDIT]),
        COMPLETE,
        {"text": "It adds up now; the check shows it."},
    ]
    async with editor(shop, options(tmp_path, *lines), env=clean_env) as ed:
        session = await ed.new()
        check = {"kind": "command", "argv": PROOF}
        params = {"sessionId": session, "objective": "total() must add up", "checks": [check]}
        created = await ed.request("steersman/goal/create", params)
        assert (created["phase"], created["activation"], created["revision"]) == ("active", "armed", 1)
        goal = await phase(ed, "complete")
        assert goal["roundsStarted"] == 2
        assert goal["activation"] == "disarmed"
        assert goal["lastVerification"]["verdict"] == "pass"
        verdicts = [v["verdict"] for v in ed.data("goal/verification")]
        assert verdicts == ["fail", "pass"]
        assert [c["operation"] for c in ed.data("goal/change")] == ["create", "complete"]


async def test_a_restart_in_mid_round_keeps_the_phase_and_moves_nothing(
    tmp_path: Path, shop: Path, clean_env: dict[str, str]
) -> None:
    settings = options(tmp_path, {"text": "Thinking", "stallSeconds": 600}, {"text": "never"})
    async with editor(shop, settings, env=clean_env, kill=True) as ed:
        session = await ed.new()
        await ed.request("steersman/goal/create", {"sessionId": session, "objective": "long work"})
        await ed.event("assistant/chunk")
    async with editor(shop, settings, env=clean_env) as ed:
        info = await ed.request("steersman/session/open", {"sessionId": session})
        goal = info["goal"]
        assert (goal["phase"], goal["activation"], goal["roundsStarted"]) == ("active", "disarmed", 1)
        assert goal["disarmedBy"]
        await asyncio.sleep(0.5)
        page = await ed.request("steersman/session/events", {"sessionId": session, "limit": 10_000})
        assert page["lastSeq"] == info["lastSeq"], "the goal moved by itself"
        ref = {"id": goal["id"], "revision": goal["revision"]}
        paused = await ed.request("steersman/goal/pause", {"sessionId": session, "ref": ref})
        assert paused["phase"] == "paused"
        late = {"sessionId": session, "ref": ref, "objective": "late"}
        with pytest.raises(Exception, match="changed meanwhile"):
            await ed.request("steersman/goal/edit", late)


async def test_goal_commands_are_answered_with_markdown_and_ask_no_model(
    tmp_path: Path, shop: Path, clean_env: dict[str, str]
) -> None:
    async with editor(shop, options(tmp_path, {"stallSeconds": 600}), env=clean_env) as ed:
        session = await ed.new()

        async def say(text: str) -> dict[str, Any]:
            answer: dict[str, Any] = await ed.request(
                "steersman/goal/command", {"sessionId": session, "text": text}
            )
            return answer

        shown = await say("/goal")
        assert (shown["ok"], shown["goal"]) == (True, None)
        created = await say(f'/goal Make it right --check "{shlex.join(["make", "test"])}" --rounds 7')
        assert created["ok"]
        assert created["goal"]["maxRounds"] == 7
        assert "round" in created["message"]
        refused = await say("/goal Another one")
        assert not refused["ok"]
        assert "/goal edit" in refused["message"]
        piped = await say('/goal edit --check "make | tail"')
        assert "shell" in piped["message"]
        paused = await say("/goal pause")
        assert paused["goal"]["phase"] == "paused"
        assert "/goal resume" in paused["message"]
        cleared = await say("/goal clear")
        assert (cleared["ok"], cleared["goal"]) == (True, None)
        await ed.request("steersman/turn/cancel", {"sessionId": session})


async def test_stop_in_a_round_pauses_the_goal_and_a_prompt_is_answered(
    tmp_path: Path, shop: Path, clean_env: dict[str, str]
) -> None:
    lines = [{"text": "Thinking", "stallSeconds": 600}, {"text": "Here I am."}]
    async with editor(shop, options(tmp_path, *lines), env=clean_env) as ed:
        session = await ed.new()
        await ed.request("steersman/goal/create", {"sessionId": session, "objective": "long work"})
        await ed.event("assistant/chunk")
        await ed.request("steersman/turn/cancel", {"sessionId": session})
        await phase(ed, "paused")
        seen = len(ed.events)
        await ed.prompt(session, "are you there?")
        assert await ed.turn_end(after=seen) == {"kind": "completed"}
        assert ed.infos[-1]["goal"]["phase"] == "paused"


async def test_the_objective_pauses_only_as_a_whole_word_and_prompts_are_plain_text(
    tmp_path: Path, shop: Path, clean_env: dict[str, str]
) -> None:
    async with editor(shop, options(tmp_path, {"text": "That is only a text."}), env=clean_env) as ed:
        session = await ed.new()
        await ed.run(session, "/goal pause everything")
        assert ed.data("goal/change") == []
