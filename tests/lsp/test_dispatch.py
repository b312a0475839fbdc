"""Our requests: decoded strictly, answered once, in order, and before the events that they caused."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from steersman.domain.events import StoredEvent
from steersman.errors import Aborted, InvalidParams, SessionLocked, TurnMismatch
from steersman.lsp.messages import COMMANDS, ROUTES
from steersman.sessions import requests as rq
from tests.lsp.wire import EXPERIMENTAL, Served, served


async def resolve(desk: Served, result: Any, which: int = -1) -> None:
    """Resolve one of the verbs' futures, the last one that is asked for unless said."""
    while len(desk.sessions.futures) <= max(which, 0) or desk.sessions.futures[which].done():
        await asyncio.sleep(0)
    desk.sessions.futures[which].set_result(result)


async def test_a_request_reaches_its_verb_and_is_answered_with_its_result() -> None:
    async with served() as desk:
        await desk.wire.initialize()
        asked = desk.wire.ask("steersman/turn/prompt", {"sessionId": "s", "text": "hi", "more": 1})
        await resolve(desk, rq.Accepted(message_id="m", outcome="started", turn=1))
        answer = await desk.wire.answer(asked)
        assert answer["result"] == {"messageId": "m", "outcome": "started", "turn": 1}
        assert desk.sessions.called == [("prompt", rq.Prompt(session_id="s", text="hi"))]


async def test_the_answer_leaves_before_the_events_that_are_told_in_the_next_tick() -> None:
    async with served() as desk:
        await desk.wire.initialize(EXPERIMENTAL)
        asked = desk.wire.ask("steersman/turn/prompt", {"sessionId": "s", "text": "hi"})
        while not desk.sessions.futures:
            await asyncio.sleep(0)
        assert desk.ports is not None
        row = StoredEvent(seq=1, time=1, type="turn/start", data=b'{"turn":1,"trigger":"human"}')
        desk.sessions.futures[0].set_result(rq.Accepted(message_id="m", outcome="started"))
        asyncio.get_running_loop().call_soon(desk.ports.feed.appended, "s", [row])
        first, second = await desk.wire.receive(), await desk.wire.receive()
        assert first["id"] == asked
        assert second["method"] == "steersman/session/didAppend"
        assert second["params"]["events"][0]["data"] == {"turn": 1, "trigger": "human"}


BAD: dict[str, Any] = {
    "steersman/session/new": {"mode": "fast"},
    "steersman/session/list": {"limit": 0},
    "steersman/session/open": {},
    "steersman/session/fork": {"sessionId": "s", "atSeq": 0},
    "steersman/session/repair": {"sessionId": "s"},
    "steersman/session/compact": {},
    "steersman/session/export": {"sessionId": "s", "format": "pdf"},
    "steersman/session/close": {"sessionId": 5},
    "steersman/session/rename": {"sessionId": "s"},
    "steersman/session/delete": [],
    "steersman/session/events": {"sessionId": "s", "afterSeq": -1},
    "steersman/session/configure": {"sessionId": "s", "mode": 1},
    "steersman/turn/prompt": {"sessionId": "s", "text": ""},
    "steersman/turn/steer": {"sessionId": "s", "text": 5},
    "steersman/turn/cancel": {"sessionId": "s", "queue": "burn"},
    "steersman/queue/remove": {"sessionId": "s"},
    "steersman/queue/update": {"sessionId": "s", "messageId": "m"},
    "steersman/queue/release": "s",
    "steersman/goal/get": {},
    "steersman/goal/create": {"sessionId": "s", "objective": 5},
    "steersman/goal/edit": {"sessionId": "s", "ref": {"id": "g"}},
    "steersman/goal/pause": {"sessionId": "s"},
    "steersman/goal/resume": {"sessionId": "s", "ref": {"id": "g", "revision": "1"}},
    "steersman/goal/complete": {"sessionId": "s", "ref": {"id": "g", "revision": 1}, "accept": "yes"},
    "steersman/goal/clear": {"sessionId": "s", "ref": None},
    "steersman/goal/command": {"sessionId": "s", "text": ""},
    "steersman/credentials/set": {"apiKey": ""},
    "steersman/status": 5,
}


