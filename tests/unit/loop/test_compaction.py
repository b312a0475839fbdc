"""A conversation that outgrows the window: what is made shorter and when, what stays, no loop."""

from __future__ import annotations

import asyncio
import itertools

import msgspec

from steersman.context.plan import GAIN
from steersman.context.request import RequestBuilder
from steersman.domain import events as ev
from steersman.domain.digest import digest
from steersman.domain.fold import empty, fold_all
from steersman.domain.settings import LoopSettings, ModelSettings, Settings
from steersman.errors import ModelFailed
from steersman.ports.clock import ManualClock
from steersman.ports.model import Finish
from steersman.ports.model_double import Gate, Piece, call, text
from tests.unit.loop.long_talks import (
    TOO_LONG,
    begin,
    body,
    compactions,
    end,
    ended,
    failures,
    looks,
    says,
    talk,
)
from tests.unit.loop.test_stop import strict


async def test_long_results_are_shortened_first_and_that_costs_no_request() -> None:
    replies = [looks(f"r{n}-") for n in range(10)] + [says("done")]
    loop, model = await begin(replies, window=16_000, result="x" * 8000)
    await loop.prompt("go")
    await loop.idle()
    found = await compactions(loop)
    assert found
    assert {c.summary for c in found} == {""}
    assert {c.through_seq for c in found} == {0}
    assert {r.purpose for r in model.bodies} == {"turn"}
    assert await ended(loop) == ev.Completed()
    assert "left out later to save room" in body(model)
    for request in model.requests:
        strict(request["messages"])
        assert len(msgspec.json.encode(request)) < 16_000 * 4
    await loop.check()


async def test_a_shortened_result_can_be_read_whole_by_its_handle() -> None:
    replies = [looks(f"r{n}-") for n in range(10)] + [says("done")]
    loop, model = await begin(replies, window=16_000, result="x" * 8000)
    await loop.prompt("go")
    await loop.idle()
    whole = (await loop.data(ev.ToolResult))[0].content
    assert f"handle {digest(whole)}" in body(model)
    assert await loop.journal.log.blob(digest(whole)) == whole.encode()


async def test_under_pressure_the_oldest_exchanges_become_a_summary_and_the_newest_stay_whole() -> None:
    replies = [says(f"answer {n} " + "a" * 1500) for n in range(12)]
    summary = says("the summary")
    loop, model = await begin(replies, window=5000, summaries=(summary, summary, summary))
    await talk(loop, 12)
    found = await compactions(loop)
    assert found
    assert {(c.trigger, c.summary) for c in found} == {("pressure", "the summary")}
    last = model.requests[-1]["messages"]
    assert last[1]["content"].startswith("<earlier_conversation>")
    assert "the summary" in last[1]["content"]
    assert last[-1]["content"].startswith("ask 11 ")
    assert any(m["content"].startswith("answer 10 ") for m in last)
    assert all(len(r.body) / 4 <= 5000 * 0.8 + 1 for r in model.bodies if r.purpose == "turn")
    await loop.check()


async def test_the_summary_is_asked_with_the_same_prefix_and_is_paid_for() -> None:
    replies = [says("a" * 3000) for _ in range(8)]
    loop, model = await begin(replies, window=5000, summaries=(says("short"),) * 4)
    await talk(loop, 8)
    which = next(n for n, r in enumerate(model.bodies) if r.purpose == "summary")
    asked, before = model.requests[which]["messages"], model.requests[which - 1]["messages"]
    assert asked[:-1] == before[: len(asked) - 1]
    assert body(model, which).startswith(body(model, which - 1)[:2000])
    assert model.requests[which]["tools"] == model.requests[which - 1]["tools"]
    assert "call no tool" in asked[-1]["content"]
    spent = (await compactions(loop))[0].usage
    assert spent.requests == 1
    assert spent.input_tokens > 1000
    assert loop.state.usage.requests == len(model.requests)
    ends = await loop.data(ev.StepEnd)
    assert max(e.usage.requests for e in ends) == 2


