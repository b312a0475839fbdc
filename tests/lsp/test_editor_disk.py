"""Closed files: read as what they are, changed atomically or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steersman.domain.digest import digest
from steersman.errors import ToolFailed
from steersman.lsp import disk


@pytest.mark.parametrize(
    ("raw", "text", "encoding", "bom"),
    [
        (b"", "", "utf-8", False),
        (b"\xef\xbb\xbfimport os\r\n", "import os\r\n", "utf-8", True),
        ("mid\ufeffdle\r".encode(), "mid\ufeffdle\r", "utf-8", False),
        ("é😀\n".encode("utf-16"), "é😀\n", "utf-16-le", True),
        (b"\xfe\xff" + "é😀\n".encode("utf-16-be"), "é😀\n", "utf-16-be", True),
    ],
)
def test_a_text_is_read_without_its_mark_and_written_back_byte_for_byte(
    tmp_path: Path, raw: bytes, text: str, encoding: str, bom: bool
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(raw)
    found = disk.read_text(path)
    assert found is not None
    assert (found.text, found.encoding, found.bom) == (text, encoding, bom)
    disk.replace_text(path, found.digest, text + "x")
    disk.replace_text(path, digest(text + "x"), text)
    assert path.read_bytes() == raw


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff"), max_size=40))
def test_any_text_survives_a_round(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfold")
    disk.replace_text(path, digest("old"), text)
    found = disk.read_text(path)
    assert found is not None
    assert found.text == text
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b"GIF89a\0\1", "is binary"),
        ("a\u00e9".encode("latin-1"), r"is not UTF-8 text \(byte 1\)"),
        ("text".encode("utf-32"), "is binary"),
        (b"\xff\xfea", "is not UTF-16-LE text"),
        (b"x" * (disk.SIZE_LIMIT + 1), "is too large"),
    ],
)
def test_what_is_no_text_is_refused_and_says_why(tmp_path: Path, raw: bytes, problem: str) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(raw)
    with pytest.raises(ToolFailed, match=f"a.bin {problem}") as failed:
        disk.read_text(path)
    assert failed.value.code == "FAILED"


def test_folders_pipes_and_missing_files_are_told_apart(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ToolFailed, match="is a folder"):
        disk.read_text(tmp_path)
    with pytest.raises(ToolFailed, match="pipe is not a regular file"):
        disk.read_text(tmp_path / "pipe")
    assert disk.read_text(tmp_path / "none") is None
    (tmp_path / "file").touch()
    assert disk.read_text(tmp_path / "file" / "below") is None
    with pytest.raises(ToolFailed, match="cannot be read"):
        disk.read_text(tmp_path / ("long" * 100))


def test_a_write_keeps_the_mode_and_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_text("old")
    path.chmod(0o754)
    disk.replace_text(path, digest("old"), "new")
    assert path.stat().st_mode & 0o7777 == 0o754
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.sh"]


def test_a_link_is_written_through_and_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to("target")
    disk.replace_text(tmp_path / "link", digest("old"), "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"


def test_a_text_that_is_not_the_one_seen_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("theirs")
    with pytest.raises(disk.Changed, match="changed"):
        disk.replace_text(path, digest("mine"), "new")
    assert path.read_text() == "theirs"
    path.unlink()
    with pytest.raises(disk.Changed, match="gone"):
        disk.replace_text(path, digest("mine"), "new")
    assert not path.exists()


def test_a_write_that_comes_between_reading_and_renaming_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    times = path.stat()
    real_fsync = os.fsync

    def someone_writes(descriptor: int) -> None:
        real_fsync(descriptor)
        path.write_text("ala")  # the same size, and soon the same time
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    monkeypatch.setattr(os, "fsync", someone_writes)
    with pytest.raises(disk.Changed):
        disk.replace_text(path, digest("old"), "new")
    assert path.read_text() == "ala"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


def test_a_write_protected_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o444)
    with pytest.raises(ToolFailed, match="write-protected"):
        disk.replace_text(path, digest("old"), "new")
    assert path.read_text() == "old"


def test_a_full_disk_leaves_the_old_text_and_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ToolFailed, match="No space left"):
        disk.replace_text(path, digest("old"), "new")
    with pytest.raises(ToolFailed, match="No space left"):
        disk.create_text(tmp_path / "b.txt", "new")
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


def test_a_file_is_created_with_its_folders_and_never_over_another(tmp_path: Path) -> None:
    path = tmp_path / "new" / "deep" / "a.txt"
    disk.create_text(path, "text\r\n")
    assert path.read_bytes() == b"text\r\n"
    umask = os.umask(0)
    os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask
    with pytest.raises(disk.Changed, match="there already"):
        disk.create_text(path, "other")
    (tmp_path / "dangling").symlink_to("nowhere")
    with pytest.raises(disk.Changed):
        disk.create_text(tmp_path / "dangling", "other")
    assert not (tmp_path / "nowhere").exists()
    assert [entry.name for entry in path.parent.iterdir()] == ["a.txt"]


def test_creating_works_where_the_file_system_has_no_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    disk.create_text(tmp_path / "a.txt", "text")
    with pytest.raises(disk.Changed):
        disk.create_text(tmp_path / "a.txt", "other")
    assert (tmp_path / "a.txt").read_text() == "text"


def test_renaming_and_deleting_say_what_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").write_text("b")
    with pytest.raises(disk.Changed, match="at the new path"):
        disk.rename(tmp_path / "a", tmp_path / "b")
    disk.rename(tmp_path / "a", tmp_path / "c" / "d")
    assert (tmp_path / "c" / "d").read_text() == "a"
    with pytest.raises(disk.Changed, match="gone"):
        disk.rename(tmp_path / "a", tmp_path / "e")
    disk.delete(tmp_path / "c")
    disk.delete(tmp_path / "b")
    with pytest.raises(disk.Changed, match="gone"):
        disk.delete(tmp_path / "b")
    assert list(tmp_path.iterdir()) == []
