"""A session as Markdown that a tired person can read: who said what, what was done, how it ended. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from msgspec import UNSET

from steersman.domain import events as ev
from steersman.domain.messages import GoalSource, Human
from steersman.domain.usage import Usage
from steersman.domain.views import SessionInfo

_SHOWN_LINES: Final = 12
"""Lines of a result that are shown; the whole is in the log."""
_WIDEST: Final = 200
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_OUTCOMES: Final = {
    "ok": "",
    "aborted-before-dispatch": "not run",
    "not-started": "not run: the server had stopped",
    "unknown": "outcome unknown: the server had stopped",
}


class Transcript:
    """Takes a session's rows in order and grows its Markdown. Chunks say nothing that does not come again."""

    def __init__(self, info: SessionInfo) -> None:
        self._info = info
        self._parts: list[str] = []
        self._calls: dict[str, ev.ToolCalled] = {}

    def take(self, row: ev.StoredEvent) -> None:
        """Add what a row says to people. One that cannot be read says that."""
        if row.type == ev.CHUNK:
            return
        try:
            event = ev.from_stored(self._info.session_id, row)
        except ValueError:
            self._say(f"*Event {row.seq} ({row.type}) cannot be read.*")
            return
        teller = _TELLERS.get(type(event.data))
        if teller is not None:
            teller(self, event, event.data)

    def text(self) -> str:
        """The whole of it."""
        return without_controls("\n\n".join([*self._head(), *self._parts, *self._foot()]) + "\n")

    def _head(self) -> list[str]:
        info = self._info
        facts = [f"session `{info.session_id}`"]
        if info.created_at:
            facts.append(f"from {_time(info.created_at)} to {_time(info.updated_at)}")
        if info.workspace_folder:
            facts.append(f"in {info.workspace_folder}")
        if info.parent is not None:
            facts.append(f"forked from `{info.parent.session_id}` after event {info.parent.seq}")
        told = ", ".join(facts)
        return [f"# {_line(info.title)}", f"{told[:1].upper()}{told[1:]}."]

    def _foot(self) -> list[str]:
        info, parts = self._info, []
        waiting = [*info.queue.next_turn, *info.queue.next_step]
        if waiting:
            parts += ["## Still waiting", *(_quoted(message.text) for message in waiting)]
        if info.usage.requests:
            parts += ["---", _spent(info.usage)]
        if info.damaged is not None:
            seq, reason = info.damaged.seq, _line(info.damaged.reason)
            parts.append(f"**The log is damaged at event {seq}** ({reason}).")
        return parts

    def _say(self, text: str) -> None:
        self._parts.append(text)

    def turn_started(self, event: ev.Event, data: ev.TurnStart) -> None:
        by = ", a round of the goal" if data.trigger == "goal" else ""
        self._say(f"## Turn {data.turn}{by}")
        self._say(f"*{_time(event.time)}*")

    def turn_ended(self, event: ev.Event, data: ev.TurnEnd) -> None:
        told = _end(data.reason)
        if told:
            self._say(f"*{told}*")

    def told_the_model(self, event: ev.Event, data: ev.UserMessage) -> None:
        if isinstance(data.source, Human):
            attached = [f"> attached: {_line(item.uri)}" for item in data.context or ()]
            self._say("\n".join(["**You**", "", _quoted(data.text), *attached]))
        elif isinstance(data.source, GoalSource):
            self._say(f"**Goal**, round {data.source.round}")
        else:
            self._say(f"*Notice {data.source.name}:* {_line(data.text)}")

    def model_said(self, event: ev.Event, data: ev.AssistantMessage) -> None:
        if data.text:
            broken = " (interrupted)" if data.interrupted else ""
            self._say(f"**Steersman**{broken}\n\n{data.text.strip()}")

    def called(self, event: ev.Event, data: ev.ToolCalled) -> None:
        self._calls[data.call_id] = data

    def result(self, event: ev.Event, data: ev.ToolResult) -> None:
        call = self._calls.pop(data.call_id, None)
        name, arguments = (call.name, call.arguments) if call else ("a tool", "")
        outcome = _OUTCOMES.get(data.outcome, data.outcome)
        if data.error is not None:
            outcome = f"{outcome or 'error'} {data.error.code}".strip()
        told = f"- `{_code(name)}` `{_code(arguments)}`" + (f" – **{outcome}**" if outcome else "")
        self._say(told + ("\n\n" + _indented(_fenced(data.content)) if data.content else ""))

    def retried(self, event: ev.Event, data: ev.ModelRetry) -> None:
        why = f": {_line(data.message)}" if data.message else ""
        self._say(f"*The model did not answer ({data.code}{why}); tried again.*")

    def approval(self, event: ev.Event, data: ev.ApprovalAsked) -> None:
        self._say(f"**May it?** {_line(data.title)}")

    def decision(self, event: ev.Event, data: ev.ApprovalDecided) -> None:
        words = f": {_line(data.feedback)}" if data.feedback else ""
        self._say(f"*{data.decision} (by {data.by}){words}*")

    def question(self, event: ev.Event, data: ev.QuestionAsked) -> None:
        self._say(f"**Question** {_line(data.text)}")

    def answer(self, event: ev.Event, data: ev.QuestionAnswered) -> None:
        self._say(_quoted(data.answer) if data.answer is not None else f"*No answer ({data.by}).*")

    def goal(self, event: ev.Event, data: ev.GoalChanged) -> None:
        objective = f": {_line(data.goal.objective)}" if data.goal is not None else ""
        why = f" – {_line(data.reason)}" if data.reason else ""
        self._say(f"*Goal: {data.operation} by {data.by}{objective}{why}*")

    def verification(self, event: ev.Event, data: ev.GoalVerification) -> None:
        results = [f"- {r.kind} {r.check_id}: {r.status} – {_line(r.evidence)}" for r in data.results]
        self._say(
            "\n".join([f"*Checks ({data.phase}): {data.verdict}*", *(["", *results] if results else [])])
        )

    def compacted(self, event: ev.Event, data: ev.ContextCompacted) -> None:
        tokens = f"{data.tokens_before} to {data.tokens_after} tokens"
        self._say(f"*The conversation was made shorter for the model: {tokens}. All of it stays here.*")
        if data.summary:
            self._say(_quoted(data.summary))

    def not_compacted(self, event: ev.Event, data: ev.CompactionFailed) -> None:
        self._say(f"*{_line(data.reason)}*")

    def verdict(self, event: ev.Event, data: ev.ExitVerdict) -> None:
        if data.action != "continue":
            self._say(f"*{data.policy}: {_line(data.message)}*")


