"""The editor's truth: what an open document holds, what the disk holds, and how both are changed.

Offsets are code points in `Document.text`; only the adapter knows the client's position encoding.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Protocol

import msgspec

ApplyStatus = Literal["applied", "applied-differently", "stale", "refused", "lost", "unknown"]


class Folder(msgspec.Struct, frozen=True, kw_only=True):
    """A workspace folder. `path` is its real path, `name` what multi-root paths start with."""

    uri: str
    name: str
    path: Path


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A text file as the editor or the disk holds it now.

    `text` has its own line endings and no BOM. `uri` is the client's spelling where the document is open.
    `version` is the editor's, None for a closed file. `digest` is the SHA-256 of `text` as UTF-8, in hex.
    """

    path: Path
    uri: str
    text: str
    version: int | None
    digest: str
    encoding: str = "utf-8"
    bom: bool = False

    @property
    def is_open(self) -> bool:
        return self.version is not None


class Replacement(msgspec.Struct, frozen=True, kw_only=True):
    """Replace the code points [start, end) of a document's text. Replacements of a change do not overlap."""

    start: int
    end: int
    new_text: str


class EditText(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Change a document, which must still be what it was (`document.digest`)."""

    document: Document
    replacements: tuple[Replacement, ...]
    expected: str
    """The whole text after the change."""


class CreateFile(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    path: Path
    text: str


class RenamePath(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    path: Path
    new_path: Path


class DeletePath(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    path: Path


Change = EditText | CreateFile | RenamePath | DeletePath


class Applied(msgspec.Struct, frozen=True, kw_only=True):
    """What the editor's next change or the disk shows; never just what the client answered.

    `text` is the actual text afterwards where there is one. Only `applied` and `applied-differently`
    changed anything; `unknown` may have, and is never repeated.
    """

    status: ApplyStatus
    text: str | None = None
    reason: str | None = None


class EditorPort(Protocol):
    def folders(self) -> tuple[Folder, ...]:
        """The folders that are open now."""
        ...

    def uri_of(self, path: Path) -> str:
        """The URI of a real path, in the client's own spelling where it has one open."""
        ...

    async def read(self, path: Path) -> Document | None:
        """The document at a real path: the editor's text if it is open, else the disk's; None if missing.

        Raises:
            ToolFailed: `FAILED` – a directory, not text (binary), too large, not readable; says which.
        """
        ...

    async def apply(self, label: str, change: Change) -> Applied:
        """Make one change as one undo step, verify it, and tell what is true now. Never two in flight."""
        ...

    def unsaved(self) -> tuple[Path, ...]:
        """Real paths of open documents whose text differs from the disk, as far as the editor told."""
        ...

    async def save(self, paths: tuple[Path, ...]) -> tuple[Path, ...]:
        """Ask the editor to save; the paths that it saved (none where it does not offer that)."""
        ...

    async def ask_to_save(self, paths: tuple[Path, ...]) -> None:
        """Ask the person to save, where the editor cannot be asked to. Ends soon, whatever comes of it."""
        ...
