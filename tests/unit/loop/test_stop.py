"""Stop: what the log holds, what happens to the queue, and what a person's words do afterwards."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from steersman.domain import events as ev
from steersman.domain.messages import Delta, ToolCallDelta
from steersman.errors import ModelFailed, TurnMismatch
from steersman.ports.approval import ApprovalAnswer
from steersman.ports.model_double import Gate, calls, done, says, text
from steersman.tools.base import Ask
from tests.unit.loop.harness import Loop, StandInTool, start, until

ASK = Ask(risk="execute", title="Run it?", detail="", remember="rule")


class SilentPerson:
    """Never answers an approval."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.withdrawn = False

    async def ask(self, session_id: str, asked: ev.ApprovalAsked, timeout_seconds: float) -> ApprovalAnswer:
        self.asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.withdrawn = True
        raise AssertionError


async def ends(loop: Loop) -> list[Any]:
    return [end.reason for end in await loop.data(ev.TurnEnd)]


def strict(messages: list[Any]) -> None:
    """What a strict provider asks of a history."""
    open_calls: list[str] = []
    seen: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            assert open_calls, "a result without its call"
            assert message["tool_call_id"] == open_calls.pop(0)
            continue
        assert not open_calls, "a call without its result"
        if message["role"] == "assistant":
            assert message["content"] or message.get("tool_calls"), "an empty assistant message"
            for call in message.get("tool_calls", ()):
                assert call["id"] not in seen
                seen.add(call["id"])
                assert isinstance(msgspec.json.decode(call["function"]["arguments"]), dict)
                open_calls.append(call["id"])
    assert not open_calls


async def test_stop_before_the_request_leaves_no_chunk_and_asks_nothing() -> None:
    loop, model = await start([says("never"), says("ok")])
    loop.agent.prompt(loop.words("go"))
    loop.agent.cancel(drop=False, expected_turn=None)
    await loop.idle()
    assert await loop.types(chunks=True) == [
        "inbox/queued", "turn/start", "inbox/claimed", "step/start", "user/message", "request/header",
        "step/end", "turn/end",
    ]  # fmt: skip
    assert await ends(loop) == [ev.AbortedReason(by="human")]
    assert model.requests == []
    await loop.check()


async def test_stop_in_mid_stream_keeps_exactly_the_words_that_were_seen() -> None:
    gate = Gate()
    half = Delta(tool_call=ToolCallDelta(index=0, id="x", name="work", arguments='{"na'))
    loop, model = await start([[text("I will"), text(" now"), half, gate, done()], says("ok")])
    await loop.prompt("go")
    await gate.reached.wait()
    assert await loop.stop() == 1
    await loop.idle()
    (message,) = await loop.data(ev.AssistantMessage)
    assert (message.text, message.interrupted, message.tool_calls) == ("I will now", True, [])
    chunks = [d for c in await loop.data(ev.AssistantChunk) for d in c.deltas]
    assert "".join(d.text or "" for d in chunks) == "I will now"
    assert model.closed == 1
    await loop.prompt("go on")
    await loop.idle()
    assert {"role": "assistant", "content": "I will now"} in model.requests[1]["messages"]
    strict(model.requests[1]["messages"])
    await loop.check()


async def test_stop_in_mid_stream_keeps_the_reasoning_that_was_seen_too() -> None:
    gate = Gate()
    loop, _ = await start([[Delta(reasoning="hmm, "), text("I"), Delta(reasoning="yes"), gate, done()]])
    await loop.prompt("go")
    await gate.reached.wait()
    await loop.stop()
    await loop.idle()
    (message,) = await loop.data(ev.AssistantMessage)
    assert (message.text, message.reasoning, message.interrupted) == ("I", "hmm, yes", True)
    chunks = [d for c in await loop.data(ev.AssistantChunk) for d in c.deltas]
    assert "".join(d.reasoning or "" for d in chunks) == "hmm, yes"
    await loop.check()


