"""A turn from its prompt to its end, as the log holds it."""

from __future__ import annotations

import asyncio

import pytest

from steersman.domain import events as ev
from steersman.domain.settings import LoopSettings, Settings
from steersman.errors import InvalidParams, TurnMismatch
from steersman.ports.model_double import Gate, calls, done, says, text
from tests.unit.loop.harness import StandInTool, start, until


async def test_a_prompt_is_answered_and_the_log_tells_it_in_order() -> None:
    loop, model = await start([says("hello")])
    receipt = await loop.prompt("hi")
    assert (receipt.outcome, receipt.turn) == ("started", 1)
    await loop.idle()
    assert await loop.types(chunks=True) == [
        "inbox/queued", "turn/start", "inbox/claimed", "step/start", "user/message", "request/header",
        "assistant/chunk", "assistant/message", "step/end", "turn/end",
    ]  # fmt: skip
    assert [m["role"] for m in model.requests[0]["messages"]] == ["system", "user"]
    await loop.check()


async def test_turn_start_is_durable_when_a_prompt_is_answered() -> None:
    gate = Gate()
    loop, _ = await start([[gate, *says("late")]])
    await loop.prompt("hi")
    assert "turn/start" in await loop.types()
    assert "request/header" in await loop.types()
    gate.open()
    await loop.idle()


async def test_tools_run_and_their_results_go_to_the_model() -> None:
    tool = StandInTool("look", result="seen")
    loop, model = await start([calls(("look", {"name": "a"})), says("ok")], [tool])
    await loop.prompt("go")
    await loop.idle()
    assert await loop.types() == [
        "inbox/queued", "turn/start", "inbox/claimed", "step/start", "user/message", "request/header",
        "assistant/message", "tool/call", "tool/start", "tool/result", "step/end", "step/start",
        "assistant/message", "step/end", "turn/end",
    ]  # fmt: skip
    last = model.requests[1]["messages"][-2:]
    assert last[0]["tool_calls"][0]["id"] == last[1]["tool_call_id"]
    assert last[1] == {"role": "tool", "tool_call_id": "c0", "content": "seen a"}
    await loop.check()


async def test_the_header_is_logged_again_only_when_it_differs() -> None:
    loop, _ = await start([says("one"), says("two"), says("three")])
    await loop.prompt("1")
    await loop.idle()
    await loop.prompt("2")
    await loop.idle()
    assert (await loop.types()).count("request/header") == 1
    await loop.journal.append(ev.SessionConfigured(model="other"))
    await loop.prompt("3")
    await loop.idle()
    headers = await loop.data(ev.RequestHeader)
    assert [h.model for h in headers] == ["double", "other"]


async def test_a_burst_of_prompts_in_one_tick_gives_as_many_turns_in_order() -> None:
    loop, _ = await start([says(str(n)) for n in range(5)])
    receipts = await asyncio.gather(*(loop.prompt(f"p{n}") for n in range(5)))
    await loop.idle()
    assert [r.outcome for r in receipts] == ["started", *["queued"] * 4]
    assert [m.text for m in await loop.data(ev.UserMessage)] == [f"p{n}" for n in range(5)]
    assert [t.turn for t in await loop.data(ev.TurnStart)] == [1, 2, 3, 4, 5]
    await loop.check()


async def test_a_steer_joins_the_next_step_after_all_results_of_the_batch() -> None:
    tool = StandInTool("work", gate=True)
    loop, model = await start([calls(("work", {"name": "a"})), says("ok")], [tool])
    await loop.prompt("go")
    await tool.running.wait()
    receipt = await loop.steer("left, please")
    assert (receipt.outcome, receipt.turn) == ("injected", 1)
    tool.open()
    await loop.idle()
    assert [m["role"] for m in model.requests[1]["messages"]][-2:] == ["tool", "user"]
    assert model.requests[1]["messages"][-1]["content"] == "left, please"
    assert loop.state.turns == 1
    await loop.check()


