"""The tools of a batch: barriers, the pool, the order of results, approvals, and calls that cannot run."""

from __future__ import annotations

import asyncio

import pytest

from steersman.domain import events as ev
from steersman.domain.settings import LoopSettings, Settings
from steersman.ports.approval import ApprovalAnswer, ScriptedApproval
from steersman.ports.model_double import call, calls, done, says, text
from steersman.tools.base import Ask, Refuse
from tests.unit.loop.harness import Loop, StandInTool, start, until

ASK = Ask(risk="execute", title="Run it?", detail="", remember="rule")


async def results(loop: Loop) -> list[tuple[str, str]]:
    return [(r.call_id, r.outcome) for r in await loop.data(ev.ToolResult)]


async def test_results_are_committed_in_the_models_order_whatever_ends_first() -> None:
    slow, quick = StandInTool("slow", "parallel", gate=True), StandInTool("quick", "parallel")
    replies = [calls(("slow", {}), ("quick", {"name": "b"}), ("quick", {"name": "c"})), says("ok")]
    loop, _ = await start(replies, [slow, quick])
    await loop.prompt("go")
    await until(lambda: quick.finished == ["b", "c"])
    assert "tool/result" not in await loop.types()
    slow.open()
    await loop.idle()
    assert await results(loop) == [("c0", "ok"), ("c1", "ok"), ("c2", "ok")]
    await loop.check()


async def test_a_finished_result_does_not_wait_for_slower_ones_behind_it() -> None:
    quick, slow = StandInTool("quick", "parallel"), StandInTool("slow", "parallel", gate=True)
    loop, _ = await start([calls(("quick", {}), ("slow", {})), says("ok")], [quick, slow])
    await loop.prompt("go")
    async with asyncio.timeout(5):
        while await results(loop) != [("c0", "ok")]:
            await asyncio.sleep(0.005)
    slow.open()
    await loop.idle()
    await loop.check()


async def test_an_exclusive_call_is_a_barrier() -> None:
    order: list[str] = []

    class Noting(StandInTool):
        async def run(self, arguments, context):  # type: ignore[no-untyped-def]
            order.append(f"+{arguments.name}")
            await asyncio.sleep(0.01)
            order.append(f"-{arguments.name}")
            return await super().run(arguments, context)

    read, write = Noting("read", "parallel"), Noting("write", "exclusive")
    wanted = [("read", "a"), ("read", "b"), ("write", "c"), ("read", "d"), ("write", "e")]
    loop, _ = await start([calls(*((n, {"name": v}) for n, v in wanted)), says("ok")], [read, write])
    await loop.prompt("go")
    await loop.idle()
    assert order == ["+a", "+b", "-a", "-b", "+c", "-c", "+d", "-d", "+e", "-e"]
    await loop.check()


async def test_the_pool_rolls() -> None:
    running = 0
    most = 0

    class Counting(StandInTool):
        async def run(self, arguments, context):  # type: ignore[no-untyped-def]
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.002)
            running -= 1
            return await super().run(arguments, context)

    tool = Counting("look", "parallel")
    settings = Settings(loop=LoopSettings(max_parallel_tools=3))
    loop, _ = await start(
        [calls(*(("look", {"name": str(n)}) for n in range(20))), says("ok")], [tool], settings=settings
    )
    await loop.prompt("go")
    await loop.idle()
    assert most == 3
    assert [call_id for call_id, _ in await results(loop)] == [f"c{n}" for n in range(20)]
    await loop.check()