def test_every_method_has_bad_params_to_try() -> None:
    assert set(BAD) == set(ROUTES)


@pytest.mark.parametrize("method", sorted(ROUTES))
async def test_params_that_do_not_fit_are_refused_with_the_member(method: str) -> None:
    async with served() as desk:
        await desk.wire.initialize()
        error = await desk.wire.error(method, BAD[method])
        assert error["code"] == -32602
        assert error["data"]["errors"][0].startswith("$")
        assert desk.sessions.called == []


async def test_the_error_names_the_member() -> None:
    async with served() as desk:
        await desk.wire.initialize()
        error = await desk.wire.error("steersman/turn/prompt", {"sessionId": "s", "text": 5})
        assert "$.text" in error["message"]
        params = {"sessionId": "s", "text": "x", "checks": [{"kind": "command", "argv": "ls"}]}
        error = await desk.wire.error("steersman/turn/prompt", params)
        assert error["data"]["errors"][0].startswith("$.checks[0].argv")


@pytest.mark.parametrize(
    ("raised", "code", "data"),
    [
        (
            SessionLocked("locked", holder={"pid": 1}),
            -32803,
            {"kind": "sessionLocked", "retryable": True, "holder": {"pid": 1}},
        ),
        (TurnMismatch("no", turn=None), -32803, {"kind": "turnMismatch", "retryable": False, "turn": None}),
        (InvalidParams("bad", ["$.x: bad"]), -32602, {"errors": ["$.x: bad"]}),
        (ZeroDivisionError("secret path /home/me"), -32603, {"kind": "internal"}),
    ],
)
async def test_failures_have_their_code_and_tell_no_more_than_they_should(
    raised: Exception, code: int, data: Any
) -> None:
    async with served() as desk:
        await desk.wire.initialize()
        asked = desk.wire.ask("steersman/session/open", {"sessionId": "s"})
        while not desk.sessions.futures:
            await asyncio.sleep(0)
        desk.sessions.futures[0].set_exception(raised)
        error = (await desk.wire.answer(asked))["error"]
        assert (error["code"], error["data"]) == (code, data)
        assert "secret" not in str(error)


@pytest.mark.parametrize("method", ["steersman/nothing", "steersman/session/split", "no/such/method"])
async def test_an_unknown_request_is_method_not_found(method: str) -> None:
    async with served() as desk:
        await desk.wire.initialize()
        assert (await desk.wire.error(method, {}))["code"] == -32601


async def test_unknown_notifications_are_ignored() -> None:
    async with served() as desk:
        await desk.wire.initialize()
        for method in ("steersman/nothing", "$/unknown", "whatever"):
            desk.wire.tell(method, {"a": 1})
        desk.wire.tell("steersman/workspace/trust", {"trusted": "yes"})
        desk.wire.tell("steersman/workspace/trust", {"trusted": False})
        assert (await desk.wire.error("steersman/nothing"))["code"] == -32601
        assert desk.sessions.trusted == [False]


async def test_cancel_request_stops_the_waiting_and_not_the_work() -> None:
    async with served() as desk:
        await desk.wire.initialize()
        asked = desk.wire.ask("steersman/turn/prompt", {"sessionId": "s", "text": "x"})
        desk.wire.tell("$/cancelRequest", {"id": asked})
        assert (await desk.wire.answer(asked))["error"]["code"] == -32800
        (future,) = desk.sessions.futures
        assert not future.cancelled()
        future.set_result(rq.Accepted(message_id="m", outcome="started"))
        status = desk.wire.ask("steersman/status", {})
        await resolve(desk, rq.Nothing())
        assert (await desk.wire.receive())["id"] == status, "the late answer was sent too"


GOAL_AT = {"sessionId": "s", "ref": {"id": "g", "revision": 1}}


