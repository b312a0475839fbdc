"""File URIs and paths: every spelling of a file leads to the same key. Nothing here changes a file."""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

_FILE_URI = re.compile(r"file:(?://(?P<host>[^/]*))?(?P<path>/.*)", re.IGNORECASE | re.DOTALL)
_DRIVE = re.compile(r"^/?([A-Za-z]):(?=[\\/]|$)")
_UNRESERVED = "/-._~"


def path_of_uri(uri: str) -> Path | None:
    """The path that a `file:` URI names, not resolved; None for other schemes and for nonsense.

    A raw `#` or `?` is taken as a part of the name: document URIs have no fragment and no query.
    """
    match = _FILE_URI.fullmatch(uri)
    if match is None:
        return None
    raw = os.fsdecode(unquote_to_bytes(match["path"]))
    if "\0" in raw:
        return None
    host = match["host"] or ""
    if host and host.lower() != "localhost":
        raw = f"//{host}{raw}"
    if sys.platform == "win32" and _DRIVE.match(raw):
        raw = raw[1:]
    return Path(raw)


def uri_of_path(path: Path, under: tuple[str, Path] | None = None) -> str:
    """The `file:` URI of an absolute path; below the root `under` in the spelling of that root's URI."""
    if under is not None:
        base, root = under
        relative = quote(os.fsencode(path.relative_to(root).as_posix()), safe=_UNRESERVED)
        return base if relative == "." else f"{base.rstrip('/')}/{relative}"
    return path.as_uri()


def real_path(path: Path) -> Path:
    """The path with symbolic links followed, spelled as on the disk where only the Unicode form differs.

    A missing last part stays as it is. If names of both forms exist, the exact one is meant.
    """
    real = Path(os.path.realpath(path))
    if real.as_posix().isascii() or os.path.lexists(real):
        return real
    found = Path(real.anchor)
    for part in real.parts[1:]:
        found = found / _spelled_on_disk(found, part)
    return Path(os.path.realpath(found))


def path_key(path: Path, platform: str = sys.platform) -> str:
    """What two spellings of one real path have in common on a platform."""
    key = _DRIVE.sub(lambda drive: f"/{drive[1].lower()}:", path.as_posix())
    if platform in ("win32", "darwin"):
        key = unicodedata.normalize("NFC", key).casefold()
    return key


def _spelled_on_disk(folder: Path, name: str) -> str:
    if name.isascii() or os.path.lexists(folder / name):
        return name
    wanted = unicodedata.normalize("NFC", name)
    try:
        names = [entry.name for entry in folder.iterdir()]
    except OSError:
        return name
    alike = [other for other in names if unicodedata.normalize("NFC", other) == wanted]
    return alike[0] if len(alike) == 1 else name
