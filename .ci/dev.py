"""The README's commands on a fresh clone: `demo` and `test`; and `lock`, which renews the pinned packages.

Uses only the standard library. It writes to the virtual environment, and (`lock`) to `.ci/lock`;
never to the system's Python.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parents[1]
LOCKS = ROOT / ".ci" / "lock"
OLDEST_PYTHON = (3, 11)
EDITABLE_BUILD = ["editables"]
"""What hatchling wants for an editable installation and pyproject.toml cannot name."""
COVERS = {"runtime": ("runtime", "dev"), "dev": ("dev",)}
"""A lock's packages are there when one of these has been installed: dev holds all of runtime."""


def main(argv: list[str] | None = None) -> int:
    if sys.version_info < OLDEST_PYTHON:
        _fail(f"this is Python {sys.version.split()[0]}; Steersman needs {_oldest()} or newer")
    arguments, rest = _parser().parse_known_args(argv)
    if arguments.command == "lock":
        if rest:
            _fail(f"lock takes no arguments, got {' '.join(rest)}")
        return lock()
    python = ready("runtime" if arguments.command == "demo" else "dev")
    if arguments.command == "demo":
        _become(python, ["-m", "steersman", "demo", *rest], Path.cwd())
    _become(python, ["-m", "pytest", *rest], ROOT)


def ready(name: str) -> Path:
    """The Python of an environment that has the packages of a lock, and Steersman. Instant if it is there."""
    environment = _environment_folder()
    python = _python_of(environment)
    stamps = {lock_name: environment / f"steersman-{lock_name}.stamp" for lock_name in COVERS}
    if python.exists() and any(_holds(stamps[other], _fingerprint(other)) for other in COVERS[name]):
        return python
    _make(environment)
    _install(python, name)
    stamps[name].write_text(_fingerprint(name), encoding="ascii")
    return python


def lock() -> int:
    """Resolve the dependencies of pyproject.toml anew, with hashes, for every platform."""
    import tomllib  # here, because an older Python must get as far as the message in main

    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]
    with tempfile.TemporaryDirectory(prefix="steersman-lock-") as folder:
        tools = Path(folder) / "venv"
        _make(tools)
        _run([str(_python_of(tools)), "-m", "pip", "install", "--quiet", "uv"])
        for name, groups in (("runtime", []), ("dev", ["--group", "dev"])):
            options = [
                "--universal",
                "--generate-hashes",
                "--no-emit-index-url",
                "--no-header",
                "--upgrade",
                "--quiet",
                f"--python-version={_oldest()}",
                f"--output-file={LOCKS / name}.txt",
            ]
            compile_command = [str(_python_of(tools)), "-m", "uv", "pip", "compile", "pyproject.toml", "-"]
            _run([*compile_command, *options, *groups], text="\n".join([*build, *EDITABLE_BUILD]))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dev.py", description="Run Steersman from a clone.")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (
        ("demo", "repair a small broken project, with the model of your environment or a script"),
        ("test", "run the tests; further arguments go to pytest"),
        ("lock", "renew .ci/lock from pyproject.toml"),
    ):
        commands.add_parser(name, help=text, add_help=False)
    return parser


def _oldest() -> str:
    return ".".join(map(str, OLDEST_PYTHON))


def _environment_folder() -> Path:
    given = os.environ.get("STEERSMAN_VENV")
    return Path(given).expanduser().absolute() if given else ROOT / ".venv"


def _python_of(environment: Path) -> Path:
    return environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _fingerprint(name: str) -> str:
    """What an installation depends on: the lock, the project file, the place of the clone, the Python."""
    seen = hashlib.sha256(f"{sys.version_info[:2]} {ROOT}".encode("utf-8", "surrogateescape"))
    for path in (LOCKS / f"{name}.txt", ROOT / "pyproject.toml"):
        seen.update(hashlib.sha256(path.read_bytes()).digest())
    return seen.hexdigest()


def _holds(stamp: Path, text: str) -> bool:
    return stamp.exists() and stamp.read_text(encoding="ascii", errors="replace") == text


def _make(environment: Path) -> None:
    if importlib.util.find_spec("ensurepip") is None:
        _fail("this Python cannot make virtual environments: install its venv module (Debian: python3-venv)")
    if environment.exists() and any(environment.iterdir()) and not (environment / "pyvenv.cfg").exists():
        _fail(f"{environment} is not a virtual environment: move it away, or set STEERSMAN_VENV")
    if not _python_of(environment).exists():
        _say(f"making {environment}")
        venv.create(environment, with_pip=True, clear=environment.exists())


def _install(python: Path, name: str) -> None:
    """The pinned packages, as wheels only: building one would fetch tools that nobody pinned."""
    _say(f"installing the packages of .ci/lock/{name}.txt")
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*pip, "--require-hashes", "--only-binary=:all:", "-r", str(LOCKS / f"{name}.txt")])
    _run([*pip, "--no-deps", "--no-build-isolation", "--no-index", "-e", str(ROOT)])


def _run(command: list[str], *, text: str = "") -> None:
    ended = subprocess.run(command, cwd=ROOT, input=text, encoding="utf-8")
    if ended.returncode != 0:
        _fail(f"this failed with {ended.returncode}: {' '.join(command)}")


def _become(python: Path, arguments: list[str], cwd: Path) -> NoReturn:
    """Run it in place of this process, as if its environment were activated."""
    command = [str(python), *arguments]
    environment = os.environ | {
        "VIRTUAL_ENV": str(python.parents[1]),
        "PATH": os.pathsep.join([str(python.parent), os.environ.get("PATH", os.defpath)]),
    }
    sys.stdout.flush()
    os.chdir(cwd)
    if os.name == "posix":
        os.execve(python, command, environment)  # noqa: S606 – this is the point: signals reach it
    raise SystemExit(subprocess.call(command, env=environment))


def _say(text: str) -> None:
    print(f"dev.py: {text}", file=sys.stderr, flush=True)


def _fail(text: str) -> NoReturn:
    _say(text)
    raise SystemExit(2)


if __name__ == "__main__":
    sys.exit(main())
