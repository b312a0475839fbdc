"""rename_path: moves a file or folder inside the workspace. It never overwrites anything."""

from __future__ import annotations

import os
from pathlib import Path

from steersman.domain.events import CallMode
from steersman.errors import ToolFailed
from steersman.ports.editor import Document, RenamePath
from steersman.tools import changes, files, permission
from steersman.tools.base import Arguments, Permit, ToolContext, ToolOutcome
from steersman.tools.paths import Target, display


class RenamePathArguments(Arguments, frozen=True):
    path: str
    new_path: str


class RenameTool:
    name = "rename_path"
    description = "Rename or move a file or folder; new_path must not exist yet."
    arguments = RenamePathArguments
    deadline_seconds = 120.0

    def mode(self, arguments: RenamePathArguments, context: ToolContext) -> CallMode:
        return "exclusive"

    def permit(self, arguments: RenamePathArguments, context: ToolContext) -> Permit:
        old, new = permission.code(arguments.path), permission.code(arguments.new_path)
        title = f"Rename {arguments.path}"
        return permission.edit(
            context, arguments.path, arguments.new_path, title=title, detail=f"{old} becomes {new}."
        )

    async def run(self, arguments: RenamePathArguments, context: ToolContext) -> ToolOutcome:
        """Rename. Raises ToolFailed: `NOT_FOUND`, `INVALID_ARGUMENTS`, `FAILED`, and see `changes.make`."""
        place = files.target(context, arguments.path)
        refuse_special(context, place, "rename")
        new_path = _destination(context, place, arguments.new_path)
        document = await text_of(context, place.path)
        if context.cancel.is_set():
            return ToolOutcome(outcome="aborted", content="Stopped before anything was changed.")
        text = document.text if document else None
        uri = document.uri if document else context.editor.uri_of(place.path)
        new_uri = context.editor.uri_of(new_path)
        aim = changes.Aim(uri=uri, kind="rename", before=text, after=text, new_uri=new_uri)
        old_name, new_name = files.shown(context, place), display(new_path, context.editor.folders())
        change = RenamePath(path=place.path, new_path=new_path)
        applied = await changes.make(context, f"rename {old_name} to {new_name}", change, (aim,))
        if applied.status == "stale":
            raise ToolFailed("STALE", f"{old_name} or {new_name} changed meanwhile: nothing was renamed")
        knew = document is not None and context.state.seen.get(document.uri) == document.digest
        return ToolOutcome(
            content=f"Renamed {old_name} to {new_name}.",
            verified=changes.verified(applied, "tree"),
            seen={new_uri: document.digest} if document is not None and knew else {},
        )


def refuse_special(context: ToolContext, place: Target, verb: str) -> None:
    """Refuse what is not moved or removed: what is not there, roots, links. Raises ToolFailed."""
    if place.is_root:
        raise ToolFailed("INVALID_ARGUMENTS", f"{place.given!r} is a workspace folder itself: not to {verb}")
    if place.is_link:
        raise ToolFailed(
            "INVALID_ARGUMENTS",
            f"{place.given!r} is a link to {files.shown(context, place)}: "
            f"name that path to {verb} it; links themselves are left alone",
        )
    if not os.path.lexists(place.path):
        raise ToolFailed("NOT_FOUND", files.missing(context, place))


async def text_of(context: ToolContext, path: Path) -> Document | None:
    """The document at a path, or None for a folder or what is not text."""
    try:
        return await context.editor.read(path)
    except ToolFailed:
        return None


def _destination(context: ToolContext, place: Target, given: str) -> Path:
    """Where it goes. Raises ToolFailed if something is there, or if it is inside what moves."""
    wanted = files.target(context, given)
    if wanted.path == place.path:
        respelled = place.path.parent / given.rstrip("/").rpartition("/")[2]
        if respelled.name in ("", ".", "..") or respelled == place.path:
            raise ToolFailed("INVALID_ARGUMENTS", "path and new_path are the same")
        return respelled
    if wanted.path.is_relative_to(place.path):
        raise ToolFailed("INVALID_ARGUMENTS", f"{given!r} is inside {place.given!r}: it cannot move there")
    if os.path.lexists(wanted.path):
        name = files.shown(context, wanted)
        raise ToolFailed("FAILED", f"{name} exists already: choose another new_path, or delete it first")
    return wanted.path
