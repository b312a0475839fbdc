"""write_file: makes a new file, or replaces the whole text of one that the model knows as it is now."""

from __future__ import annotations

import asyncio

from steersman.domain.digest import digest
from steersman.domain.events import CallMode
from steersman.domain.messages import Verified
from steersman.errors import ToolFailed
from steersman.ports.editor import CreateFile, Document, EditText
from steersman.tools import changes, diff, files, permission
from steersman.tools.base import Arguments, Permit, ToolContext, ToolOutcome
from steersman.tools.encoding import neighbours_ending, refuse_unencodable
from steersman.tools.lines import NormalText, dominant_ending, normalise, split
from steersman.tools.masking import refuse_mask
from steersman.tools.paths import Target

_BOM = "\ufeff"


class WriteFileArguments(Arguments, frozen=True):
    path: str
    content: str
    overwrite: bool = False


class WriteFile:
    name = "write_file"
    description = (
        "Create a file with this content, or replace a file that you have just read whole "
        "(overwrite: true); use edit_file to change parts."
    )
    arguments = WriteFileArguments
    deadline_seconds = 120.0

    def mode(self, arguments: WriteFileArguments, context: ToolContext) -> CallMode:
        return "exclusive"

    def permit(self, arguments: WriteFileArguments, context: ToolContext) -> Permit:
        return permission.edit(
            context,
            arguments.path,
            title=f"Write {arguments.path}",
            detail=f"{permission.code(arguments.path)}:\n\n{permission.fenced(arguments.content)}",
        )

    async def run(self, arguments: WriteFileArguments, context: ToolContext) -> ToolOutcome:
        """Write the file.

        Raises:
            ToolFailed: `STALE` (the present text was never read, or changed since), `INVALID_ARGUMENTS`
                (it exists, and `overwrite` is not set), `PROTECTED` (a mask), and what `changes.make` raises.
        """
        refuse_mask(arguments.content, "content")
        content = arguments.content.removeprefix(_BOM)
        place = files.target(context, arguments.path)
        if place.path.is_dir():
            raise ToolFailed("FAILED", f"{files.shown(context, place)} is a folder: name a file in it")
        document = await context.editor.read(place.path)
        if context.cancel.is_set():
            return ToolOutcome(outcome="aborted", content="Stopped before anything was changed.")
        if document is None:
            return await _create(context, place, content)
        return await _replace(context, place, document, content, arguments.overwrite)


async def _create(context: ToolContext, place: Target, content: str) -> ToolOutcome:
    ending = await asyncio.to_thread(neighbours_ending, place.path) or dominant_ending(content)
    text = normalise(content).replace("\n", ending)
    name = files.shown(context, place)
    uri = context.editor.uri_of(place.path)
    aim = changes.Aim(uri=uri, kind="create", after=text)
    applied = await changes.make(context, f"create {name}", CreateFile(path=place.path, text=text), (aim,))
    if applied.status == "stale":
        raise ToolFailed("STALE", f"{name} was made by someone else meanwhile: read it first")
    actual = applied.text if applied.text is not None else text
    lines = len(split(normalise(actual)))
    content = f"Created {name} with {lines} lines."
    if applied.status == "applied-differently":
        difference = diff.unified(normalise(text), normalise(actual))
        content += (
            f"\nThe editor changed it (a formatter?). From what you meant to what it is now:\n{difference}"
        )
    return ToolOutcome(
        content=content,
        verified=changes.verified(applied, "text"),
        seen={uri: digest(actual)} if applied.status == "applied" else {},
    )


async def _replace(
    context: ToolContext, place: Target, document: Document, content: str, overwrite: bool
) -> ToolOutcome:
    name = files.shown(context, place)
    new = normalise(content)
    if normalise(document.text) == new:
        return ToolOutcome(
            content=f"{name} holds exactly this text already: nothing was changed.",
            verified=Verified(ok=True, check="text", note="it was so before"),
            seen={document.uri: document.digest},
        )
    _check_known(context, name, document, overwrite)
    view = NormalText(document.text)
    spans = await asyncio.to_thread(diff.spans, view.text, new)
    made = diff.rewrite(view, spans)
    expected = made.expected
    refuse_unencodable(expected, document)
    aim = changes.Aim(uri=document.uri, kind="edit", before=document.text, after=expected)
    change = EditText(document=document, replacements=made.replacements, expected=expected)
    applied = await changes.make(context, f"write {name}", change, (aim,))
    if applied.status == "stale":
        raise ToolFailed("STALE", f"{name} changed while it was written: nothing was changed, read it again")
    ranges = diff.line_ranges(view.text, spans)
    return changes.told(context, f"Replaced the text of {name}.", document, applied, expected, ranges)


def _check_known(context: ToolContext, name: str, document: Document, overwrite: bool) -> None:
    """Refuse to overwrite what the model does not know. Raises ToolFailed."""
    seen = context.state.seen.get(document.uri)
    if seen != document.digest:
        why = "you have not read it whole" if seen is None else "it changed since you read it"
        raise ToolFailed(
            "STALE",
            f"{name} exists and {why}: read it whole and then write it with overwrite: true, "
            "or change parts of it with edit_file",
        )
    if not overwrite:
        raise ToolFailed(
            "INVALID_ARGUMENTS",
            f"{name} exists: set overwrite: true to replace its whole text, or use edit_file",
        )
