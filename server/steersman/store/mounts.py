"""Whether a folder lies on a network file system, where neither locks nor shared memory can be trusted."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from steersman.errors import StorageFailed

MOUNTINFO: Final = Path("/proc/self/mountinfo")
_MOUNT: Final = re.compile(r"^\d+ \d+ \S+ \S+ (?P<point>\S+) .*? - (?P<kind>\S+)", re.MULTILINE)
_NETWORK: Final = frozenset(
    {
        "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "fuse.ceph", "fuse.curlftpfs", "fuse.davfs2",
        "fuse.glusterfs", "fuse.gvfsd-fuse", "fuse.rclone", "fuse.s3fs", "fuse.sshfs", "glusterfs", "gfs2",
        "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "smb3", "smbfs",
    }
)  # fmt: skip


def network_file_system(path: Path) -> str | None:
    """The name of the network file system that `path` lies on, or None.

    Knows Linux mounts and Windows network shares; elsewhere it finds nothing.
    """
    real = path.resolve()
    if real.drive.startswith("\\\\"):
        return "network share"
    try:
        mounts = MOUNTINFO.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    kind, deepest = "", -1
    for match in _MOUNT.finditer(mounts):
        point = Path(_unescape(match["point"]))
        if real.is_relative_to(point) and len(point.parts) >= deepest:  # the later mount covers the earlier
            kind, deepest = match["kind"], len(point.parts)
    return kind if kind in _NETWORK else None


def refuse_network(folder: Path) -> None:
    """Raises StorageFailed if `folder` lies on a network file system."""
    if (kind := network_file_system(folder)) is not None:
        raise StorageFailed(
            f"{folder} lies on a network file system ({kind}), where a log is not safe to write. "
            "Set the state folder (stateDir) to a local disk; reading works."
        )


def _unescape(text: str) -> str:
    """Undo the kernel's octal escapes of blanks and backslashes."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)