async def test_stop_with_only_pieces_of_calls_leaves_no_message() -> None:
    gate = Gate()
    half = Delta(tool_call=ToolCallDelta(index=0, id="x", name="work", arguments='{"na'))
    loop, _ = await start([[half, gate, done()]])
    await loop.prompt("go")
    await gate.reached.wait()
    await loop.stop()
    await loop.idle()
    assert await loop.data(ev.AssistantMessage) == []
    assert await ends(loop) == [ev.AbortedReason(by="human")]


async def test_stop_while_waiting_to_retry_makes_no_further_attempt() -> None:
    failure = ModelFailed("server", "503", retryable=True, retry_after=30)
    loop, model = await start([[failure], says("never")])
    await loop.prompt("go")
    while loop.agent.waiting_on != "retry":
        await asyncio.sleep(0.001)
    await loop.stop()
    await loop.idle()
    assert len(model.requests) == 1
    assert await loop.types() == [
        "inbox/queued", "turn/start", "inbox/claimed", "step/start", "user/message", "request/header",
        "model/retry", "step/end", "turn/end",
    ]  # fmt: skip


async def test_stop_while_an_approval_is_open_withdraws_it_and_starts_nothing() -> None:
    person = SilentPerson()
    gated = StandInTool("gated", permit=ASK)
    replies = [calls(("gated", {"name": "1"}), ("gated", {"name": "2"})), says("ok")]
    loop, model = await start(replies, [gated], approvals=person)
    await loop.prompt("go")
    await person.asked.wait()
    await loop.stop()
    await loop.idle()
    assert person.withdrawn
    (asked,) = await loop.data(ev.ApprovalAsked)
    (decided,) = await loop.data(ev.ApprovalDecided)
    assert (decided.approval_id, decided.by) == (asked.approval_id, "cancelled")
    results = await loop.data(ev.ToolResult)
    assert [r.outcome for r in results] == ["aborted-before-dispatch"] * 2
    assert gated.started == []
    await loop.prompt("go on")
    await loop.idle()
    strict(model.requests[1]["messages"])
    await loop.check()


async def test_stop_during_a_tool_keeps_what_finished_and_never_starts_the_rest() -> None:
    quick, slow, never = StandInTool("quick"), StandInTool("slow", gate=True), StandInTool("never")
    replies = [calls(("quick", {}), ("slow", {}), ("never", {})), says("ok")]
    loop, model = await start(replies, [quick, slow, never])
    await loop.prompt("go")
    await slow.running.wait()
    await loop.stop()
    await loop.idle()
    results = await loop.data(ev.ToolResult)
    assert [r.outcome for r in results] == ["ok", "aborted", "aborted-before-dispatch"]
    assert never.started == []
    await loop.prompt("go on")
    await loop.idle()
    strict(model.requests[1]["messages"])
    await loop.check()


async def test_stop_during_a_parallel_batch_of_ten_ends_them_all_and_keeps_the_order() -> None:
    slow, quick = StandInTool("slow", "parallel", gate=True), StandInTool("quick", "parallel")
    wanted = [("quick" if n % 3 == 0 else "slow", {"name": str(n)}) for n in range(10)]
    loop, model = await start([calls(*wanted), says("ok")], [slow, quick])
    await loop.prompt("go")
    await until(lambda: len(slow.started) == 6 and len(quick.finished) == 4)
    await loop.stop()
    await loop.idle()
    results = await loop.data(ev.ToolResult)
    assert [r.call_id for r in results] == [f"c{n}" for n in range(10)]
    assert [r.outcome for r in results] == ["ok" if n % 3 == 0 else "aborted" for n in range(10)]
    await loop.prompt("go on")
    await loop.idle()
    strict(model.requests[-1]["messages"])
    await loop.check()


async def test_a_stop_at_any_tick_between_two_steps_starts_nothing_more() -> None:
    for ticks in range(40):
        tool = StandInTool("work")
        loop, model = await start([calls(("work", {"name": "1"})), calls(("work", {"name": "2"}))], [tool])
        await loop.prompt("go")
        await until(lambda tool=tool: bool(tool.finished))  # type: ignore[misc]
        for _ in range(ticks):
            await asyncio.sleep(0)
        answered = await loop.stop()
        after = (len(model.requests), len(tool.started))
        await loop.idle()
        if answered is not None:
            assert (len(model.requests), len(tool.started)) == after
            assert (await ends(loop))[-1] == ev.AbortedReason(by="human")
        await loop.check()


