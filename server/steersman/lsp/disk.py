"""Closed files: reading them as text, and changing them atomically for clients that cannot apply edits.

Functions here block: call them from a worker thread. They refuse rather than damage: a file that is not
text, or that is no longer what the caller saw, is left as it is.
"""

from __future__ import annotations

import codecs
import os
import secrets
import shutil
import stat
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from steersman.domain.digest import digest
from steersman.errors import ToolFailed

SIZE_LIMIT: Final = 8 * 1024 * 1024
"""The largest file that is read as text, in bytes."""

_BINARY_PROBE: Final = 8192

Signature = tuple[int, int, int, int, int]
"""Device, inode, size, mtime and ctime in nanoseconds: no write leaves all of them as they were."""


class _Mark(NamedTuple):
    bom: bytes
    encoding: str


_MARKS: Final = (
    _Mark(codecs.BOM_UTF8, "utf-8"),
    _Mark(codecs.BOM_UTF16_LE, "utf-16-le"),
    _Mark(codecs.BOM_UTF16_BE, "utf-16-be"),
)


class DiskText(msgspec.Struct, frozen=True, kw_only=True):
    """A text file as it is on the disk. `text` has no byte order mark and its own line ends."""

    text: str
    digest: str
    encoding: str
    bom: bool
    mode: int
    signature: Signature


class Changed(Exception):
    """The file is not what the caller saw: nothing was done. The text says what is there instead."""


def is_there(path: Path) -> bool:
    """Whether there is anything at a path, be it a dangling link."""
    return os.path.lexists(path)


def leads_elsewhere(path: Path) -> bool:
    """Whether what was a real path now goes through a link."""
    return Path(os.path.realpath(path)) != path


def signature_of(path: Path) -> Signature | None:
    """The signature of what is at a path (links followed), None if there is nothing or it is hidden."""
    try:
        return _signature(path.stat())
    except (OSError, ValueError):
        return None


def read_text(path: Path) -> DiskText | None:
    """Read a text file; None if there is none.

    Raises:
        ToolFailed: `FAILED` – a directory or special file, too large, binary, not UTF-8 (or UTF-16 with
            a byte order mark), not readable.
    """
    try:
        if path.is_dir():
            raise _failed(path, "is a folder")
        raw, status = _read_bytes(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _failed(path, f"cannot be read: {error.strerror or error}") from error
    mark = _mark_of(raw)
    text = _decode(path, raw, mark)
    return DiskText(
        text=text,
        digest=digest(text),
        encoding=mark.encoding,
        bom=bool(mark.bom),
        mode=stat.S_IMODE(status.st_mode),
        signature=_signature(status),
    )


def replace_text(path: Path, seen_digest: str, text: str) -> None:
    """Replace the text of a file that still is what the caller saw; mode, encoding and mark stay.

    A symbolic link is followed: its target is written, the link stays.

    Raises:
        Changed: the file is gone or holds another text.
        ToolFailed: `FAILED` – write-protected, disk full, the text does not fit the encoding, …
    """
    real = Path(os.path.realpath(path))
    before = read_text(real)
    if before is None:
        raise Changed("the file is gone")
    if before.digest != seen_digest:
        raise Changed("the file on the disk changed since it was read")
    if not before.mode & 0o222 or not os.access(real, os.W_OK):
        raise _failed(real, "is write-protected")
    data = _encode(real, text, before)
    try:
        temporary = _write_beside(real, data, before.mode)
        try:
            if signature_of(real) != before.signature:
                raise Changed("the file on the disk changed while it was written")
            temporary.replace(real)
        finally:
            temporary.unlink(missing_ok=True)
        _sync_folder(real.parent)
    except OSError as error:
        raise _failed(real, f"cannot be written: {error.strerror or error}") from error


def create_text(path: Path, text: str) -> None:
    """Create a UTF-8 file, with its folders. Raises Changed if something is there, ToolFailed `FAILED`."""
    data = text.encode("utf-8", "replace")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = _write_beside(path, data, None)
        try:
            _place_new(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        _sync_folder(path.parent)
    except OSError as error:
        raise _failed(path, f"cannot be created: {error.strerror or error}") from error


def rename(path: Path, new_path: Path) -> None:
    """Rename a file or folder, never over something. Raises Changed, ToolFailed `FAILED`."""
    if not is_there(path):
        raise Changed("it is gone")
    if is_there(new_path):
        raise Changed("something is at the new path already")
    try:
        new_path.parent.mkdir(parents=True, exist_ok=True)
        path.rename(new_path)
    except OSError as error:
        raise _failed(path, f"cannot be renamed: {error.strerror or error}") from error


def delete(path: Path) -> None:
    """Delete a file, or a folder with its content; a link itself. Raises Changed, ToolFailed `FAILED`."""
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    except FileNotFoundError:
        raise Changed("it is gone") from None
    except OSError as error:
        raise _failed(path, f"cannot be deleted: {error.strerror or error}") from error


def _failed(path: Path, problem: str) -> ToolFailed:
    return ToolFailed("FAILED", f"{path.name} {problem}.")


def _signature(status: os.stat_result) -> Signature:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _read_bytes(path: Path) -> tuple[bytes, os.stat_result]:
    # Not blocking, so that a pipe in the file's place cannot hold the thread.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise _failed(path, "is not a regular file")
        raw = file.read(SIZE_LIMIT + 1)
    if len(raw) > SIZE_LIMIT:
        raise _failed(path, f"is too large ({status.st_size} bytes; the limit is {SIZE_LIMIT})")
    return raw, status


def _mark_of(raw: bytes) -> _Mark:
    if raw.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return _Mark(b"", "utf-8")  # its zero bytes make it binary, as they do in every editor's eyes
    return next((mark for mark in _MARKS if raw.startswith(mark.bom)), _Mark(b"", "utf-8"))


def _decode(path: Path, raw: bytes, mark: _Mark) -> str:
    if mark.encoding == "utf-8" and b"\0" in raw[:_BINARY_PROBE]:
        raise _failed(path, f"is binary ({len(raw)} bytes)")
    try:
        return raw[len(mark.bom) :].decode(mark.encoding)
    except UnicodeDecodeError as error:
        raise _failed(
            path, f"is not {mark.encoding.upper()} text (byte {error.start}): convert it to UTF-8 first"
        ) from None


def _encode(path: Path, text: str, before: DiskText) -> bytes:
    mark = next((m.bom for m in _MARKS if m.encoding == before.encoding), b"") if before.bom else b""
    try:
        return mark + text.encode(before.encoding)
    except UnicodeEncodeError as error:
        raise _failed(path, f"cannot hold character {error.start} of the new text") from None


def _write_beside(path: Path, data: bytes, mode: int | None) -> Path:
    """A durable temporary file in the same folder; `mode` None leaves it to the umask."""
    temporary = path.with_name(f".{path.name[:40]}.{secrets.token_hex(6)}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(temporary, flags, 0o666 if mode is None else 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            temporary.chmod(mode)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


def _place_new(temporary: Path, path: Path) -> None:
    """Give a written file its name. A link fails where a rename would overwrite."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise Changed("something is there already") from None
    except OSError:  # a file system without links
        rename(temporary, path)


def _sync_folder(folder: Path) -> None:
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
