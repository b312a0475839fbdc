"""The transcript on a terminal, and questions to the person at it.

What models, files and tools say is shown as plain text: no markup, no control characters reach the terminal.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from typing import Any, Final

from rich.console import Console
from rich.text import Text

_KEEP: Final = {"\n", "\t"}
_LINE: Final = 100
_OUTCOMES: Final = {"ok": "green", "denied": "yellow", "aborted": "yellow"}


def safe(text: object) -> str:
    """Text without control characters: what a file or a model says must not steer the terminal."""
    return "".join(c if c in _KEEP or c.isprintable() else "\ufffd" for c in str(text))


def one_line(text: object) -> str:
    flat = " ".join(safe(text).split())
    return flat if len(flat) <= _LINE else f"{flat[: _LINE - 1]}…"


class Transcript:
    """Prints durable events as they come. It shows; it decides nothing."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._calls: dict[str, str] = {}
        self._in_text = False
        self.receipts: list[Mapping[str, Any]] = []

    def event(self, event: Mapping[str, Any]) -> None:
        """Show one event."""
        show = _SHOW.get(event["type"])
        if show is not None:
            show(self, event["data"])

    def line(self, text: str, style: str = "") -> None:
        """A line of its own, whatever streamed before it."""
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
        for delta in data["deltas"]:
            if delta.get("text"):
                self._console.print(Text(safe(delta["text"])), end="", soft_wrap=True)
                self._in_text = True

    def _called(self, data: Mapping[str, Any]) -> None:
        self._calls[data["callId"]] = f"{data['name']} {_main_argument(data['arguments'])}".rstrip()

    def _result(self, data: Mapping[str, Any]) -> None:
        outcome = data["outcome"]
        took = f" · {data['durationMs']} ms" if data.get("durationMs") is not None else ""
        self.line(
            f"● {self._calls.get(data['callId'], 'tool')} – {outcome}{took}", _OUTCOMES.get(outcome, "red")
        )
        if outcome != "ok":
            self.line(f"  {one_line(data['content'])}", "dim")

    def _receipt(self, data: Mapping[str, Any]) -> None:
        self.receipts.append(data)
        self.line(f"  {receipt_line(data)}", "green" if data["status"] == "passed" else "red")

    def _retry(self, data: Mapping[str, Any]) -> None:
        seconds = data["delayMs"] / 1000
        self.line(
            f"↻ {data['code']}: trying again in {seconds:g} s. {one_line(data.get('message', ''))}", "yellow"
        )

    def _decided(self, data: Mapping[str, Any]) -> None:
        self.line(f"  approval: {data['decision']} (by {data['by']})", "yellow")

    def _asked(self, data: Mapping[str, Any]) -> None:
        self.line(f"? {data['title']} ({data['risk']})", "yellow")

    def _verdict(self, data: Mapping[str, Any]) -> None:
        self.line(f"! {data['message']}", "yellow")

    def _verified(self, data: Mapping[str, Any]) -> None:
        for result in data["results"]:
            style = "green" if result["status"] == "pass" else "red"
            self.line(
                f"✓ check {result['checkId']}: {result['status']} – {one_line(result['evidence'])}", style
            )

    def _end(self, data: Mapping[str, Any]) -> None:
        self.line(f"■ turn {data['turn']}: {reason_text(data['reason'])}", "bold")


_SHOW: Final = {
    "user/message": Transcript._user,
    "assistant/chunk": Transcript._chunk,
    "tool/call": Transcript._called,
    "tool/result": Transcript._result,
    "tests/receipt": Transcript._receipt,
    "model/retry": Transcript._retry,
    "approval/asked": Transcript._asked,
    "approval/decided": Transcript._decided,
    "exit/verdict": Transcript._verdict,
    "goal/verification": Transcript._verified,
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
        self._present = present
        self.absent = False

    async def approve(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to `steersman/approval/request`."""
        if not self._present:
            self.absent = True
            return {"decision": "deny", "feedback": "Nobody is there to ask: the run has no terminal."}
        self._transcript.line(f"{asked['title']}  [risk: {asked['risk']}]", "bold yellow")
        self._transcript.line(asked["detail"])
        session = "" if asked["risk"] == "destructive" else "allow for this [s]ession, "
        self._transcript.line(f"[a]llow once, {session}[d]eny – or say why not:", "yellow")
        words = (await read_line()).strip()
        match words.lower():
            case "a" | "allow":
                return {"decision": "allowOnce"}
            case "s" | "session" if session:
                return {"decision": "allowSession"}
            case "d" | "deny" | "":
                return {"decision": "deny"}
            case _:
                return {"decision": "deny", "feedback": words}


async def read_line() -> str:
    """A line from the terminal, without a thread that nothing could interrupt. Empty at its end."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    descriptor = sys.stdin.fileno()
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)
    return sys.stdin.readline()