async def test_the_whole_batch_is_logged_before_anything_starts() -> None:
    tool = StandInTool("work")
    loop, _ = await start([calls(("work", {}), ("work", {}), ("work", {})), says("ok")], [tool])
    await loop.prompt("go")
    await loop.idle()
    types = await loop.types()
    first = types.index("tool/start")
    assert types[first - 3 : first] == ["tool/call"] * 3


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("nothing", "{}", "UNKNOWN_TOOL"),
        ("work", '{"name": "x", bad', "INVALID_ARGUMENTS"),
        ("work", "[1]", "INVALID_ARGUMENTS"),
        ("work", '{"name": 5}', "INVALID_ARGUMENTS"),
        ("work", '{"other": 1}', "INVALID_ARGUMENTS"),
    ],
)
async def test_a_call_that_cannot_run_gets_an_error_and_the_turn_goes_on(
    name: str, arguments: str, code: str
) -> None:
    tool = StandInTool("work")
    loop, model = await start([calls((name, arguments)), says("ok")], [tool])
    await loop.prompt("go")
    await loop.idle()
    (result,) = await loop.data(ev.ToolResult)
    assert result.error is not None
    assert (result.outcome, result.error.code) == ("error", code)
    (called,) = await loop.data(ev.ToolCalled)
    assert called.arguments == arguments
    sent = model.requests[1]["messages"][-2]["tool_calls"][0]["function"]["arguments"]
    assert sent.startswith("{")
    assert tool.started == []
    await loop.check()


@pytest.mark.parametrize("arguments", ["", "  ", "null", "{}"])
async def test_empty_arguments_mean_none(arguments: str) -> None:
    tool = StandInTool("work")
    loop, model = await start([calls(("work", arguments)), says("ok")], [tool])
    await loop.prompt("go")
    await loop.idle()
    assert tool.started == [""]
    assert model.requests[1]["messages"][-2]["tool_calls"][0]["function"]["arguments"] == "{}"


async def test_call_ids_that_a_provider_repeats_are_made_unique() -> None:
    tool = StandInTool("work")
    same = [call("work", {}, call_id="x"), call("work", {}, index=1, call_id="x"), done("tool_calls")]
    loop, _ = await start([same, [call("work", {}, call_id="x"), done(None)], says("ok")], [tool])
    await loop.prompt("go")
    await loop.idle()
    ids = [c.call_id for c in await loop.data(ev.ToolCalled)]
    assert len(set(ids)) == 3
    assert ids[0] == "x"
    await loop.check()


async def test_a_denied_call_is_told_with_the_persons_words_and_its_siblings_go_on() -> None:
    gated, free = StandInTool("gated", permit=ASK), StandInTool("free", "parallel")
    person = ScriptedApproval(
        [
            ApprovalAnswer(decision="deny", by="human", feedback="not today"),
            ApprovalAnswer(decision="allowOnce", by="human"),
        ]
    )
    wanted = [("gated", {"name": "a"}), ("gated", {"name": "b"}), ("free", {"name": "c"})]
    loop, _ = await start([calls(*wanted), says("ok")], [gated, free], approvals=person)
    await loop.prompt("go")
    await loop.idle()
    assert await results(loop) == [("c0", "denied"), ("c1", "ok"), ("c2", "ok")]
    first = (await loop.data(ev.ToolResult))[0]
    assert "not today" in first.content
    assert gated.started == ["b"]
    await loop.check()


async def test_nobody_answering_is_unavailable_and_not_a_yes() -> None:
    gated = StandInTool("gated", permit=ASK)
    person = ScriptedApproval([ApprovalAnswer(decision="deny", by="timeout")])
    loop, _ = await start([calls(("gated", {})), says("ok")], [gated], approvals=person)
    await loop.prompt("go")
    await loop.idle()
    (result,) = await loop.data(ev.ToolResult)
    assert result.error is not None
    assert (result.outcome, result.error.code) == ("denied", "UNAVAILABLE")
    assert gated.started == []


async def test_an_allowance_for_the_session_is_asked_once() -> None:
    gated = StandInTool("gated", permit=ASK)
    person = ScriptedApproval([ApprovalAnswer(decision="allowSession", by="human")])
    loop, _ = await start(
        [calls(("gated", {"name": "a"})), calls(("gated", {"name": "b"})), says("ok")],
        [gated],
        approvals=person,
    )
    await loop.prompt("go")
    await loop.idle()
    assert gated.started == ["a", "b"]
    assert len(person.asked) == 1
    await loop.check()


