"""Reducers for a session's own life, its task state, and what the harness recorded beside the turn."""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from steersman.domain import events as ev
from steersman.domain.fold_rules import require
from steersman.domain.state import SessionState
from steersman.domain.task import TASK_ROWS


def _created(state: SessionState, event: ev.Event, data: ev.SessionCreated) -> SessionState:
    require(event.seq == 1, event, "only the first event creates a session")
    require(
        1 <= data.format_version <= ev.FORMAT_VERSION,
        event,
        f"format {data.format_version} is unknown here (up to {ev.FORMAT_VERSION}); update Steersman",
    )
    return replace(
        state,
        created_at=event.time,
        workspace_folder=data.workspace_folder,
        title=data.title,
        parent=data.parent,
    )


def _opened(state: SessionState, event: ev.Event, data: ev.SessionOpened) -> SessionState:
    if data.reason == "new":
        require(not state.opened, event, "a session is new once")
    # What a person allowed "for this session" ends with the process that asked: a restart starts careful.
    return replace(state, opened=True, allowed=frozenset())


def _configured(state: SessionState, event: ev.Event, data: ev.SessionConfigured) -> SessionState:
    return replace(
        state,
        title=state.title if data.title is None else data.title,
        model=state.model if data.model is None else data.model,
        mode=state.mode if data.mode is None else data.mode,
    )


def _task(state: SessionState, event: ev.Event, data: ev.TaskChanged) -> SessionState:
    require(data.from_ == state.task, event, f"the task is {state.task}, not {data.from_}")
    require((data.from_, data.to) in TASK_ROWS, event, f"no row leads from {data.from_} to {data.to}")
    return replace(state, task=data.to)


SESSION_REDUCERS: Final[dict[type[ev.EventData], Any]] = {
    ev.SessionCreated: _created,
    ev.SessionOpened: _opened,
    ev.SessionConfigured: _configured,
    ev.TaskChanged: _task,
}
