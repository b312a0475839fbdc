"""What is written when: groups that are one commit, before their effect begins and before anybody is told."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from steersman.domain import events as ev
from steersman.loop.chunks import GROUP_SECONDS
from steersman.ports.approval import ApprovalAnswer, ScriptedApproval
from steersman.ports.model_double import Gate, calls, done, says, text
from steersman.tools.base import Ask
from tests.unit.loop.harness import Loop, StandInTool, start, until


class Commits:
    """The types of each commit of a loop's log, without those of the task; `hold` keeps a commit open."""

    def __init__(self, loop: Loop) -> None:
        self.groups: list[list[str]] = []
        self.hold: asyncio.Event | None = None
        log: Any = loop.journal.log
        self._append = log.append
        log.append = self.append

    async def append(self, rows: Sequence[ev.StoredEvent], blobs: Mapping[str, bytes] | None = None) -> None:
        if self.hold is not None:
            await self.hold.wait()
        await self._append(rows, blobs)
        self.groups.append([row.type for row in rows if row.type != "task/state"])


async def test_an_idle_prompt_is_one_commit_up_to_its_request_header() -> None:
    loop, _ = await start([says("ok")])
    commits = Commits(loop)
    await loop.prompt("go")
    assert commits.groups == [
        ["inbox/queued", "turn/start", "inbox/claimed", "step/start", "user/message", "request/header"]
    ]
    await loop.idle()


async def test_the_message_its_calls_and_the_starts_that_need_no_approval_are_one_commit() -> None:
    free = StandInTool("free", "parallel")
    gated = StandInTool("gated", "parallel", permit=Ask(risk="execute", title="?", detail="", remember="r"))
    wanted = [("free", {"name": "a"}), ("gated", {"name": "b"}), ("free", {"name": "c"})]
    loop, _ = await start([calls(*wanted), says("ok")], [free, gated])
    commits = Commits(loop)
    await loop.prompt("go")
    await loop.idle()
    group = next(g for g in commits.groups if "assistant/message" in g)
    assert group[-6:] == ["assistant/message", *["tool/call"] * 3, *["tool/start"] * 2]


async def test_the_results_the_steps_end_and_the_next_start_are_one_commit() -> None:
    tool = StandInTool("work")
    loop, _ = await start([calls(("work", {})), says("ok")], [tool])
    commits = Commits(loop)
    await loop.prompt("go")
    await loop.idle()
    assert ["tool/result", "step/end", "step/start"] in commits.groups
    assert commits.groups[-1][-3:] == ["assistant/message", "step/end", "turn/end"]


async def test_a_turns_end_and_the_next_turns_start_are_one_commit() -> None:
    gate = Gate()
    loop, _ = await start([[gate, *says("1")], says("2")])
    await loop.prompt("a")
    await gate.reached.wait()
    await loop.prompt("b")
    commits = Commits(loop)
    gate.open()
    await loop.idle()
    group = next(g for g in commits.groups if "turn/start" in g)
    assert group[-5:] == ["turn/end", "turn/start", "inbox/claimed", "step/start", "user/message"]


async def test_a_body_runs_only_when_its_start_is_durable() -> None:
    tool = StandInTool("work")
    loop, _ = await start([calls(("work", {})), says("ok")], [tool])
    commits = Commits(loop)
    gate = Gate()
    loop.services.models.replies[0].insert(0, gate)  # type: ignore[attr-defined]
    await loop.prompt("go")
    await gate.reached.wait()
    commits.hold = asyncio.Event()
    gate.open()
    for _ in range(200):
        await asyncio.sleep(0)
    assert tool.started == []
    commits.hold.set()
    commits.hold = None
    await loop.idle()
    assert tool.started == [""]


async def test_no_request_is_sent_and_nobody_is_told_before_the_commit() -> None:
    loop, model = await start([says("ok")])
    commits = Commits(loop)
    commits.hold = asyncio.Event()
    answer = asyncio.create_task(loop.prompt("go"))
    for _ in range(200):
        await asyncio.sleep(0)
    assert not answer.done()
    assert (model.requests, loop.told, loop.state.turn) == ([], [], None)
    commits.hold.set()
    commits.hold = None
    assert (await answer).outcome == "started"
    await loop.idle()


async def test_chunks_are_committed_in_groups_the_first_at_once() -> None:
    gate = Gate()
    pieces = [text(f"w{n} ") for n in range(500)]
    loop, _ = await start([[pieces[0], gate, *pieces[1:], done()]])
    commits = Commits(loop)
    await loop.prompt("go")
    await gate.reached.wait()
    await until(lambda: ["assistant/chunk"] in commits.groups, GROUP_SECONDS * 50)
    gate.open()
    await loop.idle()
    assert sum("assistant/chunk" in group for group in commits.groups) < 20
    chunks = [d for c in await loop.data(ev.AssistantChunk) for d in c.deltas]
    assert "".join(d.text or "" for d in chunks) == "".join(d.text or "" for d in pieces)


async def test_a_questions_answer_is_durable_before_its_call_starts() -> None:
    gated = StandInTool("gated", permit=Ask(risk="execute", title="?", detail="", remember="r"))
    person = ScriptedApproval([ApprovalAnswer(decision="allowOnce", by="human")])
    loop, _ = await start([calls(("gated", {})), says("ok")], [gated], approvals=person)
    commits = Commits(loop)
    await loop.prompt("go")
    await loop.idle()
    flat = [kind for group in commits.groups for kind in group]
    order = [kind for kind in flat if kind in ("approval/asked", "approval/decided", "tool/start")]
    assert order == ["approval/asked", "approval/decided", "tool/start"]
    asked = next(group for group in commits.groups if "approval/asked" in group)
    assert asked == ["approval/asked"]
