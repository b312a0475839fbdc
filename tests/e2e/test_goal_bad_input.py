"""A goal over stdio where things go wrong: stale refs, impossible steps, odd values, a window that closes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from tests.e2e.editor import ALL, Editor, call, editor, script
from tests.fixtures.provider import DONE, fin, provider, reply, stall, txt
from tests.unit.goals.spoofs import ALL as ALL_SPOOFS

COMPLETE = call("update_goal", goal_id="${goal.id}", revision="${goal.revision}", action="complete")
WAITS = {"text": "Thinking", "stallSeconds": 600}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "cart.py").write_text("total = 1\n", encoding="utf-8")
    return folder


def options(tmp_path: Path, *lines: Any, **more: Any) -> dict[str, Any]:
    scripted = script(tmp_path / "script.jsonl", *lines)
    return {"stateDir": str(tmp_path / "state"), "scriptedModel": str(scripted), **more}


async def refused(ed: Editor, method: str, **params: Any) -> dict[str, Any]:
    """The data of the error that a request is answered with."""
    with pytest.raises(Exception) as error:  # noqa: PT011 - pygls has its own
        await ed.request(f"steersman/goal/{method}", params)
    data: Any = error.value.data  # type: ignore[attr-defined]
    return {"code": error.value.code, "message": str(error.value), **(data or {})}  # type: ignore[attr-defined]


async def phase(ed: Editor, wanted: str) -> dict[str, Any]:
    await ed.until(lambda: bool(ed.infos) and (ed.infos[-1]["goal"] or {}).get("phase") == wanted)
    goal: dict[str, Any] = ed.infos[-1]["goal"]
    return goal


async def test_a_stale_ref_is_refused_with_the_current_one_whatever_the_verb(
    tmp_path: Path, shop: Path, clean_env: dict[str, str]
) -> None:
    async with editor(shop, options(tmp_path, WAITS), env=clean_env) as ed:
        session = await ed.new()
        created = await ed.request("steersman/goal/create", {"sessionId": session, "objective": "work"})
        old = {"id": created["id"], "revision": 1}
        edit = {"sessionId": session, "ref": old, "objective": "other work"}
        assert (await ed.request("steersman/goal/edit", edit))["revision"] == 2
        for method in ("edit", "pause", "resume", "complete", "clear"):
            found = await refused(ed, method, sessionId=session, ref=old)
            assert (found["code"], found["kind"]) == (-32803, "goalStale"), method
            assert found["current"] == {"id": created["id"], "revision": 2}
        other = {"id": "g-of-another-session", "revision": 2}
        assert (await refused(ed, "pause", sessionId=session, ref=other))["kind"] == "goalStale"
        assert [c["operation"] for c in ed.data("goal/change")] == ["create", "edit"]
        await ed.request("steersman/turn/cancel", {"sessionId": session})


async def test_impossible_steps_are_refused_by_name_and_change_nothing(
    tmp_path: Path, shop: Path, clean_env: dict[str, str]
) -> None:
    async with editor(shop, options(tmp_path, WAITS), env=clean_env) as ed:
        session = await ed.new()
        nothing = {"id": "g-1", "revision": 1}
        for method in ("edit", "pause", "resume", "complete", "clear"):
            assert (await refused(ed, method, sessionId=session, ref=nothing))["kind"] == "goalNotFound"
        created = await ed.request("steersman/goal/create", {"sessionId": session, "objective": "work"})
        ref = {"id": created["id"], "revision": 1}
        again = await refused(ed, "create", sessionId=session, objective="another")
        assert again["kind"] == "goalExists"
        armed = await refused(ed, "resume", sessionId=session, ref=ref)
        assert (armed["kind"], armed["operation"], armed["phase"]) == ("goalTransition", "resume", "active")
        await ed.event("turn/start")
        assert (await refused(ed, "complete", sessionId=session, ref=ref))["kind"] == "sessionBusy"
        done = await ed.request("steersman/goal/complete", {"sessionId": session, "ref": ref, "accept": True})
        assert (done["phase"], done["activation"]) == ("complete", "disarmed")
        ref = {"id": done["id"], "revision": done["revision"]}
        for method in ("edit", "pause", "resume", "complete"):
            found = await refused(ed, method, sessionId=session, ref=ref)
            assert (found["kind"], found["phase"]) == ("goalTransition", "complete"), method
        await ed.request("steersman/turn/cancel", {"sessionId": session})


BAD: list[tuple[dict[str, Any], str | None, str]] = [
    ({"objective": ""}, "goalInvalid", "objective"),
    ({"objective": " \n\t "}, "goalInvalid", "objective"),
    ({"objective": "x" * 4001}, "goalInvalid", "objective"),
    ({"maxRounds": 0}, "goalInvalid", "maxRounds"),
    ({"maxRounds": -3}, "goalInvalid", "maxRounds"),
    ({"budgets": {"tokens": 0}}, "goalInvalid", "budgets.tokens"),
    ({"budgets": {"seconds": -1}}, "goalInvalid", "budgets.seconds"),
    ({"budgets": {"cost": 1}}, "goalInvalid", "budgets.cost"),
    ({"checks": [{"kind": "command", "argv": []}]}, "goalInvalid", "checks"),
    ({"checks": [{"kind": "file", "path": "../../etc/passwd"}]}, "goalInvalid", "checks"),
    ({"checks": [{"kind": "file", "path": "a", "contains": "("}]}, "goalInvalid", "checks"),
    ({"checks": [{"kind": "command", "argv": ["x"], "timeoutSeconds": 0}]}, "goalInvalid", "checks"),
    ({"checks": [{"kind": "magic"}]}, None, "checks"),
    ({"checks": [{"kind": "command"}]}, None, "argv"),
    ({"checks": "none"}, None, "checks"),
    ({"maxRounds": "many"}, None, "maxRounds"),
    ({"maxRounds": 1.5}, None, "maxRounds"),
    ({"budgets": {"tokens": "all"}}, None, "tokens"),
    ({"kind": "lazy"}, None, "kind"),
    ({"objective": 7}, None, "objective"),
    ({"objective": None}, None, "objective"),
]
"""Params of a create, the kind of the refusal (None: they do not fit their shape), the member it names."""


async def test_a_goal_that_cannot_be_is_refused_by_its_member(
    tmp_path: Path, shop: Path, clean_env: dict[str, str]
) -> None:
    async with editor(shop, options(tmp_path), env=clean_env) as ed:
        session = await ed.new()
        for params, kind, member in BAD:
            found = await refused(ed, "create", **{"sessionId": session, "objective": "work", **params})
            if kind is None:
                assert found["code"] == -32602, params
                assert member in found["message"], params
            else:
                assert (found["kind"], found["member"]) == (kind, member), params
        assert await ed.request("steersman/goal/get", {"sessionId": session}) is None
        assert ed.data("goal/change") == []


async def test_odd_refs_are_told_by_their_member(
    tmp_path: Path, shop: Path, clean_env: dict[str, str]
) -> None:
    async with editor(shop, options(tmp_path), env=clean_env) as ed:
        session = await ed.new()
        for ref in (
            None,
            {},
            {"id": "g"},
            {"id": "g", "revision": "1"},
            {"id": 1, "revision": 1},
            "g",
            4,
            [1],
        ):
            found = await refused(ed, "pause", sessionId=session, ref=ref)
            assert found["code"] == -32602, ref
            assert "ref" in found["message"], ref
        assert (await refused(ed, "pause", sessionId=session))["code"] == -32602
        assert (await refused(ed, "get", sessionId="no-such"))["kind"] == "sessionNotFound"


async def test_what_a_file_says_of_goals_and_people_changes_nothing(
    tmp_path: Path, shop: Path, clean_env: dict[str, str]
) -> None:
    (shop / "README.md").write_text("\n\n".join(text for _, text in ALL_SPOOFS), encoding="utf-8")
    ref = {"goal_id": "${goal.id}", "revision": "${goal.revision}"}
    lines = [
        call("read_file", path="README.md"),
        call("update_goal", **ref, action="edit", objective="something easier"),
        call("update_goal", **ref, action="pause"),
        call("create_goal", objective="another goal"),
        call("update_goal", **ref, action="complete", evidence="README.md says that it is complete"),
        {"text": "/goal clear"},
    ]
    async with editor(shop, options(tmp_path, *lines), env=clean_env) as ed:
        session = await ed.new()
        await ed.request("steersman/goal/create", {"sessionId": session, "objective": "the real one"})
        goal = await phase(ed, "complete")
        await ed.turn_end()
        assert goal["objective"] == "the real one"
        assert goal["lastVerification"]["verdict"] == "none", "what a file says proves nothing"
        outcomes = [(r["outcome"], (r.get("error") or {}).get("code")) for r in ed.data("tool/result")]
        assert outcomes == [("ok", None), *[("error", "AUTHORITY")] * 3, ("ok", None)]
        assert [(c["operation"], c["by"]) for c in ed.data("goal/change")] == [
            ("create", "human"),
            ("complete", "model"),
        ]
        assert {q["source"]["kind"] for q in ed.data("inbox/queued")} == {"goal"}


async def test_the_window_closes_in_mid_goal_and_nothing_moves_until_a_person_resumes(
    tmp_path: Path, shop: Path, clean_env: dict[str, str]
) -> None:
    answers = [reply(txt("Thinking"), stall())] + [reply(txt("On it."), fin("stop"), DONE)] * 3
    async with provider(*answers) as p:
        settings = {
            "stateDir": str(tmp_path / "state"),
            "model": {"baseUrl": p.base_url, "name": "m"},
            "goal": {"maxRounds": 2},
        }
        env = clean_env | {"OPENAI_API_KEY": "sk-test"}
        async with editor(shop, settings, env=env, kill=True) as ed:
            session = await ed.new()
            await ed.request("steersman/goal/create", {"sessionId": session, "objective": "long work"})
            await ed.event("assistant/chunk")
            server = ed.client._server
            assert server is not None
            assert server.stdin is not None
            server.stdin.close()  # the window is gone: no shutdown, no exit
            async with asyncio.timeout(10):
                await server.wait()
        assert len(p.requests) == 1
        async with editor(shop, settings, env=env) as ed:
            info = await ed.request("steersman/session/open", {"sessionId": session})
            goal = info["goal"]
            assert (goal["phase"], goal["activation"], goal["roundsStarted"]) == ("active", "disarmed", 1)
            assert goal["disarmedBy"]
            listed = await ed.request("steersman/session/list", {})
            [entry] = listed["sessions"]
            assert (entry["goal"]["phase"], entry["goal"]["activation"]) == ("active", "disarmed")
            await ed.request("steersman/status", {})
            assert len(p.requests) == 1, "a restart asked the model"
            ref = {"id": goal["id"], "revision": goal["revision"]}
            resumed = await ed.request("steersman/goal/resume", {"sessionId": session, "ref": ref})
            assert resumed["activation"] == "armed"
            goal = await phase(ed, "blocked")
            assert goal["blockedReason"]["code"] == "round-limit"
            assert len(p.requests) == 2, "round 2 was the last"
            rounds = [r["round"] for r in ed.data("goal/round") if r["status"] == "admitted"]
            assert rounds == [2]


async def test_a_person_who_cancels_their_request_to_complete_ends_the_checks(
    tmp_path: Path, shop: Path, clean_env: dict[str, str]
) -> None:
    async with editor(shop, options(tmp_path, WAITS), env=clean_env, offers=(*ALL, "questions")) as ed:

        async def never(_: Any) -> Any:
            await asyncio.Event().wait()

        ed.answers["steersman/question/ask"] = never
        session = await ed.new()
        params = {"sessionId": session, "objective": "work", "checks": [{"kind": "user"}]}
        await ed.request("steersman/goal/create", params)
        await ed.event("turn/start")
        await ed.request("steersman/turn/cancel", {"sessionId": session})
        await ed.turn_end()
        goal = await phase(ed, "paused")
        ref = {"id": goal["id"], "revision": goal["revision"]}
        protocol = ed.client.protocol
        completing = protocol.send_request(
            "steersman/goal/complete", {"sessionId": session, "ref": ref}, msg_id="c1"
        )
        await ed.until(lambda: bool(ed.asked_for("steersman/question/ask")))
        await ed.until(lambda: ed.infos[-1]["state"] == "maintenance")
        assert ed.infos[-1]["waitingOn"] == "question"
        ed.tell(types.CANCEL_REQUEST, types.CancelParams(id="c1"))
        with pytest.raises(Exception, match="cancel"):
            await asyncio.wrap_future(completing)
        await ed.until(lambda: ed.infos[-1]["state"] == "idle")
        assert ed.withdrawn == [ed.asked_for("steersman/question/ask")[0]["questionId"]]
        assert ed.infos[-1]["goal"]["phase"] == "paused"
        assert ed.data("goal/verification") == []


async def test_a_prompt_while_a_person_is_asked_to_complete_runs_right_behind_it(
    tmp_path: Path, shop: Path, clean_env: dict[str, str]
) -> None:
    settings = options(tmp_path, WAITS, {"text": "Here I am."})
    async with editor(shop, settings, env=clean_env, offers=(*ALL, "questions")) as ed:
        answered = asyncio.Event()

        async def slowly(_: Any) -> Any:
            await answered.wait()
            return {"answer": "Yes"}

        ed.answers["steersman/question/ask"] = slowly
        session = await ed.new()
        params = {"sessionId": session, "objective": "work", "checks": [{"kind": "user"}]}
        await ed.request("steersman/goal/create", params)
        await ed.event("turn/start")
        await ed.request("steersman/turn/cancel", {"sessionId": session})
        await ed.turn_end()
        goal = await phase(ed, "paused")
        ref = {"id": goal["id"], "revision": goal["revision"]}
        completing = asyncio.create_task(
            ed.request("steersman/goal/complete", {"sessionId": session, "ref": ref})
        )
        await ed.until(lambda: bool(ed.asked_for("steersman/question/ask")))
        seen = len(ed.events)
        prompted = await ed.prompt(session, "are you there?")
        assert prompted["outcome"] == "queued"
        answered.set()
        assert (await completing)["phase"] == "complete"
        assert await ed.turn_end(after=seen) == {"kind": "completed"}


async def test_lost_trust_disarms_and_only_a_person_arms_again(
    tmp_path: Path, shop: Path, clean_env: dict[str, str]
) -> None:
    settings = options(tmp_path, WAITS, COMPLETE, {"text": "Done."})
    async with editor(shop, settings, env=clean_env) as ed:
        session = await ed.new()
        params = {"sessionId": session, "objective": "work", "checks": [{"kind": "file", "path": "cart.py"}]}
        created = await ed.request("steersman/goal/create", params)
        ref = {"id": created["id"], "revision": 1}
        await ed.event("assistant/chunk")
        ed.tell("steersman/workspace/trust", {"trusted": False})
        assert await ed.turn_end() == {"kind": "aborted", "by": "trust"}
        await ed.until(lambda: ed.infos[-1]["state"] == "idle")
        goal = ed.infos[-1]["goal"]
        assert (goal["phase"], goal["activation"]) == ("active", "disarmed")
        assert "trust" in goal["disarmedBy"]
        assert (await refused(ed, "resume", sessionId=session, ref=ref))["kind"] == "untrusted"
        ed.tell("steersman/workspace/trust", {"trusted": True})
        shown = await ed.request("steersman/goal/get", {"sessionId": session})
        assert shown["activation"] == "disarmed", "trust alone moves nothing"
        assert shown["roundsStarted"] == 1
        await ed.request("steersman/goal/resume", {"sessionId": session, "ref": ref})
        assert (await phase(ed, "complete"))["roundsStarted"] == 2


async def test_an_approval_that_nobody_answers_pauses_the_goal_and_asks_no_model_again(
    tmp_path: Path, shop: Path, clean_env: dict[str, str]
) -> None:
    command = call("run_command", argv=["python", "-c", "print(1)"])
    settings = options(tmp_path, command, WAITS, permissions={"approvalTimeoutSeconds": 0.5})
    async with editor(shop, settings, env=clean_env) as ed:

        async def never(_: Any) -> Any:
            await asyncio.Event().wait()

        ed.decide = never
        session = await ed.new()
        await ed.request("steersman/goal/create", {"sessionId": session, "objective": "work"})
        goal = await phase(ed, "paused")
        assert await ed.turn_end() == {"kind": "exit", "policy": "unanswered"}
        [result] = ed.data("tool/result")
        assert (result["outcome"], result["error"]["code"]) == ("denied", "UNAVAILABLE")
        [_, change] = ed.data("goal/change")
        assert (change["operation"], change["by"]) == ("pause", "driver")
        assert "Nobody answered" in change["reason"]
        assert "Nobody answered" in goal["disarmedBy"]
        [verdict] = ed.data("exit/verdict")
        assert (verdict["policy"], verdict["severity"], verdict["action"]) == ("unanswered", "human", "pause")
        assert goal["usage"]["requests"] == 1
