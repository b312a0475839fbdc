"""A real package from the public index, pinned by hash: fetched once, kept in the user's cache."""

from __future__ import annotations

import hashlib
import os
import site
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path

import pytest

VERSION = "2.3.0"
ARCHIVE = f"iniconfig-{VERSION}.tar.gz"
SHA256 = "c76315c77db068650d49c5b56314774a7804df16fee4402c1f19d6d15d8c4730"
FETCH_SECONDS = 45
TESTS = ["python", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
"""The package's own test command, with the Python of its folder's virtual environment."""


def archive() -> Path:
    """The source distribution. Skips the test where the index cannot be reached."""
    base = os.environ.get("XDG_CACHE_HOME")
    cache = (Path(base) if base else Path.home() / ".cache") / "steersman-tests"
    kept = cache / ARCHIVE
    if kept.exists() and _is_it(kept):
        return kept
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        fetched = _fetch(Path(folder))
        assert _is_it(fetched), f"the fetched {ARCHIVE} is not the pinned one"
        return fetched.replace(kept)


def unpack(packed: Path, into: Path) -> Path:
    """The package's folder, ready for work: unpacked, with an environment that imports its `src`."""
    with tarfile.open(packed) as tar:
        tar.extractall(into, filter="data")
    folder = into / ARCHIVE.removesuffix(".tar.gz")
    make_environment(folder, folder / "src")
    return folder


def make_environment(folder: Path, *first: Path) -> None:
    """A virtual environment in a folder, that borrows this one's packages, pytest among them.

    `first` are folders that come before those: the package's tests must import the unpacked iniconfig and
    not the one that pytest itself brings.
    """
    venv.create(folder / ".venv", with_pip=False, symlinks=os.name == "posix")
    (packages,) = (folder / ".venv").rglob("site-packages")
    borrowed = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    lines = [*map(str, first), *(borrowed or site.getsitepackages())]
    (packages / "workspace.pth").write_text("\n".join(lines) + "\n", encoding="utf-8")


def run_its_tests(folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run the package's suite, apart from the product."""
    programs = folder / ".venv" / ("Scripts" if os.name == "nt" else "bin")
    command = [str(programs / TESTS[0]), *TESTS[1:]]
    return subprocess.run(
        command, cwd=folder, env=env, capture_output=True, encoding="utf-8", timeout=50, check=False
    )


def contents(folder: Path) -> dict[str, bytes]:
    """Every file's bytes by its relative path, without the environment and compiled modules."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    relative = {path.relative_to(folder): path for path in files}
    return {
        name.as_posix(): path.read_bytes()
        for name, path in relative.items()
        if name.parts[0] != ".venv" and "__pycache__" not in name.parts
    }


def _is_it(path: Path) -> bool:
    return hashlib.sha256(path.read_bytes()).hexdigest() == SHA256


def _fetch(folder: Path) -> Path:
    """By the ordinary client, which checks the hash too."""
    (folder / "pin.txt").write_text(f"iniconfig=={VERSION} --hash=sha256:{SHA256}\n", encoding="ascii")
    options = ["--quiet", "--no-deps", "--no-binary=iniconfig", "--require-hashes", "-r", "pin.txt"]
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", *options]
    try:
        ended = subprocess.run(
            command, cwd=folder, capture_output=True, encoding="utf-8", timeout=FETCH_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"{ARCHIVE} could not be fetched in {FETCH_SECONDS} s")
    if ended.returncode != 0:
        pytest.skip(f"{ARCHIVE} could not be fetched: {ended.stderr.strip().splitlines()[-1:]}")
    return folder / ARCHIVE