async def test_what_a_person_said_stays_in_their_own_words_through_every_compaction() -> None:
    replies = [says("a" * 2500) for _ in range(30)]
    loop, model = await begin(replies, window=6000, summaries=(says("nothing of it"),) * 30)
    await loop.prompt("Never touch the file secrets.py.")
    await loop.idle()
    await talk(loop, 25, size=20)
    assert len(await compactions(loop)) >= 3
    for request in (r for r in model.bodies if r.purpose == "turn"):
        assert b"Never touch the file secrets.py." in request.body


async def test_long_words_are_cut_to_a_fifth_of_the_window_and_short_ones_stay_whole() -> None:
    replies = [says("ok" + "a" * 400) for _ in range(10)]
    loop, model = await begin(replies, window=8000, summaries=(says("sum"),) * 10)
    await loop.prompt("Use tabs.")
    await loop.idle()
    await talk(loop, 8, size=6000)
    assert await compactions(loop)
    earlier = model.requests[-1]["messages"][1]["content"]
    assert "Use tabs." in earlier
    assert "[… left out …]" in earlier
    words = earlier[earlier.index("<user_said>") : earlier.rindex("</user_said>")]
    assert len(words.encode()) / 4 < 0.25 * 8000


async def test_a_call_and_its_results_are_never_parted() -> None:
    replies = [looks(f"s{n}-", count=1 + n % 6) for n in range(30)] + [says("done")]
    loop, model = await begin(replies, window=5000, result="y" * 400, summaries=(says("sum"),) * 30)
    await loop.prompt("go")
    await loop.idle()
    assert len(await compactions(loop)) >= 2
    for request in model.requests:
        strict(request["messages"])
    await loop.check()


async def test_between_two_compactions_the_prefix_is_the_same_byte_for_byte_over_fifty_steps() -> None:
    replies = [looks(f"s{n}-") for n in range(120)] + [says("done")]
    loop, model = await begin(replies, window=14_000, result="z" * 500, summaries=(says("sum"),) * 20)
    await loop.prompt("go")
    await loop.idle()
    runs, run = [], 0
    bodies = [r.body for r in model.bodies if r.purpose == "turn"]
    tail = bodies[0][bodies[0].rindex(b'],"tools"') :]
    for before, after in itertools.pairwise(bodies):
        kept = after.startswith(before.removesuffix(tail))
        run = run + 1 if kept else 0
        runs.append(run)
    changed = sum(run == 0 for run in runs)
    assert changed == len(await compactions(loop))
    assert max(runs) >= 50


async def test_every_request_can_be_rebuilt_from_the_log_alone_after_compactions_too() -> None:
    replies = [says("a" * 2500) for _ in range(10)]
    loop, model = await begin(replies, window=5000, summaries=(says("sum"),) * 10)
    await talk(loop, 10)
    assert await compactions(loop)
    events = await loop.log()
    rebuilt = []
    for n, event in enumerate(events):
        if isinstance(event.data, ev.AssistantMessage):
            first = next(k for k in range(n, 0, -1) if not isinstance(events[k].data, ev.AssistantMessage))
            rebuilt.append(RequestBuilder().build(fold_all(empty("s-test"), events[: first + 1])))
    assert rebuilt == [r.body for r in model.bodies if r.purpose == "turn"]


async def test_a_request_that_is_refused_as_too_long_is_made_shorter_and_sent_once_more() -> None:
    replies = [says("a" * 3000), says("b" * 3000), [TOO_LONG], says("fits")]
    loop, model = await begin(replies, window=None, summaries=(says("sum"),))
    await talk(loop, 3, size=100)
    (found,) = await compactions(loop)
    assert (found.trigger, found.summary) == ("overflow", "sum")
    assert found.tokens_after <= (1 - GAIN) * found.tokens_before
    assert await ended(loop) == ev.Completed()
    assert [r.purpose for r in model.bodies] == ["turn", "turn", "turn", "summary", "turn"]
    assert len(model.bodies[4].body) < len(model.bodies[2].body)
    assert loop.state.usage.requests == 5
    await loop.check()


