"""search_text: where a text stands in the workspace. Unsaved text of the editor counts, not the disk's.

It passes over ignored, binary, huge and secret-like files, and says how many of the last two it left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Final

import msgspec
from pathspec import GitIgnoreSpec

from steersman.domain.events import CallMode
from steersman.domain.messages import Verified
from steersman.errors import ToolFailed
from steersman.ports.editor import Folder
from steersman.tools import permission
from steersman.tools.base import Arguments, Permit, ToolContext, ToolOutcome
from steersman.tools.lines import normalise, split
from steersman.tools.listing import fits, spec_of, starts_of
from steersman.tools.paths import display
from steersman.tools.patterns import Matcher, matcher
from steersman.tools.protected import is_secret
from steersman.tools.walk import Stopped, Walk, in_thread

_LIMIT: Final = 50
_MOST: Final = 500
_LARGEST: Final = 2 * 1024 * 1024
"""Bytes of a file that is searched; larger ones are mostly data."""
_SNIFFED: Final = 8192
_SHOWN: Final = 240
"""Characters of a line that are shown, around the match."""
_NOTES: Final = 500

Limit = Annotated[int, msgspec.Meta(ge=1, le=_MOST)]


class SearchTextArguments(Arguments, frozen=True):
    pattern: str
    path: str | None = None
    glob: str | None = None
    regex: bool = False
    limit: Limit = _LIMIT


class SearchText:
    name = "search_text"
    description = (
        "Find lines that hold a text (case counts), or fit a regular expression with regex: true, "
        "below path or in files that fit a glob."
    )
    arguments = SearchTextArguments
    deadline_seconds = 60.0

    def mode(self, arguments: SearchTextArguments, context: ToolContext) -> CallMode:
        return "parallel"

    def permit(self, arguments: SearchTextArguments, context: ToolContext) -> Permit:
        return permission.look(context, arguments.path)

    async def run(self, arguments: SearchTextArguments, context: ToolContext) -> ToolOutcome:
        """The matches. Raises ToolFailed: `NOT_FOUND`, `INVALID_ARGUMENTS`; Aborted."""
        search = _Search(
            starts=starts_of(context, arguments.path),
            folders=context.editor.folders(),
            unsaved=await _unsaved(context),
            matcher=matcher(arguments.pattern, arguments.regex),
            spec=spec_of(arguments.glob),
            limit=arguments.limit,
            room=context.settings.context.result_limit_bytes - _NOTES,
        )
        return _told(await in_thread(context.cancel, search.run))


class _Hits(msgspec.Struct):
    """What a search found. `lines` are as shown, grouped by file; `size` is their bytes.

    `partly` counts lines that are too long for the pattern to be searched whole.
    """

    lines: list[str] = []
    matches: int = 0
    files: int = 0
    size: int = 0
    secret: int = 0
    huge: int = 0
    partly: int = 0
    complete: bool = True


class _Search(msgspec.Struct, frozen=True, kw_only=True):
    starts: list[tuple[Path, Folder]]
    folders: tuple[Folder, ...]
    unsaved: Mapping[Path, str]
    matcher: Matcher
    spec: GitIgnoreSpec | None
    limit: int
    room: int

    def run(self, stopped: Stopped) -> _Hits:
        """Search everything, or as far as the limits go. Runs in a thread."""
        hits = _Hits()
        walk = Walk(stopped)
        for path in self._paths(walk, hits):
            text = self._text(path, hits)
            if text is not None and not self._add(path, text, hits):
                hits.complete = False
                return hits
        hits.complete = hits.complete and walk.complete
        return hits

    def _paths(self, walk: Walk, hits: _Hits) -> Iterator[Path]:
        """The files to search. One that is named exactly is searched whatever its name."""
        for start, folder in self.starts:
            if not start.is_dir():
                yield start
                continue
            for found in walk.entries(start, folder):
                if found.is_folder or found.is_link:
                    continue
                if self.spec is not None and not fits(self.spec, found.path, start, folder):
                    continue
                if is_secret(found.path.relative_to(folder.path)):
                    hits.secret += 1
                    continue
                yield found.path

    def _text(self, path: Path, hits: _Hits) -> str | None:
        """The text of a file as the editor or the disk holds it; None if it is not to be searched."""
        if path in self.unsaved:
            return self.unsaved[path]
        try:
            with path.open("rb") as file:
                head = file.read(_SNIFFED)
                if b"\0" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff")):
                    return None
                data = head + file.read(_LARGEST + 1 - len(head))
        except OSError:
            return None
        if len(data) > _LARGEST:
            hits.huge += 1
            return None
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):
            return data.decode("utf-16", "replace")
        return data.decode("utf-8-sig", "replace")

    def _add(self, path: Path, text: str, hits: _Hits) -> bool:
        """Add a file's matches; False when a limit is reached."""
        first = True
        for number, line in enumerate(split(normalise(text)), 1):
            span = self.matcher.match(line)
            if span is None:
                hits.partly += len(line) > self.matcher.searched
                continue
            shown = f"{number}|{_around(line, span)}"
            heading = display(path, self.folders) if first else ""
            size = len(f"{heading}\n{shown}\n".encode())
            if hits.matches == self.limit or hits.size + size > self.room:
                return False
            hits.size += size
            if first:
                hits.lines.append(heading)
                hits.files += 1
                first = False
            hits.lines.append(shown)
            hits.matches += 1
        return True


async def _unsaved(context: ToolContext) -> dict[Path, str]:
    """The texts of documents that the editor has not saved."""
    texts: dict[Path, str] = {}
    for path in context.editor.unsaved():
        try:
            document = await context.editor.read(path)
        except ToolFailed:
            continue
        if document is not None:
            texts[path] = document.text
    return texts


def _around(line: str, span: tuple[int, int]) -> str:
    """A line as it is shown: whole, or the part around the match."""
    if len(line) <= _SHOWN:
        return line
    start = max(0, min(span[0] - _SHOWN // 4, len(line) - _SHOWN))
    end = start + _SHOWN
    return ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")


def _told(hits: _Hits) -> ToolOutcome:
    notes: list[str] = []
    if hits.secret:
        notes.append(f"[{hits.secret} files whose names say that they hold secrets were not searched]")
    if hits.huge:
        notes.append(f"[{hits.huge} files above {_LARGEST // 1024 // 1024} MB were not searched]")
    if hits.partly:
        notes.append(
            f"[{hits.partly} lines were too long to search whole with this regex: use fewer * and +]"
        )
    if not hits.matches:
        where = "No match." if hits.complete else "No match before the search reached its limit."
        verified = Verified(ok=False, check="not-empty", note="nothing was found")
        return ToolOutcome(content="\n".join((where, *notes)), verified=verified)
    if not hits.complete:
        notes.append(
            f"[more than these {hits.matches}: narrow it with path, glob or pattern, or raise limit]"
        )
    note = f"{hits.matches} matches in {hits.files} files"
    return ToolOutcome(
        content="\n".join((*hits.lines, *notes)),
        verified=Verified(ok=hits.complete, check="complete", note=note),
    )
