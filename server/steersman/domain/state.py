"""The state of a session, folded from its events and from nothing else.

Activation, `waitingOn` and `readOnly` are deliberately not here: they live only in the process.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from pyrsistent import PMap, PVector, pmap, pvector

from steersman.domain.checks import Check
from steersman.domain.events import (
    ApprovalAsked,
    CallMode,
    EndReason,
    ExitVerdict,
    GoalVerification,
    Mode,
    Parent,
    QuestionAsked,
    RequestHeader,
)
from steersman.domain.goal import By, Goal
from steersman.domain.messages import (
    ContextItem,
    GoalSource,
    HeldReason,
    Human,
    Outcome,
    QueuedMessage,
    Source,
    ToolCall,
)
from steersman.domain.task import TaskState
from steersman.domain.usage import Usage, add


class Frozen(msgspec.Struct, frozen=True, kw_only=True):
    """Base of folded values; they are never encoded."""


class Waiting(Frozen, frozen=True):
    """A message in one of the two queues. `queued_at` is in milliseconds since the epoch."""

    message_id: str
    text: str
    source: Source
    queued_at: int
    context: list[ContextItem] | None = None
    checks: list[Check] | None = None

    @property
    def is_human(self) -> bool:
        return isinstance(self.source, Human)

    def view(self) -> QueuedMessage:
        return QueuedMessage(
            message_id=self.message_id, text=self.text, source=self.source, queued_at=self.queued_at
        )


class MessageReceipt(Frozen, frozen=True):
    """What a message id was first answered with; the same id is answered so for ever."""

    method: str
    text: str
    outcome: Outcome
    turn: int | None


class Inbox(Frozen, frozen=True):
    """Two queues, and whether the first is held. An empty queue is never held."""

    next_turn: tuple[Waiting, ...] = ()
    next_step: tuple[Waiting, ...] = ()
    held: HeldReason | None = None
    receipts: PMap[str, MessageReceipt] = pmap()

    def find(self, message_id: str) -> Waiting | None:
        for message in (*self.next_turn, *self.next_step):
            if message.message_id == message_id:
                return message
        return None

    @property
    def people_wait(self) -> bool:
        """Whether a person's message waits, held or not: it goes before every round."""
        return any(m.is_human for m in (*self.next_turn, *self.next_step))

    @property
    def human_steers(self) -> tuple[Waiting, ...]:
        return tuple(m for m in self.next_step if m.is_human)


class OpenCall(Frozen, frozen=True):
    """A logged call of the open step."""

    call_id: str
    name: str
    arguments: str
    mode: CallMode
    status: Literal["called", "started", "done"] = "called"


class OpenStep(Frozen, frozen=True):
    """The step in work. `announced` are the calls of the model's reply, `calls` those logged so far.

    `first_seq` is the event that started it.
    """

    number: int
    first_seq: int = 0
    usage: Usage = Usage()
    replied: bool = False
    announced: tuple[ToolCall, ...] = ()
    calls: tuple[OpenCall, ...] = ()
    retries: int = 0

    @property
    def unlogged(self) -> tuple[ToolCall, ...]:
        return self.announced[len(self.calls) :]

    @property
    def unanswered(self) -> tuple[OpenCall, ...]:
        return tuple(c for c in self.calls if c.status != "done")


class PendingRound(Frozen, frozen=True):
    """A goal round that is not admitted yet: its message waits in next-turn, and a person goes before it."""

    source: GoalSource
    message_id: str
    claimed: bool = False


class Blocker(Frozen, frozen=True):
    """An obstacle that the model reported: the last round in which it did, and in how many in a row."""

    round: int
    consecutive: int


class GoalRecord(Frozen, frozen=True):
    """What the log says of goals. `current` is the goal, unless it was cleared; ids are never used again."""

    current: Goal | None = None
    used_ids: PMap[str, bool] = pmap()
    pending: PendingRound | None = None
    blockers: PMap[str, Blocker] = pmap()
    """By their folded keys."""
    verification: GoalVerification | None = None
    changed_by: By | None = None
    asked_since: int = 0
    """The revision since which the goal asks what it asks now: a round of an earlier one cannot end it."""
    closing: bool = False
    """The model has just completed or blocked the goal: one instruction to tell the person is due."""
    signatures: PMap[str, bool] = pmap()
    changed: PMap[str, bool] = pmap()
    """URIs of the files that were changed since the goal began, and are there."""
    failing: tuple[str, int, frozenset[str]] | None = None
    """What the last test run found: its status, how many failed, and which (as far as they were told)."""
    progressed: bool = False
    """The round in work changed something: a file, or it called what was never called before."""
    idle_rounds: int = 0
    failing_rounds: int = 0
    edited: bool = False
    """The objective was edited since the last round."""
    usage: Usage = Usage()
    steps: int = 0


