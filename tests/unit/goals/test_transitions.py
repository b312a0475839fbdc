"""The transition table of a goal, every cell: operation × phase × activation × who asks.

The tables here are written from the design, not from the code: what a cell says is what must happen.
"""

from __future__ import annotations

import itertools
from typing import Any, Final, get_args

import pytest
from msgspec.structs import replace

from steersman.domain import events as ev
from steersman.domain.checks import CommandCheck
from steersman.domain.fold import empty, fold
from steersman.domain.goal import BlockedReason, Budgets, By, Goal, GoalRef, Operation, Phase
from steersman.domain.messages import GoalSource
from steersman.domain.state import GoalRecord, OpenTurn, SessionState
from steersman.errors import GoalExists, GoalNotFound, GoalStale, GoalTransition, LogViolation
from steersman.goals.decisions import Wishes
from tests.unit.goals.harness import Wheel, wheel

NOW: Final = 1000
GOAL: Final = Goal(
    id="g1",
    revision=4,
    objective="Make it work.",
    kind="executing",
    workflow="coding",
    phase="active",
    max_rounds=8,
    budgets=Budgets(tokens=500),
    checks=[CommandCheck(argv=["true"])],
    rounds_started=2,
    created_at=10,
    updated_at=20,
)
PHASES: Final[tuple[Phase | None, ...]] = (None, *get_args(Phase))
OPERATIONS: Final[tuple[Operation, ...]] = get_args(Operation)

FROM: Final[dict[Operation, set[Phase | None]]] = {
    "create": {None, "complete"},
    "edit": {"active", "paused", "blocked"},
    "pause": {"active"},
    "resume": {"active", "paused", "blocked"},
    "complete": {"active", "paused", "blocked"},
    "block": {"active"},
    "clear": {"active", "paused", "blocked", "complete"},
}
TO: Final[dict[Operation, Phase | None]] = {
    "create": "active",
    "edit": None,  # the same
    "pause": "paused",
    "resume": "active",
    "complete": "complete",
    "block": "blocked",
}

# In which turns the model may do what: by the turn that is open.
TURNS: Final[dict[str, OpenTurn | None]] = {
    "none": None,
    "a person's, shown": OpenTurn(number=9, trigger="human", started_at=1, step=1, human_step=1),
    "a person's, not shown yet": OpenTurn(number=9, trigger="human", started_at=1),
    "its own round": OpenTurn(
        number=9, trigger="goal", started_at=1, step=1, round=GoalSource(goal_id="g1", revision=4, round=2)
    ),
    "its own round, a person steered": OpenTurn(
        number=9,
        trigger="goal",
        started_at=1,
        step=2,
        human_step=2,
        round=GoalSource(goal_id="g1", revision=4, round=2),
    ),
    "a round of what was asked before": OpenTurn(
        number=9, trigger="goal", started_at=1, step=1, round=GoalSource(goal_id="g1", revision=2, round=2)
    ),
    "a round of another goal": OpenTurn(
        number=9, trigger="goal", started_at=1, step=1, round=GoalSource(goal_id="g0", revision=4, round=2)
    ),
}
SHOWN: Final = {"a person's, shown", "its own round, a person steered"}
MODEL_MAY: Final[dict[Operation, set[str]]] = {
    "create": {"a person's, shown", "a person's, not shown yet"},
    "edit": SHOWN,
    "pause": SHOWN,
    "resume": SHOWN,
    "complete": SHOWN | {"its own round"},
    "block": SHOWN | {"its own round"},
    "clear": set(),
}
OTHERS_MAY: Final[dict[By, set[Operation]]] = {
    "human": {"create", "edit", "pause", "resume", "complete", "clear"},
    "driver": {"pause", "block"},
}


def state_with(phase: Phase | None, turn: OpenTurn | None) -> SessionState:
    goal = None if phase is None else in_phase(phase)
    record = GoalRecord(current=goal, asked_since=3)
    if goal is not None:
        record = replace(record, used_ids=record.used_ids.set(goal.id, True))
    return replace(empty("s"), last_seq=7, last_time=NOW, opened=True, turns=9, turn=turn, goals=record)


