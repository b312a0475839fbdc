"""Whether a text can be kept in a file's own encoding, and which line ending a new file takes."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from steersman.errors import ToolFailed
from steersman.ports.editor import Document
from steersman.tools.lines import dominant_ending

_SIBLINGS: Final = 5
_LOOKED_AT: Final = 64 * 1024
"""Bytes of a neighbouring file that are looked at."""


def refuse_unencodable(text: str, document: Document) -> None:
    """Refuse a text that the document's encoding cannot hold. Raises ToolFailed: `INVALID_ARGUMENTS`."""
    try:
        text.encode(document.encoding)
    except UnicodeEncodeError as error:
        character = text[error.start]
        raise ToolFailed(
            "INVALID_ARGUMENTS",
            f"the file is encoded as {document.encoding}, which has no {character!r} "
            f"(U+{ord(character):04X}): use other characters",
        ) from None
    except LookupError:
        return  # an encoding that only the editor knows: it will tell


def neighbours_ending(path: Path) -> str | None:
    """The line ending of files of the same kind beside a new one; None if there are none with lines."""
    if not path.parent.is_dir():
        return None
    alike = [entry for entry in path.parent.iterdir() if entry.suffix == path.suffix and entry.is_file()]
    counts = {"\n": 0, "\r\n": 0}
    for entry in sorted(alike)[:_SIBLINGS]:
        try:
            with entry.open("rb") as file:
                head = file.read(_LOOKED_AT).decode("latin-1")
        except OSError:
            continue
        if "\n" in head:
            ending = dominant_ending(head)
            counts[ending] = counts.get(ending, 0) + 1
    if not any(counts.values()):
        return None
    return max(counts, key=lambda ending: counts[ending])
