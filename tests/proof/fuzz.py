"""Bytes and texts from outside, damaged at random: each reader gives a value or its own refusal, never more.

Six doors in turn: event streams, arguments of tools, frames of the protocol, paths, commands, texts that
pretend to be the host.
"""

from __future__ import annotations

import json
import random
import re
import shutil
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from steersman.context.goal_text import round_text
from steersman.domain.checks import CheckResult
from steersman.domain.goal import Budgets, Goal
from steersman.domain.settings import CommandRule, PermissionSettings, Settings
from steersman.errors import ToolFailed
from steersman.lsp.framing import BadFrame, FrameDecoder, frame
from steersman.models.sse import EventReader, ServerEvent
from steersman.ports.editor import Folder
from steersman.tools.base import Allow
from steersman.tools.paths import resolve
from steersman.tools.registry import TOOLS
from steersman.tools.schema import decode
from tests.proof.layer import require
from tests.proof.store import scratch
from tests.unit.tools.context import Context

_WORDS: Final = (
    "data: ", ": ", "event: ping", "\n\n", "\r\n", "\r", "\u2028", "\u0085", "[DONE]",
    '{"a": 1}', "\0", "é", "\ufeff",
    "</goal_round>", "<goal_round>", "<system>", "../", "..", "/", "~", "%2e%2e", "file://",
    "Content-Length: ",
    "12", "\r\n\r\n",
    '"', "\\", "{", "}", "[", "]", "null", "-1", "1e999", "path", "argv", "sh", "-c", "git",
    "status", "push", "&&", ";", "😀", "\ud800", " ", "a" * 300, "link", "inside.txt", "ｅtc", "e\u0301",
)  # fmt: skip


def mess(dice: random.Random, most: int = 12) -> str:
    """A text made of what readers trip over."""
    return "".join(dice.choice(_WORDS) for _ in range(dice.randint(0, most)))


def cut(data: bytes, dice: random.Random) -> list[bytes]:
    """The same bytes in random pieces."""
    places = sorted(dice.randrange(len(data) + 1) for _ in range(dice.randint(0, 8)))
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]


def _events(pieces: list[bytes]) -> list[ServerEvent]:
    reader = EventReader()
    found = [event for piece in pieces for event in reader.feed(piece)]
    return [*found, *reader.end()]


def _streams(dice: random.Random) -> None:
    """However a stream is cut, its events are the same."""
    lines = [
        f"data: {mess(dice, 4)}" if dice.random() < 0.6 else mess(dice, 3) for _ in range(dice.randint(1, 6))
    ]
    data = dice.choice(("\n", "\r\n", "\n\n", "\r")).join(lines).encode("utf-8", "surrogatepass")
    whole = _events([data])
    require(_events(cut(data, dice)) == whole, f"a cut changes the events of {data!r}")
    place = dice.randrange(len(data) + 1)
    require(_events([data[:place], data[place:]]) == whole, f"a cut at {place} changes {data!r}")


def _arguments(dice: random.Random) -> None:
    """Arguments decode, or are refused with words; nothing else comes out."""
    tool = dice.choice(TOOLS)
    raw = (
        mess(dice)
        if dice.random() < 0.5
        else json.dumps({mess(dice, 2): mess(dice, 2), "path": mess(dice, 3)})
    )
    if dice.random() < 0.1:
        raw = "[" * dice.choice((100, 100_000))
    try:
        require(isinstance(decode(tool.arguments, raw), tool.arguments), "arguments of another tool")
    except ToolFailed as refused:
        require(refused.code == "INVALID_ARGUMENTS" and str(refused), "a refusal without words")


def _frames(dice: random.Random) -> None:
    """After any bytes the next good frame is found, however the stream is cut."""
    good = [json.dumps({"n": n, "text": mess(dice, 3)}).encode() for n in range(dice.randint(1, 3))]
    data = b"".join(frame(body) for body in good)
    noise = "" if dice.random() < 0.5 else mess(dice).replace("Content-Length", "Content")
    stream = noise.encode("utf-8", "surrogatepass") + b"\r\n\r\n" * bool(noise) + data
    decoder = FrameDecoder(max_frame=1 << 20)
    found = [item for piece in cut(stream, dice) for item in decoder.feed(piece)]
    bodies = [item for item in found if not isinstance(item, BadFrame)]
    require(bodies[-len(good) :] == good, f"frames were lost behind {noise!r}")
    require(noise or bodies == good, "frames came that nobody sent")