def in_phase(phase: Phase) -> Goal:
    why = BlockedReason(code="failing", message="it failed") if phase == "blocked" else None
    return replace(GOAL, phase=phase, blocked_reason=why)


def changed(operation: Operation, phase: Phase | None, by: By, /, **members: Any) -> ev.GoalChanged:
    """The event that this operation makes of a goal, valid but for the place where it stands."""
    before = GOAL if phase is None else in_phase(phase)
    if operation == "clear":
        ref = GoalRef(id=before.id, revision=before.revision + 1)
        return ev.GoalChanged(operation=operation, by=by, ref=ref, goal=None)
    if operation == "create":
        after = replace(
            GOAL, id="g2", revision=1, phase="active", rounds_started=0, created_at=NOW, updated_at=NOW
        )
    else:
        target = TO[operation] or before.phase
        why = BlockedReason(code="failing", message="it failed") if target == "blocked" else None
        after = replace(
            before, revision=before.revision + 1, phase=target, blocked_reason=why, updated_at=NOW
        )
    after = replace(after, **members)
    return ev.GoalChanged(operation=operation, by=by, ref=after.ref, goal=after)


def accepts(state: SessionState, data: ev.EventData) -> bool:
    try:
        fold(state, ev.make_event("s", state.last_seq + 1, NOW, data))
    except LogViolation:
        return False
    return True


@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_log_takes_exactly_the_transitions_of_the_table(operation: Operation) -> None:
    bys: tuple[By, ...] = get_args(By)
    for phase, by, (name, turn) in itertools.product(PHASES, bys, TURNS.items()):
        allowed = phase in FROM[operation]
        allowed &= name in MODEL_MAY[operation] if by == "model" else operation in OTHERS_MAY[by]
        if by == "model" and phase is None and operation != "create":
            allowed = False
        found = accepts(state_with(phase, turn), changed(operation, phase, by))
        assert found is allowed, f"{operation} of a {phase} goal by the {by} in {name}"


MEMBERS: Final[dict[str, Any]] = {
    "id": "g9",
    "objective": "Another one.",
    "kind": "exploratory",
    "workflow": "research",
    "max_rounds": 99,
    "budgets": Budgets(tokens=501),
    "checks": [],
    "rounds_started": 3,
    "created_at": 11,
    "blocked_reason": BlockedReason(code="budget", message="none"),
}
MAY_CHANGE: Final[dict[Operation, set[str]]] = {
    "edit": {"objective", "kind", "max_rounds", "budgets", "checks"},
    "create": {"objective", "kind", "workflow", "max_rounds", "budgets", "checks", "id"},
}


@pytest.mark.parametrize("member", MEMBERS)
@pytest.mark.parametrize("operation", [o for o in OPERATIONS if o != "clear"])
def test_an_operation_changes_only_the_members_that_are_its_own(operation: Operation, member: str) -> None:
    phase: Phase | None = None if operation == "create" else "active"
    by: By = "driver" if operation == "block" else "human"
    data = changed(operation, phase, by, **{member: MEMBERS[member]})
    allowed = member in MAY_CHANGE.get(operation, set())
    allowed |= operation == "block" and member == "blocked_reason"
    assert accepts(state_with(phase, None), data) is allowed


@pytest.mark.parametrize(
    "members",
    [
        {"revision": 4},
        {"revision": 6},
        {"revision": 1},
        {"updated_at": 19},
        {"updated_at": NOW + 1},
        {"phase": "active"},
        {"phase": "complete"},
    ],
)
def test_revision_time_and_phase_follow_without_a_gap(members: dict[str, Any]) -> None:
    assert not accepts(state_with("active", None), changed("pause", "active", "human", **members))


def test_a_snapshot_that_is_missing_or_too_much_and_an_id_that_was_used_are_refused() -> None:
    bare = replace(changed("pause", "active", "human"), goal=None)
    assert not accepts(state_with("active", None), bare)
    whole = replace(changed("clear", "active", "human"), goal=GOAL)
    assert not accepts(state_with("active", None), whole)
    again = changed("create", "complete", "human", id="g1")
    assert not accepts(state_with("complete", None), again)
    other_ref = replace(changed("pause", "active", "human"), ref=GoalRef(id="g1", revision=9))
    assert not accepts(state_with("active", None), other_ref)