async def test_messages_that_a_stop_holds_can_still_be_changed_and_withdrawn() -> None:
    gate = Gate()
    loop, model = await start([[gate, *says("never")], says("1")])
    await loop.prompt("go")
    await gate.reached.wait()
    for name in ("f1", "f2"):
        await loop.prompt(name, message_id=name)
    await loop.stop()
    await loop.idle()
    assert await loop.agent.update("f1", "better")
    assert await loop.agent.remove("f2")
    assert loop.state.inbox.held == "cancelled"
    assert len(model.requests) == 1
    assert await loop.agent.release() == 1
    await loop.idle()
    assert [m.text for m in await loop.data(ev.UserMessage)] == ["go", "better"]
    await loop.check()


async def test_a_queue_that_is_emptied_while_it_is_held_is_held_no_more() -> None:
    gate = Gate()
    loop, _ = await start([[gate, *says("never")], says("1")])
    await loop.prompt("go")
    await gate.reached.wait()
    await loop.prompt("f", message_id="f")
    await loop.stop()
    await loop.idle()
    await loop.agent.remove("f")
    assert loop.state.inbox.held is None
    assert await loop.agent.release() == 0
    assert (await loop.prompt("new")).outcome == "started"
    await loop.idle()


async def test_the_first_cause_of_an_end_wins() -> None:
    gate = Gate()
    loop, _ = await start([[gate, *says("never")]])
    await loop.prompt("go")
    await gate.reached.wait()
    loop.agent.abort("trust")
    await loop.stop()
    loop.agent.abort("shutdown")
    await loop.idle()
    assert await ends(loop) == [ev.AbortedReason(by="trust")]


async def test_a_tool_that_ignores_the_stop_is_left_after_the_grace() -> None:
    deaf = StandInTool("deaf", gate=True, deaf=True)
    loop, _ = await start([calls(("deaf", {}))], [deaf])
    await loop.prompt("go")
    await deaf.running.wait()
    await loop.stop()
    await loop.idle()
    (result,) = await loop.data(ev.ToolResult)
    assert result.outcome == "aborted"
    assert deaf.finished == []


async def test_stop_after_the_tools_keeps_their_results() -> None:
    tool = StandInTool("work")
    gate = Gate()
    loop, _ = await start([calls(("work", {})), [gate, *says("never")]], [tool])
    await loop.prompt("go")
    await gate.reached.wait()
    await loop.stop()
    await loop.idle()
    assert [r.outcome for r in await loop.data(ev.ToolResult)] == ["ok"]
    assert await ends(loop) == [ev.AbortedReason(by="human")]


async def test_a_second_stop_is_harmless_and_a_stop_when_idle_does_nothing() -> None:
    gate = Gate()
    loop, _ = await start([[gate, *says("never")]])
    assert await loop.stop() is None
    await loop.prompt("go")
    await gate.reached.wait()
    assert await asyncio.gather(loop.stop(), loop.stop()) == [1, 1]
    await loop.idle()
    assert len(await ends(loop)) == 1


async def test_stop_of_another_turn_is_refused() -> None:
    gate = Gate()
    loop, _ = await start([[gate, *says("ok")]])
    await loop.prompt("go")
    await gate.reached.wait()
    with pytest.raises(TurnMismatch):
        await loop.agent.cancel(drop=False, expected_turn=9)
    assert not loop.agent.stopped
    gate.open()
    await loop.idle()
    assert await ends(loop) == [ev.Completed()]


async def test_stop_holds_what_waited_until_it_is_released() -> None:
    gate = Gate()
    loop, model = await start([[gate, *says("never")], says("1"), says("2")])
    await loop.prompt("go")
    await gate.reached.wait()
    await loop.prompt("f1")
    await loop.prompt("f2")
    await loop.stop()
    await loop.idle()
    assert loop.state.inbox.held == "cancelled"
    assert [m.text for m in loop.state.inbox.next_turn] == ["f1", "f2"]
    assert len(model.requests) == 1
    assert await loop.agent.release() == 2
    await loop.idle()
    assert [m.text for m in await loop.data(ev.UserMessage)] == ["go", "f1", "f2"]
    await loop.check()