_TELLERS: Final[dict[type[ev.EventData], Callable[[Transcript, ev.Event, Any], None]]] = {
    ev.TurnStart: Transcript.turn_started,
    ev.TurnEnd: Transcript.turn_ended,
    ev.UserMessage: Transcript.told_the_model,
    ev.AssistantMessage: Transcript.model_said,
    ev.ToolCalled: Transcript.called,
    ev.ToolResult: Transcript.result,
    ev.ModelRetry: Transcript.retried,
    ev.ApprovalAsked: Transcript.approval,
    ev.ApprovalDecided: Transcript.decision,
    ev.QuestionAsked: Transcript.question,
    ev.QuestionAnswered: Transcript.answer,
    ev.GoalChanged: Transcript.goal,
    ev.GoalVerification: Transcript.verification,
    ev.ContextCompacted: Transcript.compacted,
    ev.CompactionFailed: Transcript.not_compacted,
    ev.ExitVerdict: Transcript.verdict,
}


def without_controls(text: str) -> str:
    """Text without the characters that would command a terminal."""
    return _CONTROLS.sub("", text)


def _end(reason: ev.EndReason) -> str:
    match reason:
        case ev.Completed():
            return ""
        case ev.AbortedReason(by=by):
            return f"Stopped (by {by})."
        case ev.ErrorReason(code=code, message=message):
            return f"Ended in an error: {_line(message)} ({code})"
        case ev.MaxTokens():
            return "The model's output limit was reached."
        case ev.Exit(policy=policy):
            return f"Ended by {policy}."
        case ev.Interrupted():
            return "Interrupted: the server had stopped."


def _spent(usage: Usage) -> str:
    about = "about " if usage.estimated else ""
    cost = f", cost {usage.cost:.4g}" if usage.cost is not UNSET else ""
    return (
        f"{usage.requests} requests, {about}{usage.input_tokens} tokens in "
        f"({usage.cached_input_tokens} cached), {usage.output_tokens} out{cost}, {usage.seconds:.0f} s."
    )


def _time(milliseconds: int) -> str:
    try:
        return f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (ValueError, OverflowError, OSError):
        return f"{milliseconds} ms"


def _line(text: str) -> str:
    """Text as one line that cannot end the sentence it stands in."""
    return " ".join(text.split())[:_WIDEST]


def _code(text: str) -> str:
    return _line(text).replace("`", "'") or " "


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.strip().splitlines() or [""])


def _fenced(content: str) -> str:
    """The first lines of a result, in a fence that nothing in it can close."""
    lines = content.rstrip().splitlines()
    shown: Sequence[str] = [line[:_WIDEST] for line in lines[:_SHOWN_LINES]]
    ticks = max((len(run) for run in re.findall("`+", "\n".join(shown))), default=0)
    fence = "`" * max(3, ticks + 1)
    more = [f"… {len(lines) - _SHOWN_LINES} more lines"] if len(lines) > _SHOWN_LINES else []
    return "\n".join([f"{fence}text", *shown, fence, *more])


def _indented(text: str) -> str:
    return "\n".join(f"  {line}".rstrip() for line in text.splitlines())
