"""What an editor may offer to do itself, over stdio: tests, commands, questions, queries."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from tests.e2e.editor import ALL, Editor, call, editor, script

pytestmark = pytest.mark.usefixtures("over_every_transport")

TESTS = "steersman/tests/run"
COMMAND = "steersman/command/run"
QUESTION = "steersman/question/ask"
QUERY = "steersman/query"
PASSED = {
    "status": "passed",
    "exitCode": 0,
    "counts": {"collected": 2, "passed": 2, "failed": 0, "errors": 0, "skipped": 0},
    "tests": [{"id": "t.py::a", "outcome": "passed", "durationMs": 1.5}],
    "output": "\x1b[32m2 passed\x1b[0m\n",
    "argv": ["editor's own"],
    "folder": "file:///elsewhere",
    "durationMs": 20.5,
    "runner": "editor",
}
RUN_TESTS = [call("run_tests"), {"text": "Done."}]
ASK = [call("ask_user", question="Which one?", choices=["left", "right"]), {"text": "Done."}]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "cart.py").write_text("def total(items):\n    return sum(items)\n", encoding="utf-8")
    return folder


def options(tmp_path: Path, *lines: Any, **more: Any) -> dict[str, Any]:
    tests = {"command": [sys.executable, "-c", "print('the server ran')"]} | more.pop("tests", {})
    return {
        "stateDir": str(tmp_path / "state"),
        "scriptedModel": str(script(tmp_path / "script.jsonl", *lines)),
        "tests": tests,
        **more,
    }


async def never(_: Any = None) -> Any:
    await asyncio.Event().wait()


def later(ed: Editor, method: str, result: dict[str, Any], times: int = 1) -> Any:
    """An answer that accepts, and tells the value a moment later by a notification."""

    def accept(params: dict[str, Any]) -> Any:
        for _ in range(times):
            asyncio.get_running_loop().call_later(0.02, ed.tell, method, {"runId": params["runId"], **result})
        return {"accepted": True}

    return accept


async def test_tests_run_in_the_editor_and_the_receipt_says_so(
    tmp_path: Path, shop: Path, clean_env: dict[str, str]
) -> None:
    settings = options(tmp_path, *RUN_TESTS, tests={"timeoutSeconds": 33})
    async with editor(shop, settings, env=clean_env, offers=(*ALL, "tests")) as ed:
        ed.answers[TESTS] = lambda params: {**PASSED, "runId": params["runId"]}
        session = await ed.new()
        assert await ed.run(session, "test it") == {"kind": "completed"}
        [asked] = ed.asked_for(TESTS)
        [called] = ed.data("tool/call")
        assert asked["sessionId"] == session
        assert (asked["turn"], asked["callId"], asked["reason"]) == (1, called["callId"], "tool")
        assert (asked["folder"], asked["timeoutSeconds"]) == (shop.as_uri(), 33)
        [receipt] = ed.data("tests/receipt")
        assert (receipt["runner"], receipt["status"], receipt["runId"]) == (
            "editor",
            "passed",
            asked["runId"],
        )
        assert (receipt["output"], receipt["folder"]) == ("2 passed\n", shop.as_uri())
        [result] = ed.data("tool/result")
        assert result["outcome"] == "ok"
        assert "2 collected, 2 passed" in result["content"]


async def test_a_run_may_be_accepted_and_told_later_and_only_its_first_result_counts(
    tmp_path: Path, shop: Path, clean_env: dict[str, str]
) -> None:
    async with editor(shop, options(tmp_path, *RUN_TESTS), env=clean_env, offers=(*ALL, "tests")) as ed:
        ed.tell("steersman/tests/result", {"runId": "nobody's", **PASSED})
        ed.tell("steersman/tests/result", ["nonsense"])
        ed.answers[TESTS] = later(ed, "steersman/tests/result", PASSED, times=2)
        await ed.run(await ed.new(), "test it")
        assert [r["status"] for r in ed.data("tests/receipt")] == ["passed"]


async def test_the_checks_of_a_prompt_run_in_the_editor_too(
    tmp_path: Path, shop: Path, clean_env: dict[str, str]
) -> None:
    settings = options(tmp_path, {"text": "It is done."})
    async with editor(shop, settings, env=clean_env, offers=(*ALL, "tests")) as ed:
        ed.answers[TESTS] = lambda params: PASSED
        session = await ed.new()
        checks = [{"kind": "tests", "argv": ["make", "check"]}]
        assert await ed.run(session, "do it", checks=checks) == {"kind": "completed"}
        [asked] = ed.asked_for(TESTS)
        assert (asked["reason"], asked["argv"]) == ("check", ["make", "check"])
        assert "callId" not in asked
        [verification] = ed.data("goal/verification")
        assert verification["verdict"] == "pass"


DOUBTFUL: list[tuple[Any, str]] = [
    (None, "error"),
    ("passed", "error"),
    ({"status": "passed"}, "error"),
    ({**PASSED, "status": "great"}, "error"),
    ({**PASSED, "runId": "another"}, "error"),
    ({**PASSED, "exitCode": 1}, "failed"),
    ({**PASSED, "counts": {"collected": 0}}, "noTests"),
]


async def test_a_receipt_that_makes_no_sense_is_no_pass(
    tmp_path: Path, shop: Path, clean_env: dict[str, str]
) -> None:
    lines = [call("run_tests", tests=[f"test_{n}"]) for n in range(len(DOUBTFUL))]
    settings = options(tmp_path, *lines, {"text": "Done."})
    async with editor(shop, settings, env=clean_env, offers=(*ALL, "tests")) as ed:
        claims = iter([claim for claim, _ in DOUBTFUL])
        ed.answers[TESTS] = lambda params: next(claims)
        assert await ed.run(await ed.new(), "test it") == {"kind": "completed"}
        assert [r["status"] for r in ed.data("tests/receipt")] == [status for _, status in DOUBTFUL]
        assert {r["runner"] for r in ed.data("tests/receipt")} == {"editor"}
        assert ed.asked_for(TESTS)[1]["selection"] == {"files": [], "tests": ["test_1"]}


async def test_an_editor_that_never_answers_ends_in_a_timeout(
    tmp_path: Path, shop: Path, clean_env: dict[str, str]
) -> None:
    settings = options(tmp_path, *RUN_TESTS, tests={"timeoutSeconds": 0.2})
    async with editor(shop, settings, env=clean_env, offers=(*ALL, "tests")) as ed:
        ed.answers[TESTS] = never
        assert await ed.run(await ed.new(), "test it") == {"kind": "completed"}
        assert [r["status"] for r in ed.data("tests/receipt")] == ["timeout"]
        assert ed.data("tool/result")[0]["outcome"] == "timeout"
        await ed.until(lambda: ed.withdrawn == [ed.asked_for(TESTS)[0]["runId"]])


async def test_a_stop_withdraws_a_run_and_its_late_result_changes_nothing(
    tmp_path: Path, shop: Path, clean_env: dict[str, str]
) -> None:
    async with editor(shop, options(tmp_path, *RUN_TESTS), env=clean_env, offers=(*ALL, "tests")) as ed:
        ed.answers[TESTS] = never
        session = await ed.new()
        await ed.prompt(session, "test it")
        await ed.until(lambda: ed.asked_for(TESTS) != [])
        begun = asyncio.get_running_loop().time()
        await ed.request("steersman/turn/cancel", {"sessionId": session})
        assert await ed.turn_end() == {"kind": "aborted", "by": "human"}
        assert asyncio.get_running_loop().time() - begun < 2
        run_id = ed.asked_for(TESTS)[0]["runId"]
        await ed.until(lambda: ed.withdrawn == [run_id])
        ed.tell("steersman/tests/result", {"runId": run_id, **PASSED})
        await ed.request("steersman/status")
        assert [r["status"] for r in ed.data("tests/receipt")] == ["cancelled"]
        assert ed.data("tool/result")[0]["outcome"] == "aborted"


async def test_a_command_runs_in_the_editor_after_its_approval_and_checks_stay_with_the_server(
    tmp_path: Path, shop: Path, clean_env: dict[str, str]
) -> None:
    settings = options(tmp_path, call("run_command", argv=["make", "it so"]), {"text": "Done."})
    async with editor(shop, settings, env=clean_env, offers=(*ALL, "commands")) as ed:
        ed.decide = lambda asked: {"decision": "allowOnce"}
        ended = {"exitCode": 3, "output": "\x1b[1mno rule\x1b[0m\n", "durationMs": 5, "cancelled": False}
        ed.answers[COMMAND] = later(ed, "steersman/command/result", ended)
        session = await ed.new()
        check = {"kind": "command", "argv": [sys.executable, "-c", "print('by the server')"]}
        assert await ed.run(session, "make it", checks=[check]) == {"kind": "completed"}
        [asked] = ed.asked_for(COMMAND)
        assert (asked["argv"], asked["title"]) == (["make", "it so"], "make 'it so'")
        assert (asked["folder"], asked["turn"], asked["sessionId"]) == (shop.as_uri(), 1, session)
        assert len(ed.approvals) == 1
        [result] = ed.data("tool/result")
        assert result["content"] == "exited with 3\nno rule"
        [verification] = ed.data("goal/verification")
        assert "by the server" in verification["results"][0]["evidence"]


async def test_a_question_is_answered_in_the_persons_own_words(
    tmp_path: Path, shop: Path, clean_env: dict[str, str]
) -> None:
    async with editor(shop, options(tmp_path, *ASK), env=clean_env, offers=(*ALL, "questions")) as ed:
        ed.answers[QUESTION] = lambda params: {"answer": "the middle one"}
        session = await ed.new()
        assert await ed.run(session, "go") == {"kind": "completed"}
        [asked] = ed.asked_for(QUESTION)
        assert (asked["text"], asked["choices"]) == ("Which one?", ["left", "right"])
        [told] = ed.data("question/asked")
        [answered] = ed.data("question/answered")
        assert told["questionId"] == answered["questionId"] == asked["questionId"]
        assert (answered["answer"], answered["by"]) == ("the middle one", "human")
        assert ed.data("tool/result")[0]["content"] == "The user answered: the middle one"
        states = [state["to"] for state in ed.data("task/state")]
        assert states == ["IN_PROGRESS", "WAITING_FOR_USER", "IN_PROGRESS", "SUCCEEDED"]
        assert any(info["waitingOn"] == "question" for info in ed.infos)


async def test_a_question_nobody_answers_is_unavailable(
    tmp_path: Path, shop: Path, clean_env: dict[str, str]
) -> None:
    settings = options(tmp_path, *ASK, permissions={"approvalTimeoutSeconds": 0.2})
    async with editor(shop, settings, env=clean_env, offers=(*ALL, "questions")) as ed:
        ed.answers[QUESTION] = never
        assert await ed.run(await ed.new(), "go") == {"kind": "completed"}
        [answered] = ed.data("question/answered")
        assert (answered["answer"], answered["by"]) == (None, "timeout")
        [result] = ed.data("tool/result")
        assert (result["outcome"], result["error"]["code"]) == ("denied", "UNAVAILABLE")
        await ed.until(lambda: ed.withdrawn == [answered["questionId"]])


async def test_a_person_who_steers_withdraws_the_question_and_is_heard(
    tmp_path: Path, shop: Path, clean_env: dict[str, str]
) -> None:
    async with editor(shop, options(tmp_path, *ASK), env=clean_env, offers=(*ALL, "questions")) as ed:
        ed.answers[QUESTION] = never
        session = await ed.new()
        await ed.prompt(session, "go")
        await ed.event("question/asked")
        steered = await ed.request(
            "steersman/turn/steer", {"sessionId": session, "text": "neither, leave it"}
        )
        assert (steered["outcome"], steered["turn"]) == ("injected", 1)
        assert await ed.turn_end() == {"kind": "completed"}
        [answered] = ed.data("question/answered")
        assert (answered["answer"], answered["by"]) == (None, "steer")
        assert "wrote a message instead" in ed.data("tool/result")[0]["content"]
        assert [m["text"] for m in ed.data("user/message")] == ["go", "neither, leave it"]
        assert len(ed.data("turn/start")) == 1
        await ed.until(lambda: ed.withdrawn == [answered["questionId"]])


async def test_a_stop_withdraws_the_question(tmp_path: Path, shop: Path, clean_env: dict[str, str]) -> None:
    async with editor(shop, options(tmp_path, *ASK), env=clean_env, offers=(*ALL, "questions")) as ed:
        ed.answers[QUESTION] = never
        session = await ed.new()
        await ed.prompt(session, "go")
        await ed.event("question/asked")
        await ed.request("steersman/turn/cancel", {"sessionId": session})
        assert await ed.turn_end() == {"kind": "aborted", "by": "human"}
        assert ed.data("question/answered")[0]["by"] == "cancelled"
        assert ed.data("tool/result")[0]["outcome"] == "aborted-before-dispatch"


async def test_a_killed_server_leaves_no_question_open(
    tmp_path: Path, shop: Path, clean_env: dict[str, str]
) -> None:
    settings = options(tmp_path, *ASK)
    async with editor(shop, settings, env=clean_env, offers=(*ALL, "questions"), kill=True) as ed:
        ed.answers[QUESTION] = never
        session = await ed.new()
        await ed.prompt(session, "go")
        await ed.event("question/asked")
    async with editor(shop, settings, env=clean_env, offers=(*ALL, "questions")) as ed:
        await ed.request("steersman/session/open", {"sessionId": session})
        page = await ed.request("steersman/session/events", {"sessionId": session})
        closing = {e["type"]: e["data"] for e in page["events"]}
        assert closing["question/answered"]["by"] == "cancelled"
        assert closing["tool/result"]["outcome"] == "not-started"
        assert closing["turn/end"]["reason"] == {"kind": "interrupted"}
        assert ed.asked_for(QUESTION) == []


async def test_without_the_extension_choices_are_buttons_and_free_text_is_refused(
    tmp_path: Path, shop: Path, clean_env: dict[str, str]
) -> None:
    lines = [call("ask_user", question="Why?"), *ASK]
    async with editor(shop, options(tmp_path, *lines), env=clean_env, offers=("events",)) as ed:
        shown: list[types.ShowMessageRequestParams] = []
        ed.answers[types.WINDOW_SHOW_MESSAGE_REQUEST] = lambda params: (
            shown.append(params) or types.MessageActionItem(title="right")  # type: ignore[func-returns-value]
        )
        assert await ed.run(await ed.new(), "go") == {"kind": "completed"}
        refused, answered = ed.data("tool/result")
        assert (refused["outcome"], refused["error"]["code"]) == ("error", "UNAVAILABLE")
        assert answered["content"] == "The user answered: right"
        assert len(ed.data("question/asked")) == 1
        assert [action.title for action in shown[0].actions or ()] == ["left", "right"]


async def test_language_intelligence_is_offered_only_where_the_editor_answers(
    tmp_path: Path, shop: Path, clean_env: dict[str, str]
) -> None:
    names = {"diagnostics", "definition", "references", "symbols", "hover"}
    for offers in (ALL, (*ALL, "query")):
        async with editor(shop, options(tmp_path, {"text": "ok"}), env=clean_env, offers=offers) as ed:
            await ed.run(await ed.new(), "hi")
            offered = {tool["name"] for tool in ed.data("request/header")[0]["tools"]}
            assert offered & names == (names if "query" in offers else set())


async def test_a_symbol_is_asked_for_where_it_stands_in_the_live_text(
    tmp_path: Path, shop: Path, clean_env: dict[str, str]
) -> None:
    lines = [
        call("definition", path="cart.py", line=3, symbol="sum"),
        call("diagnostics", path="cart.py"),
        call("hover", path="cart.py", line=3, symbol="sum"),
        {"text": "Done."},
    ]
    async with editor(shop, options(tmp_path, *lines), env=clean_env, offers=(*ALL, "query")) as ed:
        uri = ed.open(shop / "cart.py", "# 🚲 new\ndef total(items):\n    return sum(items)\n")
        place = {"start": {"line": 1, "character": 4}, "end": {"line": 1, "character": 9}}
        given = {
            "definition": [{"uri": uri, "range": place}],
            "diagnostics": [{"range": place, "message": "unused", "severity": 2}],
            "hover": {"contents": 5},
        }
        ed.answers[QUERY] = lambda params: given[params["kind"]]
        assert await ed.run(await ed.new(), "look") == {"kind": "completed"}
        assert ed.asked_for(QUERY)[0] == {
            "kind": "definition",
            "uri": uri,
            "position": {"line": 2, "character": 11},
        }
        definition, diagnostics, hover = ed.data("tool/result")
        assert definition["content"] == "cart.py:2: def total(items):"
        assert diagnostics["content"] == "cart.py:2: warning: unused"
        assert (hover["outcome"], hover["error"]["code"]) == ("error", "FAILED")
        assert "makes no sense" in hover["content"]
        assert json.dumps(ed.asked_for(QUERY)[2]["position"]) == '{"line": 2, "character": 11}'
