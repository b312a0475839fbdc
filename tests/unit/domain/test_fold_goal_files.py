"""Which files were changed in a goal is folded from the edits since it began."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from steersman.domain import events as ev
from steersman.domain.fold import empty
from steersman.domain.fold_goal import changed_in_goal
from steersman.domain.goal import Budgets, Goal
from steersman.domain.state import GoalRecord, SessionState

GOAL = Goal(
    id="g",
    revision=1,
    objective="o",
    kind="executing",
    workflow="coding",
    phase="active",
    max_rounds=3,
    budgets=Budgets(),
    checks=[],
    rounds_started=0,
    created_at=1,
    updated_at=1,
)


def folded_edits(*edits: tuple[ev.EditKind, str, str | None], goal: Goal | None = GOAL) -> Iterable[str]:
    """The files that a goal knows as changed after these edits."""
    state: SessionState = replace(empty("s"), goals=GoalRecord(current=goal))
    for kind, uri, new_uri in edits:
        applied = ev.EditApplied(
            change_id="c", call_id="a", uri=uri, kind=kind, before="", after="", new_uri=new_uri
        )
        state = changed_in_goal(state, applied)
    return state.goals.changed


def test_files_changed_without_an_unfinished_goal_belong_to_none() -> None:
    assert set(folded_edits(("edit", "file:///a", None), goal=None)) == set()
    done = replace(GOAL, phase="complete")
    assert set(folded_edits(("edit", "file:///a", None), goal=done)) == set()


def test_a_file_is_known_by_its_last_name_and_forgotten_when_it_is_gone() -> None:
    created: tuple[ev.EditKind, str, None] = ("create", "file:///b", None)
    assert set(folded_edits(("edit", "file:///a", None), created)) == {"file:///a", "file:///b"}
    assert set(folded_edits(created, ("rename", "file:///b", "file:///c"))) == {"file:///c"}
    assert set(folded_edits(created, ("delete", "file:///b", None))) == set()
