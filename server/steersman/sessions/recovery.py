"""What a process does when it takes a session over: it closes what was open, and holds what waited.

Nothing is ever run again, and nothing moves: the next request needs a person's word. Idempotent – a log
that was recovered needs no recovery.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from steersman.domain import events as ev
from steersman.domain.messages import GoalSource
from steersman.domain.reply import ReplyAssembler
from steersman.domain.state import OpenStep, SessionState
from steersman.domain.task import TASK_ROWS
from steersman.domain.usage import Usage
from steersman.errors import ToolFailed
from steersman.loop.closing import close_turn
from steersman.loop.journal import extended
from steersman.ports.editor import EditorPort
from steersman.ports.event_log import EventReader
from steersman.sessions.uris import uri_path

PAGE: Final = 1000


async def recovery_events(state: SessionState, log: EventReader, editor: EditorPort) -> list[ev.EventData]:
    """The events that close an interrupted session; none if it was closed properly. Raises StorageFailed.

    `log` may hold more than `state` is folded from: what comes later is not looked at.
    """
    last_seq = state.last_seq
    lead = _settled(state)
    if lead:
        state, _ = extended(state, lead, state.last_time)
    step = state.step
    if state.turn is None or step is None:
        return [*lead, *close_turn(state, ev.Interrupted(), held="restart"), *_task_at_rest(state)]
    rows = await _rows_of(step, state.session_id, log, last_seq)
    interrupted = None if step.replied else _words(rows, state.turn.number, step)
    findings = await _findings(rows, step, editor)
    closing = close_turn(state, ev.Interrupted(), held="restart", findings=findings, interrupted=interrupted)
    return [*lead, *closing]


def _settled(state: SessionState) -> list[ev.EventData]:
    """Ends the steps of a goal round that stand or fall together; only a log that was cut needs it."""
    pending, turn = state.goals.pending, state.turn
    strays = [
        m.message_id
        for m in state.inbox.next_turn
        if isinstance(m.source, GoalSource) and (pending is None or m.message_id != pending.message_id)
    ]
    events: list[ev.EventData] = [ev.InboxRemoved(message_id=stray, reason="stale") for stray in strays]
    if turn is not None and turn.trigger == "goal" and turn.round is None and pending is not None:
        if state.inbox.find(pending.message_id) is not None:
            events.append(ev.InboxClaimed(message_ids=[pending.message_id], turn=turn.number, step=1))
        source = pending.source
        events.append(
            ev.GoalRound(
                goal_id=source.goal_id, revision=source.revision, round=source.round, status="admitted"
            )
        )
    return events


def _task_at_rest(state: SessionState) -> list[ev.EventData]:
    """A task between two turns goes on only by itself, which it does not do after a restart."""
    if state.turn is not None or (state.task, "PAUSED") not in TASK_ROWS:
        return []
    return [ev.TaskChanged(from_=state.task, to="PAUSED", cause="the server was restarted")]


async def _rows_of(step: OpenStep, session_id: str, log: EventReader, last_seq: int) -> list[ev.Event]:
    events: list[ev.Event] = []
    after = step.first_seq
    while after < last_seq and (page := await log.read(after, min(PAGE, last_seq - after))):
        events += [ev.from_stored(session_id, row) for row in page]
        after = page[-1].seq
    return events


def _words(rows: Sequence[ev.Event], turn: int, step: OpenStep) -> ev.AssistantMessage | None:
    """What the model had said in its last attempt: the person saw it, so the model must know it too."""
    reply = ReplyAssembler()
    for row in rows:
        if isinstance(row.data, ev.AssistantChunk) and row.data.attempt == step.retries + 1:
            for delta in row.data.deltas:
                reply.feed(delta)
    if not reply.text and not reply.reasoning:
        return None
    return ev.AssistantMessage(
        turn=turn,
        step=step.number,
        text=reply.text,
        tool_calls=[],
        finish_reason=None,
        usage=Usage(requests=1, estimated=True),
        reasoning=reply.reasoning or None,
        interrupted=True,
    )


async def _findings(rows: Sequence[ev.Event], step: OpenStep, editor: EditorPort) -> Mapping[str, str]:
    """What can be found out about the edits of started calls: the content hashes tell."""
    started = {call.call_id for call in step.calls if call.status == "started"}
    planned = {row.data.call_id: row.data for row in rows if isinstance(row.data, ev.EditPlanned)}
    return {call_id: await _finding(plan, editor) for call_id, plan in planned.items() if call_id in started}


async def _finding(plan: ev.EditPlanned, editor: EditorPort) -> str:
    present = await _digest(plan.new_uri if plan.kind == "rename" else plan.uri, editor)
    if present == plan.after:
        return f"The server stopped during this edit of {plan.uri}. Its content says: applied."
    if present == plan.before:
        return f"The server stopped during this edit of {plan.uri}. Its content says: not applied."
    return (
        f"The server stopped during this edit of {plan.uri}. Its content diverged: read it before you go on."
    )


async def _digest(uri: str | None, editor: EditorPort) -> str | None:
    """The digest of a file as it is now, empty if there is none, None if it cannot be told."""
    if uri is None:
        return None
    path = uri_path(uri)
    if path is None:
        return None
    try:
        document = await editor.read(path)
    except (ToolFailed, OSError, ValueError):
        return None
    return document.digest if document is not None else ""