async def test_cancelling_a_request_that_answers_when_its_work_is_done_ends_the_work() -> None:
    async with served() as desk:
        await desk.wire.initialize()
        asked = desk.wire.ask("steersman/goal/complete", GOAL_AT)
        desk.wire.tell("$/cancelRequest", {"id": asked})
        assert (await desk.wire.answer(asked))["error"]["code"] == -32800
        assert desk.sessions.futures[0].cancelled()
        assert (await desk.wire.error("steersman/nothing"))["code"] == -32601


async def test_such_work_does_not_begin_when_it_was_cancelled_before_its_session_was_found() -> None:
    async with served() as desk:
        await desk.wire.initialize()
        asked = run(desk.wire, "steersman.goalComplete", ref=GOAL_AT["ref"])
        await until_called(desk, 1)
        desk.wire.tell("$/cancelRequest", {"id": asked})
        assert (await desk.wire.answer(asked))["error"]["code"] == -32800
        await resolve(desk, "s-1", 0)
        assert (await desk.wire.error("steersman/nothing"))["code"] == -32601
        assert [verb for verb, _ in desk.sessions.called] == ["latest"]


async def test_work_that_a_person_stopped_is_answered_as_cancelled() -> None:
    async with served() as desk:
        await desk.wire.initialize()
        asked = desk.wire.ask("steersman/goal/complete", GOAL_AT)
        await until_called(desk, 1)
        desk.sessions.futures[0].set_exception(Aborted("human"))
        assert (await desk.wire.answer(asked))["error"]["code"] == -32800


async def test_a_late_failure_of_a_cancelled_request_disturbs_nobody() -> None:
    async with served() as desk:
        await desk.wire.initialize()
        asked = desk.wire.ask("steersman/turn/prompt", {"sessionId": "s", "text": "x"})
        desk.wire.tell("$/cancelRequest", {"id": asked})
        await desk.wire.answer(asked)
        desk.sessions.futures[0].set_exception(ValueError("late"))
        desk.wire.tell("$/cancelRequest", {"id": asked})
        desk.wire.tell("$/cancelRequest", {"id": 99})
        desk.wire.tell("$/cancelRequest", {})
        assert (await desk.wire.error("steersman/nothing"))["code"] == -32601


async def test_requests_reach_the_verbs_in_the_order_in_which_they_came() -> None:
    async with served() as desk:
        await desk.wire.initialize()
        for n in range(50):
            desk.wire.ask("steersman/turn/prompt", {"sessionId": "s", "text": str(n)})
            desk.wire.ask("steersman/turn/steer", {"sessionId": "s", "text": str(n)})
        while len(desk.sessions.called) < 100:
            await asyncio.sleep(0)
        seen = [(verb, params.text) for verb, params in desk.sessions.called]
        assert seen == [(verb, str(n)) for n in range(50) for verb in ("prompt", "steer")]


def test_every_acting_method_has_a_command_twin_and_credentials_have_none() -> None:
    assert {route.command for route in ROUTES.values() if route.command is None} <= {None}
    assert [m for m, route in ROUTES.items() if route.command is None] == ["steersman/credentials/set"]
    twins = {f"steersman.{route.command}" for route in ROUTES.values() if route.command is not None}
    assert COMMANDS.keys() - twins == {"steersman.showTranscript"}


async def test_a_command_is_its_request() -> None:
    async with served() as desk:
        result = await desk.wire.initialize()
        assert "steersman.prompt" in result["capabilities"]["executeCommandProvider"]["commands"]
        params = {"command": "steersman.steer", "arguments": [{"sessionId": "s", "text": "x"}]}
        asked = desk.wire.ask("workspace/executeCommand", params)
        await resolve(desk, rq.Accepted(message_id="m", outcome="injected"))
        assert (await desk.wire.answer(asked))["result"]["outcome"] == "injected"
        assert desk.sessions.called == [("steer", rq.Steer(session_id="s", text="x"))]


async def test_a_command_without_a_session_uses_the_latest() -> None:
    async with served() as desk:
        await desk.wire.initialize()
        asked = desk.wire.ask(
            "workspace/executeCommand", {"command": "steersman.prompt", "arguments": [{"text": "x"}]}
        )
        await resolve(desk, "s-latest")
        while len(desk.sessions.futures) < 2:
            await asyncio.sleep(0)
        await resolve(desk, rq.Accepted(message_id="m", outcome="started"), 1)
        await desk.wire.answer(asked)
        assert desk.sessions.called[1] == ("prompt", rq.Prompt(session_id="s-latest", text="x"))