# The same table through the service, with what happens to activation.


async def made(phase: Phase | None, armed: bool) -> Wheel:
    w = await wheel([])
    w.goals.wake = lambda: None  # the driver is another matter
    w.driver.consider = lambda: None  # type: ignore[method-assign]
    if phase is None:
        return w
    await w.create()
    match phase:
        case "paused":
            await w.goals.pause(None, "human")
        case "blocked":
            await w.goals.block(w.goal.ref, BlockedReason(code="failing", message="m"))
        case "complete":
            await w.goals.accept(None)
    if phase == "active" and not armed:
        w.goals.disarm("a test")
    return w


async def operate(w: Wheel, operation: Operation, ref: GoalRef | None) -> None:
    match operation:
        case "create":
            await w.goals.create(Wishes(objective="new"), "human")
        case "edit":
            await w.goals.edit(ref, Wishes(objective="new"), "human")
        case "pause":
            await w.goals.pause(ref, "human")
        case "resume":
            await w.goals.resume(ref, "human")
        case "complete":
            await w.goals.accept(ref)
        case "block":
            assert ref is not None
            await w.goals.block(ref, BlockedReason(code="failing", message="m"))
        case "clear":
            await w.goals.clear(ref, "human")


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_every_verb_does_what_the_table_says_to_phase_and_activation(operation: Operation) -> None:
    for phase, armed in itertools.product(PHASES, (True, False)):
        w = await made(phase, armed)
        was_armed = w.goals.armed
        before = w.loop.state.goal
        ref = before.ref if before is not None else GoalRef(id="g0", revision=1)
        allowed = phase in FROM[operation] and not (operation == "resume" and was_armed)
        cell = f"{operation} of a {phase} goal, armed: {was_armed}"
        if not allowed:
            refusals = (GoalTransition, GoalExists, GoalNotFound)
            with pytest.raises(refusals):
                await operate(w, operation, ref)
            assert w.loop.state.goal == before, cell
            assert w.goals.armed == was_armed, cell
            continue
        await operate(w, operation, ref)
        now = w.loop.state.goal
        if operation == "clear":
            assert now is None, cell
        else:
            assert now is not None
            assert now.phase == (TO[operation] or phase), cell
            assert now.revision == (1 if operation == "create" or before is None else before.revision + 1), (
                cell
            )
        armed_now = {"create": True, "resume": True, "edit": was_armed}.get(operation, False)
        assert w.goals.armed == armed_now, cell
        view = w.goals.view()
        if view is not None:
            assert (view.activation == "armed") == armed_now, cell
            assert (view.disarmed_by is None) == armed_now, f"{cell}: the reason is shown"


@pytest.mark.parametrize("operation", [o for o in OPERATIONS if o != "create"])
@pytest.mark.parametrize("stale", ["an old revision", "one to come", "another goal"])
async def test_a_ref_that_is_not_current_changes_nothing_and_is_told_the_current_one(
    operation: Operation, stale: str
) -> None:
    w = await made("active", armed=True)
    await w.goals.edit(None, Wishes(objective="newer"), "human")
    now = w.goal.ref
    ref = {
        "an old revision": replace(now, revision=1),
        "one to come": replace(now, revision=3),
        "another goal": replace(now, id="g-other"),
    }[stale]
    with pytest.raises(GoalStale) as refused:
        await operate(w, operation, ref)
    assert refused.value.data["current"] == {"id": now.id, "revision": 2}
    assert w.goal.ref == now
    assert w.goals.armed


async def test_of_two_holders_of_one_ref_exactly_one_wins() -> None:
    w = await made("active", armed=True)
    ref = w.goal.ref
    first = w.goals.edit(ref, Wishes(objective="mine"), "human")
    second = w.goals.edit(ref, Wishes(objective="no, mine"), "human")
    await first
    with pytest.raises(GoalStale):
        await second
    assert (w.goal.objective, w.goal.revision) == ("mine", 2)
