"""The transcript on a terminal, and questions to the person at it.

What models, files and tools say is shown as plain text: no markup, no control characters reach the terminal.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import unquote

from rich.console import Console
from rich.status import Status
from rich.text import Text

from steersman.headless.keyboard import forget_typed, typed_line

# Control characters, halves of surrogate pairs, other line ends, and what turns the direction of text round.
_UNSAFE: Final = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)
_LINE: Final = 100
_EVIDENCE_LINES: Final = 8
_OUTCOMES: Final = {"ok": "green", "denied": "yellow", "aborted": "yellow"}


def safe(text: object) -> str:
    """Text in which nothing steers the terminal or hides what it says: such characters show as U+FFFD."""
    return _UNSAFE.sub("\ufffd", str(text).replace("\r\n", "\n"))


def one_line(text: object) -> str:
    flat = " ".join(safe(text).split())
    return flat if len(flat) <= _LINE else f"{flat[: _LINE - 1]}…"


class Transcript:
    """Prints durable events as they come. It shows; it decides nothing."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._calls: dict[str, str] = {}
        self._in_text = False
        self._busy: Status | None = None
        self.receipts: list[Mapping[str, Any]] = []

    def event(self, event: Mapping[str, Any]) -> None:
        """Show one event."""
        show = _SHOW.get(event["type"])
        if show is not None:
            show(self, event["data"])

    def line(self, text: str, style: str = "") -> None:
        """A line of its own, whatever streamed before it."""
        self._show_busy(None)
        if self._in_text:
            self._console.print(soft_wrap=True)
            self._in_text = False
        self._console.print(Text(safe(text), style=style), soft_wrap=True)

    def _user(self, data: Mapping[str, Any]) -> None:
        if data["source"]["kind"] == "human":
            self.line(f"> {data['text']}", "bold")
        elif data["source"]["kind"] == "notice":
            self.line(f"· {data['source']['name']}: {one_line(data['text'])}", "dim")

    def _chunk(self, data: Mapping[str, Any]) -> None:
        self._show_busy(None)
        text = "".join(delta.get("text") or "" for delta in data["deltas"])
        if text:
            self._console.print(Text(safe(text)), end="", soft_wrap=True)
            self._in_text = not text.endswith("\n")

    def _called(self, data: Mapping[str, Any]) -> None:
        self._calls[data["callId"]] = f"{data['name']} {_main_argument(data['arguments'])}".rstrip()

    def _started(self, data: Mapping[str, Any]) -> None:
        self._show_busy(self._calls.get(data["callId"], "tool"))

    def _result(self, data: Mapping[str, Any]) -> None:
        outcome = data["outcome"]
        took = f" · {data['durationMs']} ms" if data.get("durationMs") is not None else ""
        self.line(
            f"● {self._calls.get(data['callId'], 'tool')} – {outcome}{took}", _OUTCOMES.get(outcome, "red")
        )
        if outcome != "ok":
            self.line(f"  {one_line(data['content'])}", "dim")

    def _edited(self, data: Mapping[str, Any]) -> None:
        name = unquote(data["uri"]).rpartition("/")[2]
        self.line(f"  {data['kind']} {name}: +{data.get('added', 0)} -{data.get('removed', 0)}", "dim")

    def _receipt(self, data: Mapping[str, Any]) -> None:
        self.receipts.append(data)
        self.line(f"  {receipt_line(data)}", "green" if data["status"] == "passed" else "red")

    def _retry(self, data: Mapping[str, Any]) -> None:
        seconds = data["delayMs"] / 1000
        self.line(
            f"↻ {data['code']}: trying again in {seconds:g} s. {one_line(data.get('message', ''))}", "yellow"
        )

    def _compacted(self, data: Mapping[str, Any]) -> None:
        tokens = f"{data['tokensBefore']} to {data['tokensAfter']} tokens"
        self.line(f"≡ the conversation was made shorter for the model: {tokens}", "yellow")

    def _not_compacted(self, data: Mapping[str, Any]) -> None:
        self.line(f"≡ {one_line(data['reason'])}", "yellow")

    def _decided(self, data: Mapping[str, Any]) -> None:
        self.line(f"  approval: {data['decision']} (by {data['by']})", "yellow")

    def _asked(self, data: Mapping[str, Any]) -> None:
        self.line(f"? {data['title']} ({data['risk']})", "yellow")

    def _verdict(self, data: Mapping[str, Any]) -> None:
        self.line(f"! {data['message']}", "yellow")

    def _verified(self, data: Mapping[str, Any]) -> None:
        for result in data["results"]:
            passed = result["status"] == "pass"
            what = f"check {result['checkId']}: {result['status']} – {one_line(result['evidence'])}"
            self.line(f"{'✓' if passed else '✗'} {what}", "green" if passed else "red")
            if not passed:
                for line in result["evidence"].splitlines()[1:][-_EVIDENCE_LINES:]:
                    self.line(f"  {line}", "dim")

    def _goal(self, data: Mapping[str, Any]) -> None:
        phase = (data["goal"] or {}).get("phase", "cleared")
        why = f": {one_line(data['reason'])}" if data.get("reason") else ""
        self.line(f"◎ goal {phase} ({data['operation']} by {data['by']}){why}", "bold")

    def _round(self, data: Mapping[str, Any]) -> None:
        if data["status"] == "admitted":
            self.line(f"◎ round {data['round']}", "bold")

    def _end(self, data: Mapping[str, Any]) -> None:
        self.line(f"■ turn {data['turn']}: {reason_text(data['reason'])}", "bold")

    def _show_busy(self, what: str | None) -> None:
        """On a terminal, tell what runs now until the next line; elsewhere its result is told in time."""
        if self._busy is not None:
            self._busy.stop()
            self._busy = None
        if what is not None and self._console.is_terminal and not self._in_text:
            self._busy = self._console.status(Text(f"{what} …", no_wrap=True, overflow="ellipsis"))
            self._busy.start()