@pytest.mark.parametrize("arguments", [None, [], [None]])
async def test_a_command_without_arguments_has_empty_params(arguments: Any) -> None:
    async with served() as desk:
        await desk.wire.initialize()
        asked = desk.wire.ask(
            "workspace/executeCommand", {"command": "steersman.status", "arguments": arguments}
        )
        await resolve(desk, rq.Nothing())
        assert (await desk.wire.answer(asked))["result"] == {}


@pytest.mark.parametrize(
    "params",
    [
        {"command": "steersman.prompt", "arguments": [{}]},
        {"command": "steersman.prompt", "arguments": [5]},
        {"command": "steersman.prompt", "arguments": [{}, {}]},
        {"command": "steersman.prompt", "arguments": "x"},
        {"command": "steersman.unknown", "arguments": []},
        {"command": "other.command", "arguments": []},
        {"command": 5},
        {},
        None,
    ],
)
async def test_a_command_that_does_not_fit_is_refused(params: Any) -> None:
    async with served() as desk:
        await desk.wire.initialize()
        error = await desk.wire.error("workspace/executeCommand", params)
        assert error["code"] == -32602
        assert desk.sessions.called == []


def run(wire: Any, command: str, **argument: Any) -> int:
    return int(wire.ask("workspace/executeCommand", {"command": command, "arguments": [argument]}))


async def until_called(desk: Served, count: int) -> None:
    async with asyncio.timeout(5):
        while len(desk.sessions.called) < count:
            await asyncio.sleep(0)


async def test_commands_in_a_row_without_a_session_mean_one_session_and_keep_their_order() -> None:
    async with served() as desk:
        await desk.wire.initialize()
        asked = [run(desk.wire, "steersman.prompt", text=str(n)) for n in range(3)]
        await still_answers(desk)
        await resolve(desk, "s-1", 0)
        await until_called(desk, 3)
        await resolve(desk, "s-1", 2)
        await until_called(desk, 5)
        searches = [verb for verb, _ in desk.sessions.called if verb == "latest"]
        prompts = [params for verb, params in desk.sessions.called if verb == "prompt"]
        assert [prompt.text for prompt in prompts] == ["0", "1", "2"]
        assert {prompt.session_id for prompt in prompts} == {"s-1"}
        assert len(searches) == 2, "a search ran while another was running"
        for future in desk.sessions.futures:
            if not future.done():
                future.set_result(rq.Accepted(message_id="m", outcome="queued"))
        for each in asked:
            assert "result" in await desk.wire.answer(each)


async def test_a_command_behind_a_new_session_means_that_session() -> None:
    async with served() as desk:
        await desk.wire.initialize()
        run(desk.wire, "steersman.newSession")
        run(desk.wire, "steersman.prompt", text="x")
        await still_answers(desk)
        assert [verb for verb, _ in desk.sessions.called] == ["new"], "it looked before the session was made"
        await resolve(desk, rq.Nothing(), 0)
        await until_called(desk, 2)
        assert desk.sessions.called[1][0] == "latest"


async def test_a_session_that_could_not_be_made_holds_no_command_up() -> None:
    async with served() as desk:
        await desk.wire.initialize()
        run(desk.wire, "steersman.newSession")
        asked = run(desk.wire, "steersman.prompt", text="x")
        await until_called(desk, 1)
        desk.sessions.futures[0].set_exception(SessionLocked("no"))
        await until_called(desk, 2)
        desk.sessions.futures[1].set_exception(SessionLocked("no latest"))
        assert (await desk.wire.answer(asked))["error"]["data"]["kind"] == "sessionLocked"


