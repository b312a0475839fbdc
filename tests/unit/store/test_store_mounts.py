"""Network file systems are found by their mount."""

from __future__ import annotations

from pathlib import Path

import pytest

from steersman.errors import StorageFailed
from steersman.store import mounts as mounts_module
from tests.unit.store.rows import ClosingStore


def mount(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *mounts: tuple[str, str]) -> None:
    """Pretend that these are the mounts of this machine: where, and of which kind."""
    table = tmp_path / "mountinfo"
    table.write_text(
        "".join(
            f"{n} 1 0:{n} / {point} rw,relatime shared:{n} - {kind} source rw\n"
            for n, (point, kind) in enumerate(mounts)
        )
    )
    monkeypatch.setattr(mounts_module, "MOUNTINFO", table)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/local/state", None),
        ("/net/home/state", "nfs4"),
        ("/net", "nfs4"),
        ("/network/state", None),
        ("/net/scratch/state", None),
        ("/with space/state", "fuse.sshfs"),
        ("/covered/state", "cifs"),
    ],
)
def test_the_deepest_and_latest_mount_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, kind: str | None
) -> None:
    mount(
        tmp_path,
        monkeypatch,
        ("/", "ext4"),
        ("/net", "nfs4"),
        ("/net/scratch", "xfs"),
        ("/with\\040space", "fuse.sshfs"),
        ("/covered", "ext4"),
        ("/covered", "cifs"),
    )
    assert mounts_module.network_file_system(Path(path)) == kind


def test_without_usable_mount_information_nothing_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mounts_module, "MOUNTINFO", tmp_path / "missing")
    assert mounts_module.network_file_system(tmp_path) is None
    (tmp_path / "missing").write_bytes(b"\n\nno mount at all\n1 2 3 - nfs\n\xff\xfe")
    assert mounts_module.network_file_system(tmp_path) is None


def test_this_machine_s_temporary_folder_is_local(tmp_path: Path) -> None:
    assert mounts_module.network_file_system(tmp_path) is None


async def test_a_session_on_a_network_folder_is_read_but_never_written(
    store: ClosingStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = await store.create("s-1", None)
    await log.close()
    mount(tmp_path, monkeypatch, ("/", "nfs"))
    told = r"network file system \(nfs\).*stateDir"
    with pytest.raises(StorageFailed, match=told):
        await store.open("s-1")
    with pytest.raises(StorageFailed, match=told):
        await store.create("s-2", None)
    assert await store.count() == 1
    with pytest.raises(StorageFailed, match=told):
        await store.delete("s-1")
    reader = await store.open_reader("s-1")
    assert await reader.last_seq() == 0
    await reader.close()