_SHOW: Final = {
    "user/message": Transcript._user,
    "assistant/chunk": Transcript._chunk,
    "tool/call": Transcript._called,
    "tool/start": Transcript._started,
    "tool/result": Transcript._result,
    "edit/applied": Transcript._edited,
    "tests/receipt": Transcript._receipt,
    "model/retry": Transcript._retry,
    "context/compacted": Transcript._compacted,
    "compaction/failed": Transcript._not_compacted,
    "approval/asked": Transcript._asked,
    "approval/decided": Transcript._decided,
    "exit/verdict": Transcript._verdict,
    "goal/verification": Transcript._verified,
    "goal/change": Transcript._goal,
    "goal/round": Transcript._round,
    "turn/end": Transcript._end,
}


def receipt_line(receipt: Mapping[str, Any]) -> str:
    """A test receipt in one line."""
    counts = receipt["counts"]
    return (
        f"tests {receipt['status']}: {counts['passed']} passed, {counts['failed']} failed, "
        f"{counts['errors']} errors, {counts['skipped']} skipped (exit code {receipt['exitCode']}, "
        f"{receipt['durationMs']} ms, run by the {receipt['runner']})"
    )


def reason_text(reason: Mapping[str, Any]) -> str:
    """Why a turn ended, for people."""
    match reason["kind"]:
        case "completed":
            return "completed"
        case "aborted":
            return f"stopped by {reason['by']}"
        case "error":
            return f"failed ({reason['code']}): {reason['message']}"
        case "max-tokens":
            return "the model's output limit cut its answer"
        case "exit":
            return f"ended by the policy {reason['policy']!r}"
        case other:
            return str(other)


def _main_argument(arguments: str) -> str:
    try:
        value = json.loads(arguments or "{}")
    except ValueError:
        return ""
    for name in ("path", "argv", "pattern", "query", "url"):
        if isinstance(value, dict) and name in value:
            main = value[name]
            return one_line(" ".join(map(str, main)) if isinstance(main, list) else main)
    return ""


class Person:
    """Asks for approvals on the terminal. Without one every ask is denied at once, and `absent` says so."""

    def __init__(self, transcript: Transcript, *, present: bool) -> None:
        self._transcript = transcript
        self.present = present
        self.absent = False

    async def approve(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to `steersman/approval/request`."""
        if not self.present:
            self.absent = True
            return {"decision": "deny", "feedback": "Nobody is there to ask: the run has no terminal."}
        forget_typed()
        self._transcript.line(f"{asked['title']}  [risk: {asked['risk']}]", "bold yellow")
        self._transcript.line(asked["detail"])
        command = shlex.join(asked.get("argv") or ())
        if command not in asked["detail"]:
            self._transcript.line(f"$ {command}")
        once_only = asked["risk"] == "destructive"
        session = "" if once_only else "allow for this [s]ession, "
        self._transcript.line(f"[a]llow once, {session}[d]eny – or say why not:", "yellow")
        return decision_of(await typed_line(), once_only=once_only)

    async def answer(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to `steersman/question/ask`: the line as it was typed; none for an empty one."""
        forget_typed()
        self._transcript.line(asked["text"], "bold yellow")
        choices = asked.get("choices") or []
        for number, choice in enumerate(choices, 1):
            self._transcript.line(f"  {number}. {choice}")
        self._transcript.line("A number, or your own words:" if choices else "Your words:", "yellow")
        return {"answer": answer_of(await typed_line(), choices)}


def answer_of(line: str, choices: Sequence[str]) -> str | None:
    """What a person's line answers: the choice of that number, else their own words."""
    words = line.strip()
    if words.isdecimal() and 1 <= int(words) <= len(choices):
        return choices[int(words) - 1]
    return words or None


def decision_of(line: str, *, once_only: bool) -> dict[str, Any]:
    """What a person's line decides. Only an exact word allows; any other words deny, and are passed on."""
    words = line.strip()
    match words.lower():
        case "a" | "allow":
            return {"decision": "allowOnce"}
        case "s" | "session" if not once_only:
            return {"decision": "allowSession"}
    first, _, rest = words.partition(" ")
    said = rest.strip() if first.lower() in ("d", "deny") else words
    return {"decision": "deny", "feedback": said} if said else {"decision": "deny"}
