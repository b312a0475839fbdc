"""Reading one text file for a tool, with errors that help: what is there instead, what the name might be."""

from __future__ import annotations

from difflib import get_close_matches

from steersman.errors import ToolFailed
from steersman.ports.editor import Document
from steersman.tools.base import ToolContext
from steersman.tools.paths import Target, display, resolve


def target(context: ToolContext, given: str) -> Target:
    """The target of a path in the folders that are open now. Raises ToolFailed."""
    return resolve(given, context.editor.folders())


def shown(context: ToolContext, place: Target) -> str:
    """A target's path as the model should write it."""
    return display(place.path, context.editor.folders())


async def existing(context: ToolContext, place: Target) -> Document:
    """The document at a target.

    Raises:
        ToolFailed: `NOT_FOUND` with names that are near; `FAILED` for a folder or what is not text.
    """
    if place.path.is_dir():
        raise ToolFailed("FAILED", f"{shown(context, place)} is a folder: list_files shows what is in it")
    document = await context.editor.read(place.path)
    if document is None:
        raise ToolFailed("NOT_FOUND", missing(context, place))
    return document


def missing(context: ToolContext, place: Target) -> str:
    """That a file does not exist, and what the model may have meant."""
    parent = place.path.parent
    message = f"{shown(context, place)} does not exist"
    if not parent.is_dir():
        # Models like to put the workspace folder's own name in front.
        inner = place.folder.path.joinpath(*place.relative.parts[1:])
        if len(place.relative.parts) > 1 and inner.exists():
            return f"{message}; did you mean {display(inner, context.editor.folders())}?"
        return f"{message}, nor does its folder: list_files shows what there is"
    names = {entry.name.casefold(): entry.name for entry in parent.iterdir()}
    near = get_close_matches(place.path.name.casefold(), names, n=3, cutoff=0.6)
    if not near:
        return f"{message}: list_files shows what there is"
    folders = context.editor.folders()
    return f"{message}; near it: {', '.join(display(parent / names[name], folders) for name in near)}"
