"""Reducers for goals: exact transitions, exact members, rounds without gap (goal.md, "Strict fold")."""

from __future__ import annotations

import hashlib
from typing import Any, Final

import msgspec
from msgspec.structs import replace
from pyrsistent import pmap

from steersman.domain import events as ev
from steersman.domain.fold_rules import refuse, require
from steersman.domain.goal import FROM, MAY_CHANGE, TO, WHO, Goal, Operation
from steersman.domain.messages import GoalSource
from steersman.domain.state import Blocker, GoalRecord, OpenTurn, PendingRound, SessionState


def _changed(state: SessionState, event: ev.Event, data: ev.GoalChanged) -> SessionState:
    current = state.goals.current
    require(data.by in WHO[data.operation], event, f"{data.operation} is not for the {data.by}")
    if data.by == "model":
        _require_authority(state, event, data)
    if data.operation == "create":
        return _created(state, event, data)
    if current is None:
        refuse(event, "there is no goal")
    require(current.phase in FROM[data.operation], event, f"a {current.phase} goal has no {data.operation}")
    next_ref = replace(current.ref, revision=current.revision + 1)
    require(data.ref == next_ref, event, f"revision {data.ref.revision} does not follow {current.revision}")
    if data.operation == "clear":
        require(data.goal is None, event, "a cleared goal has no snapshot")
        return _with(state, GoalRecord(used_ids=state.goals.used_ids, pending=state.goals.pending))
    if data.goal is None:
        refuse(event, "the snapshot is missing")
    _require_only(event, data, current, data.goal)
    goals = replace(state.goals, current=data.goal, changed_by=data.by)
    if not _changes_limits_only(data.operation, current, data.goal):
        goals = replace(goals, asked_since=data.goal.revision)
    if data.operation in ("edit", "resume"):
        edited = goals.edited or data.goal.objective != current.objective
        goals = replace(goals, blockers=pmap(), idle_rounds=0, edited=edited)
    if data.by == "model" and data.operation in ("complete", "block") and state.turn is not None:
        goals = replace(goals, closing=True)
    return _with(state, goals)


def _require_authority(state: SessionState, event: ev.Event, data: ev.GoalChanged) -> None:
    """What the model did, it did in a turn that allowed it (goal.md, "Authority")."""
    turn = state.turn
    if turn is None:
        refuse(event, "the model acts only in a turn")
    if data.operation == "create":
        require(turn.trigger == "human", event, "no person's message started this turn")
    elif data.operation in ("complete", "block"):
        own = turn.human_step is not None or is_own_round(state)
        require(own, event, "this turn is not a round of the goal as it is")
    else:
        require(turn.human_step is not None, event, "no person's message was shown in this turn")


def is_own_round(state: SessionState) -> bool:
    """Whether the open turn is a round of the current goal, as the goal asks it now."""
    goals, turn = state.goals, state.turn
    if turn is None or turn.round is None or goals.current is None:
        return False
    return turn.round.goal_id == goals.current.id and turn.round.revision >= goals.asked_since


def _changes_limits_only(operation: Operation, before: Goal, after: Goal) -> bool:
    """A round that runs keeps its authority where only limits were edited: it still does what was asked."""
    return operation == "edit" and (before.objective, before.checks) == (after.objective, after.checks)


def _created(state: SessionState, event: ev.Event, data: ev.GoalChanged) -> SessionState:
    current, goal = state.goals.current, data.goal
    require(current is None or not current.unfinished, event, "the goal before is not finished")
    if goal is None:
        refuse(event, "the snapshot is missing")
    require(goal.ref == data.ref and goal.revision == 1, event, "a new goal has revision 1")
    require(goal.id not in state.goals.used_ids, event, f"goal id {goal.id} was used before")
    require(goal.phase == "active" and goal.blocked_reason is None, event, "a new goal is active")
    require(goal.rounds_started == 0, event, "a new goal has started no round")
    require(goal.created_at == goal.updated_at <= event.time, event, "its times do not fit")
    used = state.goals.used_ids.set(goal.id, True)
    return _with(state, GoalRecord(current=goal, used_ids=used, changed_by=data.by, asked_since=1))


