"""Logs that tests cut, copy and damage: real runs of the loop on doubles."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from steersman.domain.events import EditApplied, EditPlanned, StoredEvent, from_stored
from steersman.domain.fold import empty, fold_all
from steersman.domain.state import SessionState
from steersman.goals.decisions import Wishes
from steersman.ports.event_log_memory import MemorySession, MemoryStore
from steersman.ports.model_double import calls, says
from steersman.tools.base import ToolContext, ToolOutcome
from tests.unit.goals.harness import CHECK, Wheel, ends, obedient
from tests.unit.loop.harness import Named, StandInTool, start, until

ID = "s-test"


async def goal_run() -> Wheel:
    """Two goals one after the other: rounds, an edit, a failing claim, a pause, a prompt between."""
    replies = [
        calls(("work", {"name": "1"})),
        ends("complete"),
        says("told that it is not done"),
        ends("complete"),
        says("done"),
        says("answer to a person"),
        calls(("work", {"name": "2"})),
        says("more to come"),
        ends("blocked", key="k", message="no way"),
        says("stuck"),
        *[says("nothing new")] * 9,
    ]
    wheel = await obedient(replies, (StandInTool("work"),), verdicts=["fail", "pass"], no_progress_rounds=2)
    await wheel.create("The first.", checks=[CHECK])
    await wheel.at_rest()
    await wheel.loop.prompt("a question", message_id="m-1")
    await wheel.loop.idle()
    await wheel.create("The second.")
    await until(lambda: wheel.goal.phase == "blocked")
    await wheel.at_rest()
    await wheel.goals.edit(None, Wishes(objective="The second, better."), "human")
    return wheel


class EditingTool(StandInTool):
    """Records an edit with its contents, as the real ones do; it touches no file."""

    async def run(self, arguments: Named, context: ToolContext) -> ToolOutcome:
        before, after = b"x = 1\n", b"x = 2\n"
        digests = [sha256(content).hexdigest() for content in (before, after)]
        edit = {"change_id": "c-1", "call_id": context.call_id, "uri": "file:///w/a.py", "kind": "edit"}
        edit |= {"before": digests[0], "after": digests[1]}
        blobs = dict(zip(digests, (before, after), strict=True))
        await context.record(EditPlanned(**edit), blobs=blobs)  # type: ignore[arg-type]
        await context.record(EditApplied(**edit))  # type: ignore[arg-type]
        return ToolOutcome(content="edited")


async def edited_run() -> MemorySession:
    """Two turns, the first with an edit: its rows and its blobs."""
    loop, _ = await start([calls(("edit", {})), says("first"), says("second")], [EditingTool("edit")])
    for words in ("one", "two"):
        await loop.prompt(words)
        await loop.idle()
    return loop.store.sessions[ID]


def rows_of(wheel: Wheel) -> list[StoredEvent]:
    return list(wheel.loop.store.sessions[ID].rows)


async def stored(rows: Sequence[StoredEvent], session_id: str = ID) -> MemoryStore:
    """A store with one closed session that has these rows."""
    store = MemoryStore()
    log = await store.create(session_id, None)
    await log.append(rows)
    await log.close()
    return store


def folded(rows: Sequence[StoredEvent], session_id: str = ID) -> SessionState:
    """The strict fold, chunks too."""
    return fold_all(empty(session_id), (from_stored(session_id, row) for row in rows))