async def test_a_second_refusal_ends_the_turn_with_what_to_do_and_the_session_goes_on() -> None:
    replies = [says("a" * 3000), says("b" * 3000), [TOO_LONG], [TOO_LONG], says("small")]
    loop, model = await begin(replies, window=None, summaries=(says("sum"),))
    await talk(loop, 3, size=100)
    reason = await ended(loop)
    assert (reason.kind if hasattr(reason, "kind") else "error", reason.code) == ("error", "context-limit")
    assert "still too long" in reason.message
    assert "new session" in reason.message
    assert len(model.bodies) == 5
    await loop.prompt("a small one")
    await loop.idle()
    assert await ended(loop) == ev.Completed()


async def test_an_overflow_that_cannot_be_made_shorter_is_not_sent_again() -> None:
    loop, model = await begin([[TOO_LONG]], window=None)
    await loop.prompt("a giant " + "g" * 50_000)
    await loop.idle()
    assert len(model.bodies) == 1
    (failed,) = await failures(loop)
    assert failed.usage.requests == 1
    reason = await ended(loop)
    assert reason.code == "context-limit"
    assert "messages about" in reason.message
    await loop.check()


async def test_messages_too_long_even_to_be_summed_up_are_left_out_and_that_is_said() -> None:
    replies = [says("ok"), [TOO_LONG], says("fits")]
    loop, model = await begin(replies, window=None, summaries=([TOO_LONG],))
    await loop.prompt("a giant " + "g" * 50_000)
    await loop.idle()
    await loop.prompt("a small one")
    await loop.idle()
    assert await ended(loop) == ev.Completed()
    earlier = model.requests[-1]["messages"][1]["content"]
    assert "a giant ggg" in earlier
    assert "too long for the model" in earlier
    assert len(earlier.encode()) < 0.25 * 50_000
    (found,) = await compactions(loop)
    assert found.usage.requests == 2
    await loop.check()


async def test_an_overflow_in_mid_turn_shortens_the_newest_results_too() -> None:
    replies = [looks("r"), [TOO_LONG], says("ok")]
    loop, model = await begin(replies, window=None, result="x" * 12_000)
    await loop.prompt("go")
    await loop.idle()
    (found,) = await compactions(loop)
    assert (found.summary, found.through_seq) == ("", 0)
    assert [r.purpose for r in model.bodies] == ["turn", "turn", "turn"]
    assert await ended(loop) == ev.Completed()


async def test_the_attempts_of_a_step_go_on_after_an_overflow() -> None:
    busy = ModelFailed("server", "503", retryable=True)
    replies = [says("a" * 3000), says("b" * 3000), [text("half"), TOO_LONG], [busy], says("ok")]
    loop, _ = await begin(replies, window=None, summaries=(says("sum"),), clock=ManualClock())
    await talk(loop, 3, size=100)
    assert [r.attempt for r in await loop.data(ev.ModelRetry)] == [2]
    assert await ended(loop) == ev.Completed()
    await loop.check()


async def test_a_summary_that_does_not_shrink_the_context_is_dropped_and_two_in_a_row_end_the_turn() -> None:
    replies = [says("a" * 4000) for _ in range(4)] + [looks(f"s{n}-") for n in range(9)]
    loop, model = await begin(replies, window=5000, summaries=(says("l" * 12_000),) * 9)
    for n in range(9):
        await loop.prompt(f"p{n}" + "w" * 300)
        await loop.idle()
        if await failures(loop):
            break
    assert await compactions(loop) == []
    assert [f.trigger for f in await failures(loop)] == ["pressure"] * 2
    assert "not shorter" in (await failures(loop))[0].reason
    reason = await ended(loop)
    assert reason.code == "context-limit"
    assert "new session" in reason.message
    assert sum(r.purpose == "summary" for r in model.bodies) == 2
    await loop.check()