def _require_only(event: ev.Event, data: ev.GoalChanged, before: Goal, after: Goal) -> None:
    """Only what the operation may change has changed."""
    may = MAY_CHANGE[data.operation] | {"revision", "updated_at"}
    for name in Goal.__struct_fields__:
        if name not in may:
            same = getattr(before, name) == getattr(after, name)
            require(same, event, f"{data.operation} does not change {name}")
    require(after.ref == data.ref, event, "the ref is not that of the snapshot")
    require(before.updated_at <= after.updated_at <= event.time, event, "its time goes back or ahead")
    phase = TO.get(data.operation, before.phase)
    require(after.phase == phase, event, f"after {data.operation} a goal is {phase}")
    blocked = after.blocked_reason is not None
    require(
        blocked == (after.phase == "blocked"), event, "a reason belongs to a blocked goal, and only there"
    )


def _round(state: SessionState, event: ev.Event, data: ev.GoalRound) -> SessionState:
    goals = state.goals
    source = GoalSource(goal_id=data.goal_id, revision=data.revision, round=data.round)
    if data.status == "queued":
        require(goals.pending is None, event, "another round is pending")
        _require_current(state, event, source)
        waits = [m for m in state.inbox.next_turn if m.source == source]
        if len(waits) != 1:
            refuse(event, "its message does not wait")
        return _with(
            state, replace(goals, pending=PendingRound(source=source, message_id=waits[0].message_id))
        )
    pending = goals.pending
    if pending is None or pending.source != source:
        refuse(event, "this round is not pending")
    if data.status == "stale":
        require(state.inbox.find(pending.message_id) is None, event, "its message still waits")
        return _with(state, replace(goals, pending=None))
    _require_current(state, event, source)
    if data.status == "claimed":
        require(not pending.claimed, event, "it was claimed before")
        return _with(state, replace(goals, pending=replace(pending, claimed=True)))
    return _admitted(state, event, pending)


def _admitted(state: SessionState, event: ev.Event, pending: PendingRound) -> SessionState:
    turn, goal = state.turn, state.goals.current
    if turn is None or goal is None:
        refuse(event, "no turn is open for it")
    fits = turn.trigger == "goal" and turn.step == 0 and turn.round is None
    require(fits and pending.claimed, event, "a round is admitted with its turn")
    told = [m.message_id for m in turn.claimed]
    require(pending.message_id in told, event, "its message was not claimed")
    goal = replace(goal, rounds_started=goal.rounds_started + 1)
    state = replace(state, turn=replace(turn, round=pending.source))
    goals = replace(state.goals, current=goal, pending=None, progressed=False, edited=False)
    return _with(state, goals)


def _require_current(state: SessionState, event: ev.Event, source: GoalSource) -> None:
    goal = state.goals.current
    if goal is None or goal.phase != "active":
        refuse(event, "no goal is active")
    same = (goal.id, goal.revision) == (source.goal_id, source.revision)
    require(same, event, "the goal has another revision")
    require(source.round == goal.rounds_started + 1, event, f"round {source.round} is not the next one")


def _blocker(state: SessionState, event: ev.Event, data: ev.GoalBlocker) -> SessionState:
    goal = state.goals.current
    require(goal is not None and goal.id == data.goal_id, event, "no such goal")
    turn = state.turn
    own = turn is not None and turn.round is not None and turn.round.round == data.round
    require(own, event, "it is counted in a round of the goal")
    expected = in_a_row(state, data.key, data.round)
    require(data.consecutive == expected, event, f"it is {expected} in a row, not {data.consecutive}")
    blocker = Blocker(round=data.round, consecutive=data.consecutive)
    return _with(state, replace(state.goals, blockers=state.goals.blockers.set(data.key, blocker)))


def in_a_row(state: SessionState, key: str, number: int) -> int:
    """In how many rounds in a row, this one included, the model has given this key for what blocks it."""
    before = state.goals.blockers.get(key)
    if before is None:
        return 1
    return before.consecutive if before.round == number else before.consecutive + 1


def _verification(state: SessionState, event: ev.Event, data: ev.GoalVerification) -> SessionState:
    if data.phase == "prompt":
        turn = state.turn
        if turn is None:
            refuse(event, "a prompt's checks run inside its turn")
        failed = turn.failed_checks + 1 if data.verdict == "fail" else 0
        return replace(state, turn=replace(turn, failed_checks=failed))
    goal = state.goals.current
    require(goal is not None and goal.id == data.goal_id, event, "no such goal")
    return _with(state, replace(state.goals, verification=data))


