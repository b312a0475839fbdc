"""delete_path: removes a file or a folder. What it removes is journalled first, as far as the limits go."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from steersman.domain.events import CallMode
from steersman.errors import ToolFailed
from steersman.ports.editor import DeletePath
from steersman.tools import changes, files, permission
from steersman.tools.base import Allow, Arguments, Ask, Permit, ToolContext, ToolOutcome
from steersman.tools.rename import refuse_special, text_of

_MOST_FILES: Final = 500
_MOST_BYTES: Final = 8 * 1024 * 1024
"""What is journalled of a deletion at most; beyond that it cannot be undone, and the person is told so."""


class DeletePathArguments(Arguments, frozen=True):
    path: str


class DeleteTool:
    name = "delete_path"
    description = "Delete a file or a folder; a folder that has content needs the person's approval."
    arguments = DeletePathArguments
    deadline_seconds = 120.0

    def mode(self, arguments: DeletePathArguments, context: ToolContext) -> CallMode:
        return "exclusive"

    def permit(self, arguments: DeletePathArguments, context: ToolContext) -> Permit:
        title, name = f"Delete {arguments.path}", permission.code(arguments.path)
        permit = permission.edit(context, arguments.path, title=title, detail=f"{name} would be deleted.")
        if not isinstance(permit, Allow | Ask):
            return permit
        danger = _danger(files.target(context, arguments.path).path)
        if danger is None:
            return permit
        detail = permit.detail if isinstance(permit, Ask) else f"{name} would be deleted."
        uri = context.editor.uri_of(files.target(context, arguments.path).path)
        return Ask(risk="destructive", title=title, detail=f"{detail}\n\n{danger}", uris=(uri,))

    async def run(self, arguments: DeletePathArguments, context: ToolContext) -> ToolOutcome:
        """Delete. Raises ToolFailed: `NOT_FOUND`, `INVALID_ARGUMENTS`, and see `changes.make`."""
        place = files.target(context, arguments.path)
        refuse_special(context, place, "delete")
        aims = await _aims(context, place.path)
        if context.cancel.is_set():
            return ToolOutcome(outcome="aborted", content="Stopped before anything was deleted.")
        name = files.shown(context, place)
        applied = await changes.make(context, f"delete {name}", DeletePath(path=place.path), aims)
        if applied.status == "stale":
            raise ToolFailed("STALE", f"{name} changed meanwhile: nothing was deleted")
        return ToolOutcome(content=f"Deleted {name}.", verified=changes.verified(applied, "tree"))


class _Content(msgspec.Struct, frozen=True):
    """What a deletion would remove: its files, and whether all of them fit into the journal."""

    files: list[Path]
    fits: bool


def _content(path: Path) -> _Content:
    """The files at or below a path; links are entries, they are not followed. Stops at the limits."""
    found: list[Path] = []
    size = 0
    pending = [path]
    while pending:
        current = pending.pop()
        if current.is_symlink():
            continue
        if current.is_dir():
            pending += sorted(current.iterdir(), reverse=True)
            continue
        found.append(current)
        size += current.lstat().st_size
        if len(found) > _MOST_FILES or size > _MOST_BYTES:
            return _Content(found, False)
    return _Content(found, True)


def _danger(path: Path) -> str | None:
    """Why a deletion needs a person's word, or None."""
    try:
        folder = path.is_dir()
        if folder and not any(path.iterdir()):
            return None
        content = _content(path)
    except OSError:
        return "Its content cannot be read, so it cannot be undone."
    undo = "" if content.fits else " It is too much to be kept for undo: **it cannot be undone**."
    if folder:
        more = "" if content.fits else "more than "
        return f"It is a folder with content ({more}{len(content.files)} files).{undo}"
    return undo.strip() or None


async def _aims(context: ToolContext, path: Path) -> tuple[changes.Aim, ...]:
    """One entry of the journal for each file, or one without content for what is empty or too much."""
    content = await asyncio.to_thread(_content, path)
    if not content.fits or not content.files:
        return (changes.Aim(uri=context.editor.uri_of(path), kind="delete"),)
    return tuple([await _aim(context, file) for file in content.files])


async def _aim(context: ToolContext, path: Path) -> changes.Aim:
    document = await text_of(context, path)
    if document is not None:
        return changes.Aim(uri=document.uri, kind="delete", before=document.text)
    uri = context.editor.uri_of(path)
    data = await asyncio.to_thread(path.read_bytes)
    key = sha256(data).hexdigest()
    return changes.Aim(uri=uri, kind="delete", before_hash=key, journal={key: data})
