"""What a path that the model wrote means: one real path inside the workspace, or a clear error.

Every spelling of a file – relative, absolute, `file:` URI, `..`, link, `%20`, normalisation form – comes to
the same real path. Containment is decided on real paths only, never on text. Reads directory entries, no
file contents.
"""

from __future__ import annotations

import errno
import os
import re
import unicodedata
from pathlib import Path, PurePath
from urllib.parse import unquote

import msgspec

from steersman.domain.value import clean_text
from steersman.errors import ToolFailed
from steersman.ports.editor import Folder

_LONGEST_PATH = 4096
_LONGEST_NAME = 255
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+:(?=//)|file:", re.IGNORECASE)
_DRIVE = re.compile(r"/[a-zA-Z]:(?:/|\Z)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class Target(msgspec.Struct, frozen=True):
    """A path of the workspace. `given` is what the model wrote, `path` the real path, `folder` its folder.

    `entry` is the path of the entry itself, whose last part is not followed if it is a link.
    """

    given: str
    path: Path
    entry: Path
    folder: Folder

    @property
    def relative(self) -> PurePath:
        return self.path.relative_to(self.folder.path)

    @property
    def names(self) -> tuple[PurePath, PurePath]:
        """The path as it was named and as it really is, below the folder: rules about names hold for both."""
        inside = self.entry.is_relative_to(self.folder.path)
        return self.entry.relative_to(self.folder.path) if inside else self.entry, self.relative

    @property
    def is_root(self) -> bool:
        return self.path == self.folder.path

    @property
    def is_link(self) -> bool:
        return self.entry.is_symlink()


def resolve(given: str, folders: tuple[Folder, ...]) -> Target:
    """The target that a path means.

    Raises:
        ToolFailed: `INVALID_ARGUMENTS` (unusable or ambiguous), `OUTSIDE_WORKSPACE`, `FAILED` (links in a
            circle, no access), `NOT_FOUND` (below something that is not a folder).
    """
    entry = locate(given, folders)
    path = real(entry, given)
    folder = folder_of(path, folders)
    if folder is None:
        raise ToolFailed(
            "OUTSIDE_WORKSPACE",
            f"{given!r} is {str(path)!r}, outside the workspace: use a path inside {_names(folders)}",
        )
    return Target(given, path, entry, folder)


def locate(given: str, folders: tuple[Folder, ...]) -> Path:
    """The entry that a path names, inside the workspace or not; its last part is not followed.

    Raises:
        ToolFailed: see `resolve`.
    """
    if not folders:
        raise ToolFailed("FAILED", "no folder is open: ask the person to open one")
    text = _checked(given)
    scheme = _SCHEME.match(text)
    if scheme is not None:
        return _spelled(Path(_file_uri_path(text, scheme.group())))
    if text == "~" or text.startswith("~/"):
        return _spelled(Path(text).expanduser())
    if Path(text).is_absolute():
        return _best_spelling(Path(text).anchor, text)
    if len(folders) == 1:
        return _best_spelling(folders[0].path, text)
    return _in_one_folder(text, folders)


def real(entry: Path, given: str) -> Path:
    """The real path behind an entry, which need not exist yet. Raises ToolFailed."""
    try:
        return Path(os.path.realpath(entry, strict=True))
    except FileNotFoundError:
        return Path(os.path.realpath(entry))
    except NotADirectoryError:
        raise ToolFailed("NOT_FOUND", f"{given!r}: a part of the path is a file, not a folder") from None
    except OSError as error:
        reason = "links that lead in a circle" if error.errno == errno.ELOOP else error.strerror
        raise ToolFailed("FAILED", f"{given!r} cannot be resolved: {reason}") from None


def folder_of(path: Path, folders: tuple[Folder, ...]) -> Folder | None:
    """The innermost workspace folder that holds a real path."""
    holding = [folder for folder in folders if path.is_relative_to(folder.path)]
    return max(holding, key=lambda folder: len(folder.path.parts), default=None)


def display(path: Path, folders: tuple[Folder, ...]) -> str:
    """How a real path is shown to the model: workspace-relative with `/`, and valid as input."""
    folder = folder_of(path, folders)
    if folder is None or [f.name for f in folders].count(folder.name) > 1:
        return _shown(path.as_posix())
    relative = path.relative_to(folder.path).as_posix()
    if len(folders) > 1:
        return _shown(folder.name if relative == "." else f"{folder.name}/{relative}")
    return _shown(f"./{relative}" if _SCHEME.match(relative) or relative.startswith("~") else relative)


def twins(path: Path) -> list[str]:
    """Other entries beside a path whose names look the same (they differ in their normalisation form)."""
    if path.name.isascii():
        return []
    return [name for name in _entries(path.parent) if name != path.name and _nfc(name) == _nfc(path.name)]


def _shown(text: str) -> str:
    return _CONTROL.sub("\ufffd", clean_text(text))


def _names(folders: tuple[Folder, ...]) -> str:
    return ", ".join(f"{folder.name!r}" for folder in folders)


def _checked(given: str) -> str:
    if not given.strip():
        raise ToolFailed("INVALID_ARGUMENTS", "the path is empty: give a path relative to the workspace")
    if "\0" in given:
        raise ToolFailed("INVALID_ARGUMENTS", "the path holds a NUL character")
    longest = max(len(os.fsencode(clean_text(part))) for part in given.split("/"))
    if len(given) > _LONGEST_PATH or longest > _LONGEST_NAME:
        raise ToolFailed(
            "INVALID_ARGUMENTS",
            f"the path is too long ({len(given)} characters): at most {_LONGEST_PATH}, "
            f"and {_LONGEST_NAME} bytes a name",
        )
    return clean_text(given)


def _file_uri_path(uri: str, scheme: str) -> str:
    """The path in a `file:` URI. `#` and `?` are taken as parts of the name: files have no fragments."""
    if scheme.lower() != "file:":
        raise ToolFailed("INVALID_ARGUMENTS", f"{uri!r}: only paths and file: URIs name files")
    rest = uri[len(scheme) :]
    host = ""
    if rest.startswith("//"):
        host, slash, rest = rest[2:].partition("/")
        rest = slash + rest
    path = unquote(rest)
    if "\0" in path:
        raise ToolFailed("INVALID_ARGUMENTS", "the path holds a NUL character")
    if host not in ("", "localhost"):
        return f"//{host}{path}"
    if os.name == "nt" and _DRIVE.match(path):
        return path[1:]
    if not path.startswith("/") and os.name != "nt":
        raise ToolFailed("INVALID_ARGUMENTS", f"{uri!r} is not an absolute file: URI")
    return path


def _in_one_folder(text: str, folders: tuple[Folder, ...]) -> Path:
    """A relative path in a workspace of several folders. Raises ToolFailed if several fit."""
    first, _, rest = text.removeprefix("./").partition("/")
    named = [folder for folder in folders if _nfc(folder.name) == _nfc(first)]
    if len(named) == 1:
        return _best_spelling(named[0].path, rest or ".")
    entries = [_best_spelling(folder.path, text) for folder in named or folders]
    existing = [entry for entry in entries if os.path.lexists(entry)]
    if len(existing) == 1:
        return existing[0]
    candidates = [display(Path(os.path.normpath(entry)), folders) for entry in existing or entries]
    raise ToolFailed(
        "INVALID_ARGUMENTS",
        f"{text!r} fits several workspace folders: say which one: {', '.join(candidates)}",
    )


def _best_spelling(base: str | Path, text: str) -> Path:
    """A path below `base` as it stands, or percent-decoded if only that exists."""
    path = _spelled(Path(base), text)
    if "%" in text and not os.path.lexists(path):
        decoded = unquote(text)
        if "\0" not in decoded:
            other = _spelled(Path(base), decoded)
            if os.path.lexists(other):
                return other
    return path


def _spelled(base: Path, text: str = "") -> Path:
    """A path with each part as the directory spells it; `..` goes up from where links lead."""
    whole = base / text
    current = Path(whole.anchor)
    for part in whole.parts[1:]:
        if part == "..":
            current = Path(os.path.realpath(current)).parent
        else:
            current = current / _entry_name(current, part)
    return current


def _entry_name(folder: Path, name: str) -> str:
    """The name of the entry that `name` means in a folder; the name itself if there is none.

    An entry with another normalisation form or, on a volume that ignores case, another case is the same.
    """
    exact = folder / name
    if os.path.lexists(exact):
        if name.swapcase() == name or not _same_entry(exact, folder / name.swapcase()):
            return name
        alike = [n for n in _entries(folder) if _nfc(n).casefold() == _nfc(name).casefold()]
        return name if name in alike or len(alike) != 1 else alike[0]
    if name.isascii():
        return name
    alike = [n for n in _entries(folder) if _nfc(n) == _nfc(name)]
    if len(alike) > 1:
        raise ToolFailed(
            "INVALID_ARGUMENTS",
            f"{name!r} fits {len(alike)} files that differ only in their Unicode form: ask the person",
        )
    return alike[0] if alike else name


def _same_entry(one: Path, other: Path) -> bool:
    try:
        return os.path.samestat(one.lstat(), other.lstat())
    except OSError:
        return False


def _entries(folder: Path) -> list[str]:
    try:
        return [entry.name for entry in folder.iterdir()]
    except OSError:
        return []


def _nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)