def _with(state: SessionState, goals: GoalRecord) -> SessionState:
    return replace(state, goals=goals)


def called_in_goal(state: SessionState, name: str, arguments: str) -> SessionState:
    """A call in a round: one that was never made for this goal is progress."""
    goals = state.goals
    if state.turn is None or state.turn.round is None:
        return state
    signature = _signature(name, arguments)
    if signature in goals.signatures or name in _NO_PROGRESS:
        return state
    return _with(state, replace(goals, signatures=goals.signatures.set(signature, True), progressed=True))


def _signature(name: str, arguments: str) -> str:
    """A call without its spelling: white space and the order of members do not make it another one."""
    try:
        folded = msgspec.json.encode(msgspec.json.decode(arguments), order="deterministic")
    except (ValueError, RecursionError, OverflowError):  # not JSON, too deep, an endless number
        folded = " ".join(arguments.split()).encode("utf-8", "surrogatepass")
    return hashlib.sha256(name.encode("utf-8", "surrogatepass") + b" " + folded).hexdigest()[:32]


def _receipt(state: SessionState, event: ev.Event, data: ev.TestsReceipt) -> SessionState:
    """Another set of failing tests than the last run's is progress, in a round."""
    failing = frozenset(test.id for test in data.tests if test.outcome in ("failed", "error"))
    found = (data.status, data.counts.failed + data.counts.errors, failing)
    goals = state.goals
    if goals.current is None or not goals.current.unfinished or found == goals.failing:
        return state
    in_round = state.turn is not None and state.turn.round is not None
    progressed = goals.progressed or (in_round and goals.failing is not None)
    return _with(state, replace(goals, failing=found, progressed=progressed))


def _verdict(state: SessionState, event: ev.Event, data: ev.ExitVerdict) -> SessionState:
    """The last judgement of a turn: where it ends the turn, it says what the goal's driver does."""
    if data.policy == "context-window":
        return replace(state, window_told=True)
    return state if state.turn is None else replace(state, turn=replace(state.turn, verdict=data))


def changed_in_goal(state: SessionState, edit: ev.EditApplied) -> SessionState:
    """A file was changed: that is progress of a round, whatever was called, and a file to be checked."""
    goals = state.goals
    if goals.current is None or not goals.current.unfinished:
        return state
    changed = (
        goals.changed if edit.kind == "create" or edit.kind == "edit" else goals.changed.discard(edit.uri)
    )
    now = edit.new_uri if edit.kind == "rename" else edit.uri
    if now is not None and edit.kind != "delete":
        changed = changed.set(now, True)
    in_round = state.turn is not None and state.turn.round is not None
    return _with(state, replace(goals, changed=changed, progressed=goals.progressed or in_round))


def a_person_spoke(state: SessionState) -> SessionState:
    """A person's message starts the counts of idle rounds and of blockers again."""
    goals = state.goals
    if not goals.idle_rounds and not goals.blockers:
        return state
    return _with(state, replace(goals, idle_rounds=0, blockers=pmap()))


def after_turn(state: SessionState, turn: OpenTurn, reason: ev.EndReason) -> SessionState:
    """Count the round that has ended: as idle, as failing, or as neither."""
    goals = replace(state.goals, closing=False)
    if turn.round is not None:
        failed = isinstance(reason, ev.ErrorReason | ev.MaxTokens)
        ended_well = isinstance(reason, ev.Completed)
        goals = replace(
            goals,
            idle_rounds=0 if goals.progressed else goals.idle_rounds + 1,
            failing_rounds=goals.failing_rounds + 1 if failed else 0 if ended_well else goals.failing_rounds,
        )
        kept = {key: b for key, b in goals.blockers.items() if b.round == turn.round.round}
        goals = replace(goals, blockers=pmap(kept))
    return _with(state, goals)


_NO_PROGRESS: Final = frozenset({"get_goal", "create_goal", "update_goal"})
"""Calls about the goal itself move nothing."""

GOAL_REDUCERS: Final[dict[type[ev.EventData], Any]] = {
    ev.GoalChanged: _changed,
    ev.GoalRound: _round,
    ev.GoalBlocker: _blocker,
    ev.GoalVerification: _verification,
    ev.TestsReceipt: _receipt,
    ev.ExitVerdict: _verdict,
}