async def test_a_steer_after_the_last_words_is_answered_in_the_same_turn() -> None:
    gate = Gate()
    loop, model = await start([[text("done"), gate, done()], says("and that too")])
    await loop.prompt("go")
    await gate.reached.wait()
    await loop.steer("one more thing")
    gate.open()
    await loop.idle()
    assert loop.state.turns == 1
    assert len(model.requests) == 2
    assert model.requests[1]["messages"][-1]["content"] == "one more thing"


async def test_a_steer_after_the_end_gets_a_turn_of_its_own() -> None:
    loop, _ = await start([says("one"), says("two")])
    await loop.prompt("go")
    await loop.idle()
    receipt = await loop.steer("again")
    assert (receipt.outcome, receipt.turn) == ("startedTurn", 2)
    await loop.idle()
    await loop.check()


async def test_a_notice_wakes_nobody_and_waits_for_the_next_turn() -> None:
    loop, model = await start([says("ok")])
    await loop.agent.inject("editor", "a file was saved")
    await loop.journal.drain()
    assert model.requests == []
    await loop.prompt("go")
    await loop.idle()
    contents = [m["content"] for m in model.requests[0]["messages"][1:]]
    assert contents == ["go", '<notice name="editor">\na file was saved\n</notice>']


async def test_the_same_message_id_is_answered_with_the_first_outcome_and_queues_nothing() -> None:
    loop, model = await start([says("ok")])
    first = await loop.prompt("go", message_id="mine")
    await loop.idle()
    again = await loop.prompt("go", message_id="mine")
    assert again == first
    assert len(model.requests) == 1
    with pytest.raises(InvalidParams, match="mine"):
        await loop.prompt("other words", message_id="mine")
    with pytest.raises(InvalidParams, match="mine"):
        await loop.steer("go", message_id="mine")


async def test_an_expected_turn_that_does_not_run_refuses_the_steer() -> None:
    loop, _ = await start([])
    with pytest.raises(TurnMismatch) as refused:
        await loop.steer("go", expected_turn=4)
    assert refused.value.data == {"turn": None}
    assert await loop.types() == []


async def test_a_waiting_message_can_be_changed_in_place_and_withdrawn() -> None:
    gate = Gate()
    loop, _ = await start([[gate, *says("ok")], says("two"), says("three")])
    await loop.prompt("first")
    await gate.reached.wait()
    await loop.prompt("b", message_id="b")
    await loop.prompt("c", message_id="c")
    assert await loop.agent.update("b", "better")
    assert await loop.agent.remove("c")
    assert not await loop.agent.remove("c")
    assert not await loop.agent.update("nobody", "x")
    gate.open()
    await loop.idle()
    assert [m.text for m in await loop.data(ev.UserMessage)] == ["first", "better"]
    await loop.check()


async def test_the_last_step_is_the_last_fuse() -> None:
    tool = StandInTool("more")
    replies = [calls(("more", {"name": str(n)})) for n in range(4)]
    settings = Settings(loop=LoopSettings(max_steps_per_turn=3))
    loop, model = await start(replies, [tool], settings=settings)
    await loop.prompt("go")
    await loop.idle()
    assert len(model.requests) == 3
    (end,) = await loop.data(ev.TurnEnd)
    assert end.reason == ev.Exit(policy="steps")
    (verdict,) = await loop.data(ev.ExitVerdict)
    assert "3 steps" in verdict.message


async def test_an_idle_session_with_nothing_queued_makes_no_request() -> None:
    loop, model = await start([says("ok")])
    await loop.prompt("go")
    await loop.idle()
    for _ in range(100):
        await asyncio.sleep(0)
    assert len(model.requests) == 1
    assert loop.agent.phase == "idle"


async def test_what_the_session_waits_for_is_told_while_it_runs() -> None:
    gate = Gate()
    tool = StandInTool("work", gate=True)
    loop, _ = await start([[gate, *calls(("work", {}))], says("ok")], [tool])
    seen: list[object] = []
    loop.agent.touched = lambda: seen.append(loop.agent.waiting_on)
    await loop.prompt("go")
    await gate.reached.wait()
    gate.open()
    await tool.running.wait()
    tool.open()
    await loop.idle()
    await until(lambda: seen[-1] is None)
    assert seen == ["model", "tool", "model", None]
