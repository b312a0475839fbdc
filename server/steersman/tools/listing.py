"""list_files: what there is in the workspace, nearest first. It reads names, never contents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import msgspec
from pathspec import GitIgnoreSpec

from steersman.domain.events import CallMode
from steersman.domain.messages import Verified
from steersman.errors import ToolFailed
from steersman.ports.editor import Folder
from steersman.tools import files, permission
from steersman.tools.base import Allow, Arguments, Permit, Refuse, ToolContext, ToolOutcome
from steersman.tools.ignore import glob_spec
from steersman.tools.paths import display
from steersman.tools.walk import Stopped, Walk, in_thread

_LIMIT: Final = 200
_MOST: Final = 1000

Limit = Annotated[int, msgspec.Meta(ge=1, le=_MOST)]


class ListFilesArguments(Arguments, frozen=True):
    path: str | None = None
    glob: str | None = None
    limit: Limit = _LIMIT


class ListFiles:
    name = "list_files"
    description = (
        "List files and folders below path (default: everything), or only files that fit a glob "
        "such as `*.py` or `src/**/*.ts`; ignored files are left out."
    )
    arguments = ListFilesArguments
    deadline_seconds = 60.0

    def mode(self, arguments: ListFilesArguments, context: ToolContext) -> CallMode:
        return "parallel"

    def permit(self, arguments: ListFilesArguments, context: ToolContext) -> Permit:
        refused = permission.look(context, arguments.path)
        return refused if isinstance(refused, Refuse) else Allow()

    async def run(self, arguments: ListFilesArguments, context: ToolContext) -> ToolOutcome:
        """The list. Raises ToolFailed: `NOT_FOUND`, `INVALID_ARGUMENTS`; Aborted."""
        starts = starts_of(context, arguments.path)
        spec = spec_of(arguments.glob)
        for start, _ in starts:
            if not start.is_dir():
                raise ToolFailed("INVALID_ARGUMENTS", f"{arguments.path} is a file: read_file reads it")
        folders = context.editor.folders()
        shown, complete = await in_thread(
            context.cancel, lambda stopped: _listed(starts, folders, spec, arguments.limit, stopped)
        )
        if not shown:
            empty = "No file fits." if spec is not None else "Nothing is there (ignored files aside)."
            if not complete:
                empty = "Nothing was found before the walk reached its limit: give a path to start from."
            verified = Verified(ok=False, check="not-empty", note="nothing was found")
            return ToolOutcome(content=empty, verified=verified)
        note = f"{len(shown)} entries"
        if not complete:
            shown.append(f"[more than {len(shown)}: narrow it with path or glob, or raise limit]")
        return ToolOutcome(
            content="\n".join(shown), verified=Verified(ok=complete, check="complete", note=note)
        )


def starts_of(context: ToolContext, path: str | None) -> list[tuple[Path, Folder]]:
    """Where to look: the path's target, or every workspace folder. Raises ToolFailed."""
    if path is None or path.strip() in ("", "."):
        folders = context.editor.folders()
        if not folders:
            raise ToolFailed("FAILED", "no folder is open: ask the person to open one")
        return [(folder.path, folder) for folder in folders]
    place = files.target(context, path)
    if not place.path.exists():
        raise ToolFailed("NOT_FOUND", files.missing(context, place))
    return [(place.path, place.folder)]


def spec_of(glob: str | None) -> GitIgnoreSpec | None:
    """The matcher of a glob. Raises ToolFailed: `INVALID_ARGUMENTS`."""
    if glob is None or not glob.strip():
        return None
    try:
        return glob_spec(glob)
    except ValueError as error:
        raise ToolFailed("INVALID_ARGUMENTS", f"glob: {error}") from None


def fits(spec: GitIgnoreSpec, path: Path, start: Path, folder: Folder) -> bool:
    """Whether a path fits a glob, taken from where the search starts or from the workspace folder."""
    return any(spec.match_file(path.relative_to(base).as_posix()) for base in (start, folder.path))


def _listed(
    starts: list[tuple[Path, Folder]],
    folders: tuple[Folder, ...],
    spec: GitIgnoreSpec | None,
    limit: int,
    stopped: Stopped,
) -> tuple[list[str], bool]:
    shown: list[str] = []
    walk = Walk(stopped)
    for start, folder in starts:
        for found in walk.entries(start, folder):
            if spec is not None and (found.is_folder or not fits(spec, found.path, start, folder)):
                continue
            if len(shown) == limit:
                return shown, False
            shown.append(display(found.path, folders) + ("/" if found.is_folder else ""))
    return shown, walk.complete