class EndedTurn(Frozen, frozen=True):
    """The turn that ended last, and why."""

    number: int
    reason: EndReason
    round: GoalSource | None
    verdict: ExitVerdict | None = None


class OpenTurn(Frozen, frozen=True):
    """The turn in work. `step` is the number of its last step, `claimed` what the next messages must be.

    `round` is the goal round that started it; `human_step` the first step that showed a person's message;
    `unanswered` says that a person was asked and the deadline came first; `verdict` is the last judgement
    of a policy.
    """

    number: int
    trigger: Literal["human", "goal"]
    started_at: int
    step: int = 0
    open_step: OpenStep | None = None
    claimed: tuple[Waiting, ...] = ()
    checks: tuple[Check, ...] = ()
    failed_checks: int = 0
    cut_replies: int = 0
    round: GoalSource | None = None
    human_step: int | None = None
    unanswered: bool = False
    failed_compactions: int = 0
    verdict: ExitVerdict | None = None


class UserEntry(Frozen, frozen=True):
    """Something the model was told. `seq` is the number of its event, here as in all entries."""

    text: str
    source: Source
    context: list[ContextItem] | None = None
    seq: int = 0


class AssistantEntry(Frozen, frozen=True):
    """A reply. `model` is the one that gave it, `reasoning_field` how it wants its reasoning back."""

    text: str
    tool_calls: tuple[ToolCall, ...]
    model: str
    reasoning: str | None = None
    reasoning_field: str | None = None
    seq: int = 0


class ResultEntry(Frozen, frozen=True):
    """The result of a call, as the model sees it."""

    call_id: str
    content: str
    seq: int = 0


Entry = UserEntry | AssistantEntry | ResultEntry


class Compaction(Frozen, frozen=True):
    """What stands in requests for the conversation up to `through_seq` (see ContextCompacted).

    `words` are people's messages in it, oldest first.
    """

    through_seq: int = 0
    summary: str = ""
    words: tuple[UserEntry, ...] = ()
    words_limit: int = 0
    results_through_seq: int = 0


class SessionState(Frozen, frozen=True):
    """Everything that the log says. Times are milliseconds since the epoch."""

    session_id: str
    last_seq: int = 0
    last_time: int = 0
    created_at: int = 0
    opened: bool = False
    workspace_folder: str | None = None
    title: str = ""
    first_words: str = ""
    parent: Parent | None = None
    model: str | None = None
    mode: Mode = "agent"
    inbox: Inbox = Inbox()
    turns: int = 0
    turn: OpenTurn | None = None
    last_turn: EndedTurn | None = None
    history: PVector[Entry] = pvector()
    """What a request holds: everything said since the last compaction's `through_seq`."""
    compaction: Compaction | None = None
    header: RequestHeader | None = None
    call_ids: PMap[str, bool] = pmap()
    approval: ApprovalAsked | None = None
    question: QuestionAsked | None = None
    allowed: frozenset[str] = frozenset()
    seen: PMap[str, str] = pmap()
    usage: Usage = Usage()
    context_tokens: int = 0
    """Of the last request and its reply, as far as the entries up to `measured_seq`."""
    context_estimated: bool = False
    measured_seq: int = 0
    window_told: bool = False
    """The person was told that the size of the model's window is not known."""
    round_told: UserEntry | None = None
    """The message of the last goal round: it carries the objective as it was then."""
    task: TaskState = "IDLE"
    goals: GoalRecord = GoalRecord()

    @property
    def goal(self) -> Goal | None:
        """The current goal, as the log has it (whether it is armed only the process knows)."""
        return self.goals.current

    @property
    def step(self) -> OpenStep | None:
        """The open step, if there is one."""
        return self.turn.open_step if self.turn else None

    @property
    def usage_so_far(self) -> Usage:
        """Usage with the open step's part."""
        step = self.step
        return add(self.usage, step.usage) if step else self.usage
