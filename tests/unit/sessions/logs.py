"""Logs that tests cut, copy and damage: real runs of the loop on doubles."""

from __future__ import annotations

from collections.abc import Sequence

from steersman.domain.events import StoredEvent, from_stored
from steersman.domain.fold import empty, fold_all
from steersman.domain.state import SessionState
from steersman.goals.decisions import Wishes
from steersman.ports.event_log_memory import MemoryStore
from steersman.ports.model_double import calls, says
from tests.unit.goals.harness import CHECK, Wheel, ends, obedient
from tests.unit.loop.harness import StandInTool, until

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
