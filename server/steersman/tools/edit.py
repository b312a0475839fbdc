"""edit_file: replaces parts of a file. Matched against the text as it is now, never as it was read."""

from __future__ import annotations

import asyncio
from typing import Annotated, Final

import msgspec

from steersman.domain.events import CallMode
from steersman.errors import ToolFailed
from steersman.ports.editor import Applied, Document, EditText
from steersman.tools import changes, diff, files, match, permission
from steersman.tools.base import Arguments, Permit, ToolContext, ToolOutcome
from steersman.tools.encoding import refuse_unencodable
from steersman.tools.lines import normalise
from steersman.tools.masking import refuse_mask

_ATTEMPTS: Final = 3
"""How often an edit is matched anew because the text changed under it."""
_CHANGED_SHOWN: Final = 2000
"""Characters of a difference since the last reading that are told."""


class Edit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    old_text: str
    new_text: str


class EditFileArguments(Arguments, frozen=True):
    path: str
    edits: Annotated[list[Edit], msgspec.Meta(min_length=1)]


class EditFile:
    name = "edit_file"
    description = (
        "Change a file: each edit replaces old_text, copied exactly and standing once in the file, "
        "by new_text; all edits apply or none does."
    )
    arguments = EditFileArguments
    deadline_seconds = 120.0

    def mode(self, arguments: EditFileArguments, context: ToolContext) -> CallMode:
        return "exclusive"

    def permit(self, arguments: EditFileArguments, context: ToolContext) -> Permit:
        wanted = "\n\n".join(diff.unified(e.old_text, e.new_text) for e in arguments.edits)
        return permission.edit(
            context,
            arguments.path,
            title=f"Edit {arguments.path}",
            detail=f"{permission.code(arguments.path)}:\n\n{permission.fenced(wanted)}",
        )

    async def run(self, arguments: EditFileArguments, context: ToolContext) -> ToolOutcome:
        """Apply all edits.

        Raises:
            ToolFailed: `NOT_FOUND`, `NOT_UNIQUE`, `INVALID_ARGUMENTS`, `PROTECTED` (a mask), `STALE`,
                and what `changes.make` raises. Nothing is changed then, unless it says unknown.
        """
        for edit in arguments.edits:
            refuse_mask(edit.old_text, "old_text")
            refuse_mask(edit.new_text, "new_text")
        hunks = [match.Hunk(e.old_text, e.new_text) for e in arguments.edits]
        place = files.target(context, arguments.path)
        reason: str | None = None
        for _ in range(_ATTEMPTS):
            if context.cancel.is_set():
                return ToolOutcome(outcome="aborted", content="Stopped before anything was changed.")
            document = await files.existing(context, place)
            outcome = await _apply(context, files.shown(context, place), document, hunks)
            if isinstance(outcome, ToolOutcome):
                return outcome
            reason = outcome.reason
        because = f" ({reason})" if reason else ""
        raise ToolFailed(
            "STALE",
            f"{files.shown(context, place)} keeps changing{because}: nothing was changed, read it again",
        )


async def _apply(
    context: ToolContext, name: str, document: Document, hunks: list[match.Hunk]
) -> ToolOutcome | Applied:
    """One attempt, or what was stale if the document changed meanwhile. Raises ToolFailed."""
    since = await _changed_since(context, document)
    try:
        plan = await asyncio.to_thread(match.plan, document.text, hunks)
    except ToolFailed as failure:
        code = "STALE" if since and failure.code == "NOT_FOUND" else failure.code
        raise ToolFailed(code, f"{name}: {failure}" + (f"\n{since}" if since else "")) from None
    refuse_unencodable(plan.expected, document)
    aim = changes.Aim(uri=document.uri, kind="edit", before=document.text, after=plan.expected)
    change = EditText(document=document, replacements=plan.replacements, expected=plan.expected)
    applied = await changes.make(context, f"edit {name}", change, (aim,))
    if applied.status == "stale":
        return applied
    count = f"{len(hunks)} edits" if len(hunks) > 1 else "the edit"
    headline = "\n".join(filter(None, (f"Applied {count} to {name}.", *plan.notes, since)))
    return changes.told(context, headline, document, applied, plan.expected, plan.lines)


async def _changed_since(context: ToolContext, document: Document) -> str:
    """What the model should know if the document changed since it read it; "" if it did not."""
    seen = context.state.seen.get(document.uri)
    if seen is None or seen == document.digest:
        return ""
    message = "The file changed since you read it"
    before = await context.blob(seen)
    if before is None:
        return f"{message}: read it again before you rely on other parts of it."
    known = normalise(before.decode("utf-8", "replace"))
    difference = await asyncio.to_thread(diff.unified, known, normalise(document.text))
    return f"{message}:\n{difference[:_CHANGED_SHOWN]}"