async def test_a_prompt_goes_behind_a_held_queue_and_releases_it() -> None:
    gate = Gate()
    loop, _ = await start([[gate, *says("never")], says("1"), says("2")])
    await loop.prompt("go")
    await gate.reached.wait()
    await loop.prompt("f1")
    await loop.stop()
    await loop.idle()
    receipt = await loop.prompt("now")
    assert receipt.outcome == "queued"
    await loop.idle()
    assert [m.text for m in await loop.data(ev.UserMessage)] == ["go", "f1", "now"]
    await loop.check()


async def test_a_steer_starts_a_turn_ahead_of_a_held_queue() -> None:
    gate = Gate()
    loop, _ = await start([[gate, *says("never")], says("1")])
    await loop.prompt("go")
    await gate.reached.wait()
    await loop.prompt("f1")
    await loop.stop()
    await loop.idle()
    receipt = await loop.steer("first this")
    assert receipt.outcome == "startedTurn"
    await loop.idle()
    assert [m.text for m in await loop.data(ev.UserMessage)] == ["go", "first this"]
    assert [m.text for m in loop.state.inbox.next_turn] == ["f1"]
    assert loop.state.inbox.held == "cancelled"
    await loop.check()


async def stopped_but_running(replies: list[Any]) -> tuple[Loop, StandInTool]:
    """A turn that was stopped while a deaf tool keeps it open."""
    deaf = StandInTool("deaf", gate=True, deaf=True)
    loop, _ = await start([calls(("deaf", {})), *replies], [deaf])
    await loop.prompt("go")
    await deaf.running.wait()
    await loop.prompt("waiting")
    await loop.steer("late steer")
    await loop.stop()
    return loop, deaf


async def test_a_steer_that_waited_at_the_stop_is_held_in_front() -> None:
    loop, _ = await stopped_but_running([])
    await loop.idle()
    assert [m.text for m in loop.state.inbox.next_turn] == ["late steer", "waiting"]
    assert loop.state.inbox.held == "cancelled"
    await loop.check()


async def test_a_prompt_after_the_signal_releases_the_queue_behind_which_it_stands() -> None:
    loop, _ = await stopped_but_running([says("1"), says("2"), says("3")])
    assert loop.agent.stopped
    assert (await loop.prompt("words")).outcome == "queued"
    await loop.idle()
    told = [m.text for m in await loop.data(ev.UserMessage)]
    assert told == ["go", "late steer", "waiting", "words"]
    await loop.check()


async def test_a_steer_after_the_signal_starts_its_turn_at_the_end_of_the_stopped_one() -> None:
    loop, _ = await stopped_but_running([says("1")])
    receipt = await loop.steer("do this instead")
    assert receipt.outcome == "queued"
    await loop.idle()
    assert [m.text for m in await loop.data(ev.UserMessage)] == ["go", "do this instead"]
    assert [m.text for m in loop.state.inbox.next_turn] == ["late steer", "waiting"]
    assert loop.state.inbox.held == "cancelled"
    await loop.check()


async def test_stop_can_drop_the_queue() -> None:
    gate = Gate()
    loop, _ = await start([[gate, *says("never")]])
    await loop.prompt("go")
    await gate.reached.wait()
    await loop.prompt("f1")
    await loop.steer("s1")
    await loop.stop(drop=True)
    await loop.idle()
    assert loop.state.inbox.next_turn == ()
    assert loop.state.inbox.held is None
    assert [r.reason for r in await loop.data(ev.InboxRemoved)] == ["cancelled", "cancelled"]
    await loop.check()


async def test_no_request_and_no_tool_starts_after_the_stop_was_acknowledged() -> None:
    tool = StandInTool("again")
    loop, model = await start([calls(("again", {"name": str(n)})) for n in range(200)], [tool])
    await loop.prompt("go")
    while len(model.requests) < 5:
        await asyncio.sleep(0)
    await loop.stop()
    requests, started = len(model.requests), len(tool.started)
    await loop.idle()
    assert (len(model.requests), len(tool.started)) == (requests, started)
    await loop.check()