async def test_the_parallel_calls_beside_an_open_approval_run_meanwhile() -> None:
    answer = asyncio.Event()

    class Slow(ScriptedApproval):
        async def ask(self, session_id, asked, timeout_seconds):  # type: ignore[no-untyped-def]
            await answer.wait()
            return ApprovalAnswer(decision="allowOnce", by="human")

    gated = StandInTool("gated", "parallel", permit=ASK)
    free = StandInTool("free", "parallel")
    replies = [calls(("gated", {"name": "a"}), ("free", {"name": "b"})), says("ok")]
    loop, _ = await start(replies, [gated, free], approvals=Slow())
    await loop.prompt("go")
    await until(lambda: free.finished == ["b"])
    assert gated.started == []
    answer.set()
    await loop.idle()
    assert await results(loop) == [("c0", "ok"), ("c1", "ok")]
    await loop.check()


async def test_an_approval_is_asked_only_when_everything_before_its_barrier_is_done() -> None:
    slow = StandInTool("slow", "parallel", gate=True)
    gated = StandInTool("gated", permit=ASK)
    person = ScriptedApproval([ApprovalAnswer(decision="allowOnce", by="human")])
    loop, _ = await start([calls(("slow", {}), ("gated", {})), says("ok")], [slow, gated], approvals=person)
    await loop.prompt("go")
    await slow.running.wait()
    assert "approval/asked" not in await loop.types()
    slow.open()
    await loop.idle()
    types = await loop.types()
    assert types.index("tool/result") < types.index("approval/asked")
    assert await results(loop) == [("c0", "ok"), ("c1", "ok")]


async def test_one_approval_is_open_at_a_time_in_the_models_order() -> None:
    gates = [asyncio.Event() for _ in range(3)]

    class Person(ScriptedApproval):
        open_now = 0

        async def ask(self, session_id, asked, timeout_seconds):  # type: ignore[no-untyped-def]
            Person.open_now += 1
            assert Person.open_now == 1
            self.asked.append(asked)
            await gates[len(self.asked) - 1].wait()
            Person.open_now -= 1
            return ApprovalAnswer(decision="allowOnce", by="human")

    gated = StandInTool("gated", "parallel", permit=ASK)
    person = Person()
    loop, _ = await start(
        [calls(*(("gated", {"name": str(n)}) for n in range(3))), says("ok")], [gated], approvals=person
    )
    await loop.prompt("go")
    for n, gate in enumerate(gates):
        await until(lambda n=n: len(person.asked) == n + 1)  # type: ignore[misc]
        gate.set()
    await loop.idle()
    assert [a.call_id for a in person.asked] == ["c0", "c1", "c2"]
    await loop.check()


async def test_a_call_is_classified_by_its_actual_arguments() -> None:
    class Picky(StandInTool):
        def mode(self, arguments, context):  # type: ignore[no-untyped-def]
            if arguments.name == "broken":
                raise ValueError("cannot tell")
            return "parallel" if arguments.name == "read" else "exclusive"

    tool = Picky("work")
    wanted = [("work", {"name": "read"}), ("work", {"name": "write"}), ("work", {"name": "broken"})]
    loop, _ = await start([calls(*wanted, ("unknown", {})), says("ok")], [tool])
    await loop.prompt("go")
    await loop.idle()
    modes = [c.mode for c in await loop.data(ev.ToolCalled)]
    assert modes == ["parallel", "exclusive", "exclusive", "exclusive"]


async def test_cut_replies_count_only_in_a_row() -> None:
    tool = StandInTool("work")
    cut = [call("work", '{"na'), done("length")]
    whole = [call("work", {"name": "w"}, call_id="w"), done("tool_calls")]
    loop, _ = await start([cut, cut, whole, cut, cut, says("ok")], [tool])
    await loop.prompt("go")
    await loop.idle()
    assert [e.reason for e in await loop.data(ev.TurnEnd)] == [ev.Completed()]
    assert tool.started == ["w"]


