"""What clients are shown: a pure projection of the folded state and the little that lives only in memory."""

from __future__ import annotations

from steersman.domain.fold_turn import FIRST_WORDS
from steersman.domain.state import SessionState
from steersman.domain.views import ContextView, Damage, GoalView, QueueView, RunState, SessionInfo, WaitingOn
from steersman.goals.view import Activation, goal_view
from steersman.sessions.loading import Loaded

UNTITLED = "New session"


def session_info(
    state: SessionState,
    *,
    phase: RunState = "idle",
    waiting_on: WaitingOn | None = None,
    model: str | None = None,
    window_tokens: int | None = None,
    read_only: bool = False,
    damaged: Damage | None = None,
    goal: GoalView | None = None,
) -> SessionInfo:
    """The SessionInfo of a state. `model` is what would answer now, if the session names none itself."""
    turn, step = state.turn, state.step
    return SessionInfo(
        session_id=state.session_id,
        title=state.title or state.first_words or _objective(state) or UNTITLED,
        workspace_folder=state.workspace_folder,
        created_at=state.created_at,
        updated_at=state.last_time,
        last_seq=state.last_seq,
        state=phase,
        waiting_on=waiting_on if phase != "idle" or waiting_on == "pause" else None,
        turn=turn.number if turn else None,
        step=step.number if step else None,
        queue=QueueView(
            next_turn=[m.view() for m in state.inbox.next_turn],
            next_step=[m.view() for m in state.inbox.next_step],
            held=state.inbox.held,
        ),
        goal=goal,
        task=state.task,
        plan=None,
        model=state.model or model,
        mode=state.mode,
        usage=state.usage_so_far,
        context=ContextView(
            used_tokens=state.context_tokens,
            window_tokens=window_tokens,
            estimated=state.context_estimated,
        ),
        read_only=read_only,
        damaged=damaged,
        parent=state.parent,
    )


def _objective(state: SessionState) -> str:
    """What a session is about in which no person has said a word: its goal."""
    return " ".join(state.goal.objective.split())[:FIRST_WORDS] if state.goal is not None else ""


def seen(loaded: Loaded, *, read_only: bool) -> SessionInfo:
    """The SessionInfo of a session that is not open here. Its goal moves by nothing that is known here."""
    state = loaded.state
    goal = goal_view(state, Activation())
    return session_info(state, read_only=read_only, damaged=loaded.damaged, goal=goal)