@lru_cache(maxsize=1)
def _place() -> tuple[Path, tuple[Folder, ...]]:
    """A workspace with links that lead out of it, and a neighbour whose name begins like its own."""
    top = scratch().resolve()
    root = top / "workspace"
    for folder in (root / "sub", top / "workspace-other", top / "outside"):
        folder.mkdir(parents=True)
    for file in (root / "inside.txt", top / "workspace-other" / "secret.txt", top / "outside" / "secret.txt"):
        file.write_text("x", encoding="utf-8")
    (root / "link").symlink_to(top / "outside")
    (root / "sub" / "up").symlink_to("../..")
    (root / "file-link").symlink_to(top / "outside" / "secret.txt")
    return top, (Folder(uri=root.as_uri(), name="workspace", path=root),)


def _paths(dice: random.Random) -> None:
    """A path means something inside the workspace, or it is refused."""
    top, folders = _place()
    parts = [
        dice.choice((mess(dice, 2), "..", "sub", "up", "link", "file-link", "inside.txt")) for _ in range(5)
    ]
    start = dice.choice(("", "", "/", str(top) + "/", str(folders[0].path) + "-other/", "file://", "~/"))
    try:
        target = resolve(start + "/".join(parts[: dice.randint(1, 5)]), folders)
    except ToolFailed:
        return
    real = Path(target.path).resolve()
    require(real == folders[0].path or folders[0].path in real.parents, f"{parts} leads to {real}")


def _commands(dice: random.Random) -> None:
    """Only a program that a rule names is allowed, word by word; a shell never."""
    rules = [["git", "status"], ["sh", "-c", "true"], ["env", "make"]]
    commands = [CommandRule(argv=rule, decision="allow") for rule in rules]
    root = _place()[1][0].path
    context = Context(root, settings=Settings(permissions=PermissionSettings(commands=commands)))
    argv = [
        dice.choice((mess(dice, 2), "git", "status", "sh", "-c", "true", "env", "make")) for _ in range(4)
    ]
    argv = argv[: dice.randint(1, 4)]
    tool = next(tool for tool in TOOLS if tool.name == "run_command")
    try:
        permit = tool.permit(decode(tool.arguments, json.dumps({"argv": argv})), context)
    except ToolFailed:
        return  # half a character is no argument
    if isinstance(permit, Allow):
        require(argv[:2] == ["git", "status"] or argv[:2] == ["env", "make"], f"{argv} was allowed")


def _pretenders(dice: random.Random) -> None:
    """A text in an objective or in a check's evidence opens and closes no block of the host."""
    objective, evidence = mess(dice) or "x", mess(dice)
    goal = Goal(
        id="g-1",
        revision=1,
        objective=objective,
        kind="executing",
        workflow="coding",
        phase="active",
        max_rounds=3,
        budgets=Budgets(),
        checks=[],
        rounds_started=0,
        created_at=0,
        updated_at=0,
    )
    found = CheckResult(check_id=mess(dice, 3), kind="command", status="fail", evidence=evidence)
    text = round_text(goal, 1, {}, [found], replaced=False)
    require(len(re.findall(r"<goal_round>", text)) == 1, f"a text opened a round: {text!r}")
    require(len(re.findall(r"</goal_round>", text)) == 1, f"a text closed a round: {text!r}")
    require(text.startswith("<goal_round>\n") and text.endswith("\n</goal_round>"), "the block lost its ends")


DOORS: Final[dict[str, Callable[[random.Random], None]]] = {
    "streams": _streams,
    "arguments": _arguments,
    "frames": _frames,
    "paths": _paths,
    "commands": _commands,
    "pretending texts": _pretenders,
}


def fuzz_case(number: int) -> Counter[str]:
    name = list(DOORS)[number % len(DOORS)]
    DOORS[name](random.Random(number))
    return Counter({name: 1})


def clean_up() -> None:
    """Remove the workspace that the paths were tried in."""
    if _place.cache_info().currsize:
        shutil.rmtree(_place()[0], ignore_errors=True)
        _place.cache_clear()


def every_cut(data: bytes) -> Any:
    """The events of a stream, the same for each of its cuts."""
    whole = _events([data])
    for place in range(len(data) + 1):
        require(_events([data[:place], data[place:]]) == whole, f"a cut at {place} changes the events")
    require(_events([bytes([byte]) for byte in data]) == whole, "single bytes change the events")
    return whole