async def test_a_steer_while_an_approval_is_open_answers_nothing_and_waits() -> None:
    answer = asyncio.Event()

    class Slow(ScriptedApproval):
        async def ask(self, session_id, asked, timeout_seconds):  # type: ignore[no-untyped-def]
            await answer.wait()
            return ApprovalAnswer(decision="allowOnce", by="human")

    gated = StandInTool("gated", permit=ASK)
    loop, model = await start([calls(("gated", {})), says("ok")], [gated], approvals=Slow())
    await loop.prompt("go")
    await until(lambda: loop.agent.waiting_on == "approval")
    assert (await loop.steer("by the way")).outcome == "injected"
    assert loop.state.approval is not None
    assert loop.agent.waiting_on == "approval"
    assert gated.started == []
    answer.set()
    await loop.idle()
    assert gated.started == [""]
    assert model.requests[1]["messages"][-1]["content"] == "by the way"
    await loop.check()


async def test_a_refused_call_never_starts() -> None:
    tool = StandInTool("work", permit=Refuse(code="OUTSIDE_WORKSPACE", message="no"))
    loop, _ = await start([calls(("work", {})), says("ok")], [tool])
    await loop.prompt("go")
    await loop.idle()
    assert "tool/start" not in await loop.types()
    (result,) = await loop.data(ev.ToolResult)
    assert result.error is not None
    assert result.error.code == "OUTSIDE_WORKSPACE"


async def test_a_tool_past_its_deadline_is_stopped_and_told_so() -> None:
    tool = StandInTool("work", gate=True, deadline=0.02)
    loop, _ = await start([calls(("work", {})), says("ok")], [tool])
    await loop.prompt("go")
    await loop.idle()
    (result,) = await loop.data(ev.ToolResult)
    assert result.error is not None
    assert (result.outcome, result.error.code) == ("timeout", "TIMEOUT")
    assert loop.state.task == "SUCCEEDED"


async def test_an_exception_in_a_tool_is_a_result_and_not_the_end() -> None:
    class Broken(StandInTool):
        async def run(self, arguments, context):  # type: ignore[no-untyped-def]
            raise ZeroDivisionError("oops")

    loop, _ = await start([calls(("work", {})), says("ok")], [Broken("work")])
    await loop.prompt("go")
    await loop.idle()
    (result,) = await loop.data(ev.ToolResult)
    assert result.error is not None
    assert result.error.code == "FAILED"


async def test_a_reply_cut_by_the_output_limit_runs_nothing_and_the_third_ends_the_turn() -> None:
    tool = StandInTool("work")
    cut = [text("x"), call("work", {"name": "whole"}), call("work", '{"na', index=1), done("length")]
    loop, _ = await start([cut, cut, cut], [tool])
    await loop.prompt("go")
    await loop.idle()
    assert tool.started == []
    outcomes = await loop.data(ev.ToolResult)
    assert {r.outcome for r in outcomes} == {"aborted-before-dispatch"}
    assert {r.error.code for r in outcomes} == {"OUTPUT_LIMIT"}
    assert [e.reason for e in await loop.data(ev.TurnEnd)] == [ev.MaxTokens()]
    await loop.check()


async def test_a_cut_text_without_calls_ends_the_turn() -> None:
    loop, _ = await start([[text("once upon"), done("length")]])
    await loop.prompt("go")
    await loop.idle()
    assert [e.reason for e in await loop.data(ev.TurnEnd)] == [ev.MaxTokens()]


async def test_a_result_with_half_a_character_is_kept_and_breaks_nothing() -> None:
    tool = StandInTool("work", result="caf\ud800\udc41\ud800")
    loop, model = await start([calls(("work", {})), says("ok")], [tool])
    await loop.prompt("go")
    await loop.idle()
    (result,) = await loop.data(ev.ToolResult)
    assert result.content == model.requests[1]["messages"][-1]["content"]
    assert result.content.startswith("caf")
    assert "\ufffd" in result.content
    await loop.check()
