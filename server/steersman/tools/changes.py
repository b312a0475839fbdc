"""How a change is made: planned in the log, applied by the editor, recorded as what really happened.

The only place that calls `EditorPort.apply`. A change is durable as a plan before it leaves, and is never
sent twice.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from steersman.domain.digest import digest
from steersman.domain.events import EditApplied, EditKind, EditPlanned
from steersman.domain.ids import new_id
from steersman.domain.messages import Verified
from steersman.errors import ToolFailed
from steersman.ports.editor import (
    Applied,
    Change,
    CreateFile,
    DeletePath,
    Document,
    EditText,
    RenamePath,
)
from steersman.tools import diff
from steersman.tools.base import ToolContext, ToolOutcome
from steersman.tools.lines import normalise, numbered, split

_AROUND: Final = 2
_MOST_SHOWN: Final = 60
"""Lines of the changed text that a result shows."""


class Aim(msgspec.Struct, frozen=True, kw_only=True):
    """What a change is meant to do, for the log. Texts are whole; None where nothing exists.

    `journal` holds further contents by hash that undoing needs (of what is not text).
    """

    uri: str
    kind: EditKind
    before: str | None = None
    after: str | None = None
    before_hash: str | None = None
    new_uri: str | None = None
    journal: Mapping[str, bytes] = {}


async def make(context: ToolContext, label: str, change: Change, aims: tuple[Aim, ...]) -> Applied:
    """Make one change. What it meant is durable before, what it did is recorded after.

    Raises:
        ToolFailed: `REFUSED_BY_EDITOR`, `FAILED` (lost or unknown), `DENIED`, `OUTSIDE_WORKSPACE`.
            A stale document is not an error here: the status says it.
    """
    planned = [_planned(context, aim) for aim in aims]
    blobs: dict[str, bytes] = {}
    for aim in aims:
        blobs |= {**aim.journal, **_blob(aim.before), **_blob(aim.after)}
    await context.record(*planned, blobs=blobs)
    _still_allowed(context, change)
    applied = await context.editor.apply(f"Steersman: {label}", change)
    if applied.status in ("applied", "applied-differently"):
        after = _blob(applied.text) if applied.status == "applied-differently" else {}
        done = [_applied(plan, aim, applied) for plan, aim in zip(planned, aims, strict=True)]
        await context.record(*done, blobs=after)
    elif applied.status != "stale":
        raise _failure(applied)
    return applied


def verified(applied: Applied, check: str) -> Verified:
    """Whether the text or the tree is now what was meant."""
    if applied.status == "applied":
        return Verified(ok=True, check=check, note="it is now what was meant")
    return Verified(ok=False, check=check, note="the editor made it something else than was meant")


def told(
    context: ToolContext,
    headline: str,
    document: Document,
    applied: Applied,
    expected: str,
    lines: tuple[tuple[int, int], ...],
) -> ToolOutcome:
    """The outcome of a text change: what was done, and the actual text around it."""
    actual = applied.text if applied.text is not None else expected
    parts = [headline]
    if applied.status == "applied-differently":
        difference = diff.unified(normalise(expected), normalise(actual))
        parts.append(
            "The editor changed more than that (a formatter?). From what you meant to what it is now:\n"
            + _cut(difference.split("\n"))
        )
    else:
        parts.append("The text is now:\n" + around(normalise(actual), lines))
    knew = context.state.seen.get(document.uri) == document.digest
    known = knew and applied.status == "applied"
    return ToolOutcome(
        content="\n".join(parts),
        verified=verified(applied, "text"),
        seen={document.uri: digest(actual)} if known else {},
    )


def around(text: str, ranges: tuple[tuple[int, int], ...]) -> str:
    """The lines of an LF text at and near ranges of line numbers (from 1), numbered."""
    lines = split(text)
    if not lines:
        return "(empty)"
    wanted: set[int] = set()
    for first, last in ranges:
        wanted |= set(range(max(first - _AROUND, 1), min(last + _AROUND, len(lines)) + 1))
    shown: list[str] = []
    previous = 0
    for number in sorted(wanted):
        if previous and number != previous + 1:
            shown.append("…")
        shown.append(numbered([lines[number - 1]], number))
        previous = number
    return _cut(shown)


def _cut(lines: list[str]) -> str:
    if len(lines) <= _MOST_SHOWN:
        return "\n".join(lines)
    half = _MOST_SHOWN // 2
    return "\n".join([*lines[:half], f"… {len(lines) - 2 * half} lines …", *lines[-half:]])


def _planned(context: ToolContext, aim: Aim) -> EditPlanned:
    return EditPlanned(
        change_id=new_id("c"),
        call_id=context.call_id,
        uri=aim.uri,
        kind=aim.kind,
        before=aim.before_hash or _hash(aim.before),
        after=_hash(aim.after),
        new_uri=aim.new_uri,
    )


def _applied(plan: EditPlanned, aim: Aim, applied: Applied) -> EditApplied:
    text = applied.text if applied.status == "applied-differently" else aim.after
    added, removed = diff.counts(normalise(aim.before or ""), normalise(text or ""))
    return EditApplied(
        change_id=plan.change_id,
        call_id=plan.call_id,
        uri=plan.uri,
        kind=plan.kind,
        before=plan.before,
        after=_hash(text),
        added=added,
        removed=removed,
        new_uri=plan.new_uri,
    )


def _still_allowed(context: ToolContext, change: Change) -> None:
    """What was true when the call was allowed, once more: time has passed while the plan was stored.

    Raises:
        ToolFailed: the workspace lost its trust, or a path now leads elsewhere through a link.
    """
    if not context.trusted:
        raise ToolFailed("DENIED", "the workspace is no longer trusted: nothing was changed")
    for path in _paths(change):
        if Path(os.path.realpath(path)) != path:
            raise ToolFailed(
                "OUTSIDE_WORKSPACE", f"{path.name!r} became a link to elsewhere: nothing was changed"
            )


def _paths(change: Change) -> tuple[Path, ...]:
    match change:
        case EditText(document=document):
            return (document.path,)
        case RenamePath(path=path, new_path=new_path):
            return (path, new_path)
        case CreateFile(path=path) | DeletePath(path=path):
            return (path,)


def _failure(applied: Applied) -> ToolFailed:
    because = f": {applied.reason}" if applied.reason else ""
    if applied.status == "refused":
        return ToolFailed(
            "REFUSED_BY_EDITOR", f"the editor refused the change{because}. Nothing was changed."
        )
    if applied.status == "lost":
        return ToolFailed(
            "FAILED",
            f"the editor said that it made the change, but nothing changed{because}: "
            "look at the file before you try again",
        )
    return ToolFailed("FAILED", f"outcome unknown{because}: look at the file before you repeat the change")


def _hash(text: str | None) -> str:
    return "" if text is None else digest(text)


def _blob(text: str | None) -> dict[str, bytes]:
    return {} if text is None else {digest(text): text.encode("utf-8", "surrogatepass")}