async def test_instructions_that_fill_the_window_cost_no_summary_and_end_the_turn_at_the_second_try() -> None:
    replies = [looks(f"s{n}-") for n in range(20)]
    loop, model = await begin(replies, window=60)
    await loop.prompt("go")
    await loop.idle()
    assert len(model.bodies) == 1
    assert {r.purpose for r in model.bodies} == {"turn"}
    assert len(await failures(loop)) == 2
    reason = await ended(loop)
    assert "instructions, tools" in reason.message
    await loop.check()


async def test_a_failed_summary_is_retried_like_any_request_and_each_wait_is_an_event() -> None:
    busy = ModelFailed("rate-limit", "slow down", retryable=True)
    replies = [says("a" * 3000) for _ in range(8)]
    clock = ManualClock()
    loop, model = await begin(replies, window=5000, summaries=([busy], [busy], says("sum")), clock=clock)
    model.summaries += [says("sum")] * 4
    await talk(loop, 8)
    retries = await loop.data(ev.ModelRetry)
    assert [(r.attempt, r.purpose, r.code) for r in retries] == [
        (1, "summary", "rate-limit"),
        (2, "summary", "rate-limit"),
    ]
    assert clock.slept == [0.5, 1.0]
    assert loop.state.usage.requests == len(model.bodies)
    await loop.check()


async def test_a_stop_while_it_is_summed_up_ends_the_turn_and_sends_nothing_more() -> None:
    gate = Gate()
    replies = [says("a" * 3000) for _ in range(8)]
    loop, model = await begin(replies, window=5000, summaries=([text("so far"), gate, end()],))
    running = asyncio.create_task(talk(loop, 8))
    await gate.reached.wait()
    assert loop.agent.waiting_on == "model"
    sent = len(model.bodies)
    await loop.stop()
    running.cancel()
    await loop.idle()
    assert len(model.bodies) == sent
    assert await compactions(loop) == []
    (failed,) = await failures(loop)
    assert failed.usage.estimated
    assert await ended(loop) == ev.AbortedReason(by="human")
    await loop.check()


async def test_an_unknown_window_is_said_once_where_it_matters() -> None:
    replies = [says("a" * 60_000) for _ in range(6)]
    loop, _ = await begin(replies, window=None)
    await talk(loop, 6)
    verdicts = await loop.data(ev.ExitVerdict)
    assert [(v.policy, v.action, v.severity) for v in verdicts] == [("context-window", "continue", "info")]
    assert "model.contextWindow" in verdicts[0].message
    await loop.check()


async def test_the_reasoning_of_what_stays_is_kept_byte_for_byte() -> None:
    from steersman.domain.messages import Delta

    def thinks(n: int) -> list[Piece]:
        called = call("look", {"name": f"t{n}"}, call_id=f"t{n}")
        reasoning = Finish(finish_reason="tool_calls", usage=None, reasoning_field="reasoning_content")
        return [Delta(reasoning=f"thought {n} " + "r" * 300), called, reasoning]

    replies = [thinks(n) for n in range(30)] + [says("done")]
    loop, model = await begin(replies, window=4000, summaries=(says("sum"),) * 30)
    await loop.prompt("go")
    await loop.idle()
    assert await compactions(loop)
    called = [m for m in model.requests[-1]["messages"] if m.get("tool_calls")]
    assert called
    for message in called:
        number = message["tool_calls"][0]["id"][1:]
        assert message["reasoning_content"] == f"thought {number} " + "r" * 300


async def test_a_thousand_turns_stay_below_the_window() -> None:
    settings = Settings(model=ModelSettings(), loop=LoopSettings())
    loop, model = await begin(
        [says("a" * 200)] * 300, window=3000, summaries=(says("sum"),) * 300, settings=settings
    )
    await talk(loop, 300, size=10)
    assert len(loop.state.history) < 60
    assert max(len(r.body) for r in model.bodies) <= 3000 * 4
    assert {type(r) for r in [e.reason for e in await loop.data(ev.TurnEnd)]} == {ev.Completed}
