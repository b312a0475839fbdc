"""What must hold of a whole log (loop.md, "What must hold under random schedules"), told from its rows alone.

Written from the rules, not from the product's fold: it keeps its own small books of queues and calls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from steersman.domain import events as ev
from steersman.domain.fold import empty, fold
from steersman.domain.messages import Human
from steersman.domain.state import SessionState


def broken_by(
    session_id: str,
    rows: Sequence[ev.StoredEvent],
    words: Mapping[str, tuple[str, str]],
    bodies: Mapping[str, int],
) -> list[str]:
    """Which of the promises this log breaks; empty if all hold.

    `words` are the acknowledged messages by id, `bodies` how often the body of each call ran.
    """
    events = [ev.from_stored(session_id, row) for row in rows]
    return [
        *_sequence(events),
        *_messages(events, words),
        *_numbers(events),
        *_calls(events, bodies),
    ]


def _sequence(events: Sequence[ev.Event]) -> Iterable[str]:
    if [event.seq for event in events] != list(range(1, len(events) + 1)):
        yield "the seqs have a gap"
    times = [event.time for event in events]
    if times != sorted(times):
        yield "time goes back"


class _Queues:
    """The two queues, kept by hand. `told` counts what reached the model."""

    def __init__(self) -> None:
        self.waiting: dict[str, list[str]] = {"next-turn": [], "next-step": []}
        self.claimed: list[str] = []
        self.told: Counter[str] = Counter()
        self.removed: set[str] = set()
        self.queued: dict[str, ev.InboxQueued] = {}
        self.wrong: list[str] = []

    def take(self, data: ev.EventData) -> None:
        match data:
            case ev.InboxQueued():
                if data.message_id in self.queued:
                    self.wrong.append(f"{data.message_id} was queued twice")
                self.queued[data.message_id] = data
                self.waiting[data.queue].append(data.message_id)
            case ev.InboxClaimed():
                self._claim(data.message_ids)
            case ev.InboxRemoved():
                self._leave([data.message_id])
                self.removed.add(data.message_id)
            case ev.InboxMoved():
                self._leave(data.message_ids)
                self.waiting[data.queue][:0] = data.message_ids
            case ev.UserMessage() if isinstance(data.source, Human):
                self.told[data.message_id] += 1
                if self.claimed[:1] != [data.message_id]:
                    self.wrong.append(f"{data.message_id} was told out of order")
                self.claimed = [m for m in self.claimed if m != data.message_id]
            case ev.UserMessage() if data.message_id in self.claimed:
                self.claimed.remove(data.message_id)
            case ev.StepEnd() if self.claimed:
                self.wrong.append(f"{self.claimed} were claimed and not told")

    def _claim(self, ids: list[str]) -> None:
        """From the front of next-turn, where people go before rounds; next-step goes whole and in order."""
        turns = [m for m in ids if m in self.waiting["next-turn"]]
        people = [m for m in self.waiting["next-turn"] if isinstance(self.queued[m].source, Human)]
        first = (people or self.waiting["next-turn"])[: len(turns)]
        after_stop = [m for m in people if self._said_after_stop(m)][: len(turns)]
        if turns not in (first, after_stop):
            self.wrong.append(f"{turns} went before {people}")
        in_step = [m for m in ids if m in self.waiting["next-step"]]
        if in_step != self.waiting["next-step"][: len(in_step)]:
            self.wrong.append(f"next-step was claimed out of order: {in_step}")
        self._leave(ids)
        self.claimed += ids

    def _said_after_stop(self, message_id: str) -> bool:
        """Such a steer starts its turn at the end of the stopped one, ahead of what the stop held."""
        queued = self.queued[message_id]
        return queued.method == "turn/steer" and queued.outcome == "queued"

    def _leave(self, ids: list[str]) -> None:
        for message_id in ids:
            held = [queue for queue in self.waiting.values() if message_id in queue]
            if not held:
                self.wrong.append(f"{message_id} did not wait")
                continue
            held[0].remove(message_id)


def _messages(events: Sequence[ev.Event], words: Mapping[str, tuple[str, str]]) -> Iterable[str]:
    """1: no accepted message is lost, doubled, or reordered within its queue."""
    queues = _Queues()
    for event in events:
        queues.take(event.data)
    yield from queues.wrong
    waiting = {*queues.waiting["next-turn"], *queues.waiting["next-step"], *queues.claimed}
    for message_id, (text, outcome) in words.items():
        queued = queues.queued.get(message_id)
        if queued is None:
            yield f"the acknowledged {message_id} is not in the log"
            continue
        if (queued.text, queued.outcome) != (text, outcome):
            yield f"{message_id} is in the log as something else"
        places = [queues.told[message_id] > 0, message_id in waiting, message_id in queues.removed]
        if sum(places) != 1 or queues.told[message_id] > 1:
            yield f"{message_id} is lost or doubled: told {queues.told[message_id]}, {places}"


def _numbers(events: Sequence[ev.Event]) -> Iterable[str]:
    """2: turn and step numbers have no gap; each that was opened is closed exactly once."""
    turn, step, turns = 0, 0, 0
    for event in events:
        match event.data:
            case ev.TurnStart(turn=number):
                if turn or number != turns + 1:
                    yield f"turn {number} opened in {turn} behind {turns}"
                turn, step, turns, steps = number, 0, number, 0
            case ev.StepStart(step=number):
                if step or number != steps + 1:
                    yield f"step {number} opened in {step} behind {steps}"
                step, steps = number, number
            case ev.StepEnd(step=number):
                if number != step:
                    yield f"step {number} closed in {step}"
                step = 0
            case ev.TurnEnd(turn=number):
                if number != turn or step:
                    yield f"turn {number} closed in {turn}, step {step}"
                turn = 0
    if turn or step:
        yield f"turn {turn}, step {step} is still open"


def _calls(events: Sequence[ev.Event], bodies: Mapping[str, int]) -> Iterable[str]:
    """3 and 5: one result a call, in the model's order; no body ran twice, or without its start."""
    asked: list[str] = []
    logged: list[str] = []
    started: set[str] = set()
    results: dict[str, str] = {}
    for event in events:
        match event.data:
            case ev.AssistantMessage(tool_calls=calls):
                asked += [call.call_id for call in calls]
            case ev.ToolCalled(call_id=call_id):
                logged.append(call_id)
            case ev.ToolStart(call_id=call_id):
                if call_id in started or call_id not in logged:
                    yield f"{call_id} started twice, or before its call"
                started.add(call_id)
            case ev.ToolResult(call_id=call_id, outcome=outcome):
                if call_id in results:
                    yield f"{call_id} has two results"
                results[call_id] = outcome
    if not asked == logged == list(results):
        yield f"calls and results differ: asked {asked}, logged {logged}, results {list(results)}"
    for call_id, count in bodies.items():
        if count > 1 or call_id not in started:
            yield f"the body of {call_id} ran {count} times, started: {call_id in started}"
        if results.get(call_id) in ("not-started", "aborted-before-dispatch", "denied"):
            yield f"{call_id} ran and is told as {results[call_id]}"


def folded(
    session_id: str, rows: Sequence[ev.StoredEvent], live: Mapping[int, SessionState], last: SessionState
) -> list[str]:
    """4: the fold of every prefix equals the state that was live then, and of all rows the `last` one."""
    wrong = []
    state = empty(session_id)
    for row in rows:
        state = fold(state, ev.from_stored(session_id, row))
        if row.seq in live and state != live[row.seq]:
            wrong.append(f"the fold differs from the live state at {row.seq}")
    if state != last:
        wrong.append(f"the state {last.last_seq} is not that of the log, which ends at {state.last_seq}")
    return wrong