async def test_a_command_that_is_cancelled_while_its_session_is_looked_for_is_carried_out() -> None:
    async with served() as desk:
        await desk.wire.initialize()
        asked = run(desk.wire, "steersman.prompt", text="x")
        desk.wire.tell("$/cancelRequest", {"id": asked})
        assert (await desk.wire.answer(asked))["error"]["code"] == -32800
        await resolve(desk, "s-1", 0)
        await until_called(desk, 2)
        assert desk.sessions.called[1] == ("prompt", rq.Prompt(session_id="s-1", text="x"))


async def test_an_id_that_is_in_use_is_refused_and_the_first_request_is_answered() -> None:
    async with served() as desk:
        await desk.wire.initialize()
        for text in ("first", "second"):
            params = {"sessionId": "s", "text": text}
            desk.wire.send({"jsonrpc": "2.0", "id": "x", "method": "steersman/turn/prompt", "params": params})
        assert (await desk.wire.receive())["error"]["code"] == -32600
        assert [params.text for _, params in desk.sessions.called] == ["first"]
        await resolve(desk, rq.Accepted(message_id="m", outcome="started"))
        assert (await desk.wire.receive())["result"]["messageId"] == "m"


async def test_an_id_may_be_used_again_after_a_cancel_and_gets_its_own_answer() -> None:
    async with served() as desk:
        await desk.wire.initialize()
        request = {"jsonrpc": "2.0", "id": 7, "method": "steersman/turn/prompt"}
        desk.wire.send(request | {"params": {"sessionId": "s", "text": "first"}})
        desk.wire.tell("$/cancelRequest", {"id": 7})
        assert (await desk.wire.receive())["error"]["code"] == -32800
        desk.wire.send(request | {"params": {"sessionId": "s", "text": "second"}})
        await until_called(desk, 2)
        await resolve(desk, rq.Accepted(message_id="of the first", outcome="started"), 0)
        await resolve(desk, rq.Accepted(message_id="of the second", outcome="started"), 1)
        assert (await desk.wire.receive())["result"]["messageId"] == "of the second"


async def test_every_member_that_does_not_fit_is_named() -> None:
    async with served() as desk:
        await desk.wire.initialize()
        error = await desk.wire.error("steersman/turn/steer", {"text": 5, "expectedTurn": "1"})
        paths = [problem.partition(":")[0] for problem in error["data"]["errors"]]
        assert paths == ["$.sessionId", "$.text", "$.expectedTurn"]
        assert all(path in error["message"] for path in paths)


async def test_an_answer_that_has_no_json_form_is_an_error() -> None:
    async with served() as desk:
        await desk.wire.initialize()
        asked = desk.wire.ask("steersman/status", {})
        await resolve(desk, object())
        assert (await desk.wire.answer(asked))["error"]["code"] == -32603


async def test_what_is_still_open_is_answered_when_the_server_shuts_down() -> None:
    async with served() as desk:
        await desk.wire.initialize()
        asked = desk.wire.ask("steersman/turn/prompt", {"sessionId": "s", "text": "x"})
        gone = desk.wire.ask("steersman/turn/prompt", {"sessionId": "s", "text": "y"})
        await until_called(desk, 2)
        desk.sessions.futures[1].cancel()
        assert (await desk.wire.answer(gone))["error"]["code"] == -32802
        ending = desk.wire.ask("shutdown")
        first, second = await desk.wire.receive(), await desk.wire.receive()
        assert (first["id"], first["error"]["code"]) == (asked, -32802)
        assert (second["id"], second["result"]) == (ending, None)


async def still_answers(desk: Served) -> None:
    assert (await desk.wire.error("steersman/nothing"))["code"] == -32601


@pytest.mark.parametrize("command", ["steersman.deleteSession", "steersman.repairSession"])
@pytest.mark.parametrize("given", [{}, {"sessionId": None}])
async def test_a_command_that_destroys_never_means_the_latest_session(command: str, given: Any) -> None:
    params = given | ({"throughSeq": 3} if "repair" in command else {})
    async with served() as desk:
        await desk.wire.initialize()
        for arguments in ([params], []):
            asked = {"command": command, "arguments": arguments}
            error = await desk.wire.error("workspace/executeCommand", asked)
            assert error["code"] == -32602
            assert "$.sessionId" in error["message"]
        assert desk.sessions.called == []
