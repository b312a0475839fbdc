"""The writer's lock within one process. How it dies with its process is shown in tests/recovery."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from steersman.store.lock import Holder, ProcessLock, read_holder


def test_a_held_lock_is_not_taken_twice_and_is_free_after_release(tmp_path: Path) -> None:
    first = ProcessLock.take(tmp_path / "lock")
    assert first is not None
    assert ProcessLock.take(tmp_path / "lock") is None
    first.release()
    first.release()
    second = ProcessLock.take(tmp_path / "lock")
    assert second is not None
    second.release()


def test_the_holder_is_named(tmp_path: Path) -> None:
    lock = ProcessLock.take(tmp_path / "lock")
    assert lock is not None
    holder = read_holder(tmp_path / "lock")
    assert holder is not None
    assert (holder.pid, holder.host) == (os.getpid(), socket.gethostname())
    assert holder.since > 1_600_000_000_000
    lock.release()


def test_a_shorter_name_leaves_nothing_of_a_longer_one(tmp_path: Path) -> None:
    (tmp_path / "lock").write_bytes(b'{"pid":1,"host":"' + b"h" * 1000 + b'","since":1}')
    lock = ProcessLock.take(tmp_path / "lock")
    assert lock is not None
    assert isinstance(read_holder(tmp_path / "lock"), Holder)
    lock.release()


@pytest.mark.parametrize("junk", [b"", b"{", b"[]", b'{"pid":"x"}', b"\xff\xfe", b"x" * 10_000])
def test_an_unreadable_name_is_no_name(tmp_path: Path, junk: bytes) -> None:
    (tmp_path / "lock").write_bytes(junk)
    assert read_holder(tmp_path / "lock") is None
    assert read_holder(tmp_path / "missing") is None


def test_a_lock_on_a_deleted_file_binds_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is deleted and made anew between opening and locking it: the new one is locked."""
    path = tmp_path / "lock"
    real, swapped = os.open, []

    def open_then_swap(*args: object, **kwargs: object) -> int:
        descriptor = real(*args, **kwargs)  # type: ignore[arg-type]
        if not swapped:
            swapped.append(True)
            path.unlink()
            path.touch()
        return descriptor

    monkeypatch.setattr(os, "open", open_then_swap)
    lock = ProcessLock.take(path)
    assert lock is not None
    assert ProcessLock.take(path) is None
    lock.release()


def test_a_lock_in_a_folder_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        ProcessLock.take(tmp_path / "gone" / "lock")
