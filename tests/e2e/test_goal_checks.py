"""Checks that the client answers, over stdio: the person's yes, and the editor's diagnostics."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from tests.e2e.editor import ALL, Editor, call, editor, script

QUESTION = "steersman/question/ask"
QUERY = "steersman/query"
MESSAGE = types.WINDOW_SHOW_MESSAGE_REQUEST
COMPLETE = call("update_goal", goal_id="${goal.id}", revision="${goal.revision}", action="complete")
USER = {"kind": "user"}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "cart.py").write_text("total = 1\n", encoding="utf-8")
    return folder


def options(tmp_path: Path, *lines: Any, **more: Any) -> dict[str, Any]:
    scripted = script(tmp_path / "script.jsonl", *lines)
    return {"stateDir": str(tmp_path / "state"), "scriptedModel": str(scripted), **more}


async def create(ed: Editor, session: str, *checks: dict[str, Any], **more: Any) -> dict[str, Any]:
    params = {"sessionId": session, "objective": "A nice cart", "checks": [*checks], **more}
    created: dict[str, Any] = await ed.request("steersman/goal/create", params)
    return created


async def phase(ed: Editor, wanted: str) -> dict[str, Any]:
    await ed.until(lambda: bool(ed.infos) and (ed.infos[-1]["goal"] or {}).get("phase") == wanted)
    goal: dict[str, Any] = ed.infos[-1]["goal"]
    return goal


async def never(_: Any = None) -> Any:
    await asyncio.Event().wait()


async def test_the_person_is_asked_at_the_claim_and_their_no_goes_back_to_the_model(
    tmp_path: Path, shop: Path, clean_env: dict[str, str]
) -> None:
    settings = options(tmp_path, COMPLETE, {"text": "I see."}, COMPLETE, {"text": "Done."})
    async with editor(shop, settings, env=clean_env, offers=(*ALL, "questions")) as ed:
        answers = iter([{"answer": "The total is missing"}, {"answer": "Yes"}])
        ed.answers[QUESTION] = lambda asked: next(answers)
        session = await ed.new()
        await create(ed, session, USER)
        goal = await phase(ed, "complete")
        assert goal["lastVerification"]["verdict"] == "pass"
        first, second = ed.asked_for(QUESTION)
        assert (first["choices"], first["turn"], second["turn"]) == (["Yes", "No"], 1, 2)
        assert "A nice cart" in first["text"]
        [refused] = [r for r in ed.data("tool/result") if r.get("error")]
        assert refused["error"]["code"] == "NOT_VERIFIED"
        assert "The total is missing" in refused["content"]
        assert any(info["waitingOn"] == "question" for info in ed.infos)
        assert any(info["task"] == "WAITING_FOR_USER" for info in ed.infos)


async def test_a_standard_client_asks_by_a_message_with_buttons(
    tmp_path: Path, shop: Path, clean_env: dict[str, str]
) -> None:
    settings = options(tmp_path, COMPLETE, {"text": "Done."})
    async with editor(shop, settings, env=clean_env) as ed:
        ed.answers[MESSAGE] = lambda asked: types.MessageActionItem(title="Yes")
        session = await ed.new()
        await create(ed, session, USER)
        await phase(ed, "complete")
        assert [a.title for a in ed.asked[0][1].actions] == ["Yes", "No"]


async def test_a_client_that_can_neither_ask_nor_tell_diagnostics_cannot_set_such_checks(
    tmp_path: Path, shop: Path, clean_env: dict[str, str]
) -> None:
    async with editor(shop, options(tmp_path), env=clean_env, profile="emacs") as ed:
        session = await ed.new()
        for check in (USER, {"kind": "diagnostics"}, {"kind": "judge", "question": "is it?"}):
            with pytest.raises(Exception, match="cannot") as refused:
                await create(ed, session, check)
            assert refused.value.data == {"kind": "goalInvalid", "retryable": False, "member": "checks"}  # type: ignore[attr-defined]
            with pytest.raises(Exception, match="cannot"):
                await ed.prompt(session, "hi", checks=[check])
        assert ed.data("goal/change") == []
        assert ed.data("inbox/queued") == []


def broken(_: Any) -> Any:
    raise RuntimeError("no dialog here")


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (lambda _: {"answer": None}, "fail"),
        (lambda _: {"answer": 7}, "timeout"),
        (lambda _: {"nothing": True}, "timeout"),
        (lambda _: None, "timeout"),
        (lambda _: ["Yes"], "timeout"),
        (broken, "timeout"),
        (never, "timeout"),
    ],
    ids=["closed", "a number", "no answer in it", "null", "a list", "an error", "silence"],
)
async def test_a_client_that_refuses_or_never_answers_proves_nothing(
    tmp_path: Path, shop: Path, clean_env: dict[str, str], answer: Callable[[Any], Any], status: str
) -> None:
    settings = options(tmp_path, COMPLETE, {"stallSeconds": 600}, permissions={"approvalTimeoutSeconds": 0.5})
    async with editor(shop, settings, env=clean_env, offers=(*ALL, "questions")) as ed:
        ed.answers[QUESTION] = answer
        session = await ed.new()
        await create(ed, session, USER)
        found = (await ed.event("goal/verification"))["data"]
        assert [r["status"] for r in found["results"]] == [status]
        assert found["verdict"] == "fail"
        if status == "timeout":
            goal = await phase(ed, "paused")
            assert (await ed.turn_end())["kind"] == "exit"
            assert goal["activation"] == "disarmed"
            assert [c["by"] for c in ed.data("goal/change")] == ["human", "driver"]
        assert ed.infos[-1]["goal"]["phase"] != "complete"
        await ed.request("steersman/turn/cancel", {"sessionId": session})


async def test_stop_withdraws_the_question_at_the_client(
    tmp_path: Path, shop: Path, clean_env: dict[str, str]
) -> None:
    async with editor(shop, options(tmp_path, COMPLETE), env=clean_env, offers=(*ALL, "questions")) as ed:
        ed.answers[QUESTION] = never
        session = await ed.new()
        await create(ed, session, USER)
        await ed.until(lambda: bool(ed.asked_for(QUESTION)))
        await ed.request("steersman/turn/cancel", {"sessionId": session})
        await phase(ed, "paused")
        assert ed.withdrawn == [ed.asked_for(QUESTION)[0]["questionId"]]
        assert [a["by"] for a in ed.data("question/answered")] == ["cancelled"]


async def test_a_person_completes_the_goal_after_being_asked_outside_of_a_turn(
    tmp_path: Path, shop: Path, clean_env: dict[str, str]
) -> None:
    settings = options(tmp_path, {"stallSeconds": 600})
    async with editor(shop, settings, env=clean_env, offers=(*ALL, "questions")) as ed:
        answers = iter([{"answer": "No"}, {"answer": "yes"}])
        ed.answers[QUESTION] = lambda asked: next(answers)
        session = await ed.new()
        await create(ed, session, USER)
        await ed.event("turn/start")
        await ed.request("steersman/turn/cancel", {"sessionId": session})
        await ed.turn_end()
        goal = await phase(ed, "paused")
        params = {"sessionId": session, "ref": {"id": goal["id"], "revision": goal["revision"]}}
        with pytest.raises(Exception, match="do not pass") as refused:
            await ed.request("steersman/goal/complete", params)
        assert refused.value.data["kind"] == "notVerified"  # type: ignore[attr-defined]
        assert refused.value.data["results"][0]["status"] == "fail"  # type: ignore[attr-defined]
        completed = await ed.request("steersman/goal/complete", params)
        assert completed["phase"] == "complete"
        assert [asked["turn"] for asked in ed.asked_for(QUESTION)] == [None, None]


async def test_the_editors_diagnostics_decide(tmp_path: Path, shop: Path, clean_env: dict[str, str]) -> None:
    uri = (shop / "cart.py").as_uri()
    place = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 5}}
    settings = options(
        tmp_path,
        COMPLETE,
        call("edit_file", path="cart.py", edits=[{"old_text": "total = 1", "new_text": "total = 2"}]),
        COMPLETE,
        {"text": "Done."},
    )
    async with editor(shop, settings, env=clean_env, offers=(*ALL, "query")) as ed:

        def told(asked: dict[str, Any]) -> Any:
            bad = {"range": place, "severity": 1, "message": "no such name"}
            warning = {"range": place, "severity": 2, "message": "unused"}
            wrong = (shop / "cart.py").read_text(encoding="utf-8") == "total = 1\n"
            problems = [bad, warning] if wrong else [warning]
            if asked.get("uri") is None:
                return [{"uri": uri, "diagnostics": problems}]
            return problems

        ed.answers[QUERY] = told
        session = await ed.new()
        await create(ed, session, {"kind": "diagnostics"})
        await phase(ed, "complete")
        verdicts = [v["verdict"] for v in ed.data("goal/verification")]
        assert verdicts == ["fail", "pass"]
        assert "no such name" in ed.data("goal/verification")[0]["results"][0]["evidence"]
        assert [asked.get("uri") for asked in ed.asked_for(QUERY)] == [None, uri]
