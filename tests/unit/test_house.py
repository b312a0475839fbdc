"""The house keeps its own rules: where things are, what is pinned, what is never named or loaded early."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from steersman import errors

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "server" / "steersman"
BUNDLED_PROJECT = PACKAGE / "demo"
MOST_LINES = 400
TOP_LEVEL = {"pyproject.toml", "README.md", "LICENSE", "server", "client-vscode", "tests"}
LOCKED_GROUPS = {"runtime": [], "dev": ["dev"]}
# Spelled in pieces, so that this file does not name what it forbids.
REGISTRIES = [".".join(words) for words in (("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"))]
MACHINE_PATH = re.compile(
    r"(?<![\w./~-])/(?:" + "|".join(("work", "root", "home/[a-z]", "Users/[a-z]")) + ")/"
)
TREE_LINE = re.compile(r"^(?P<rails>[│├└─ ]*)(?P<names>[A-Z]\w+(?:, [A-Z]\w+)*)(?:  .*)?$")


def modules() -> list[Path]:
    """The product's modules; the project that the demo repairs is data."""
    return sorted(path for path in PACKAGE.rglob("*.py") if BUNDLED_PROJECT not in path.parents)


def locked(name: str) -> dict[str, Requirement]:
    """A lock's pins by their normal names."""
    text = (ROOT / ".ci" / "lock" / f"{name}.txt").read_text(encoding="utf-8")
    pins = [Requirement(line.rstrip("\\ ")) for line in text.splitlines() if re.match(r"[a-z0-9]", line)]
    return {normal(pin.name): pin for pin in pins}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def wanted(name: str) -> list[Requirement]:
    """What pyproject.toml asks a lock to hold."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    groups = [line for group in LOCKED_GROUPS[name] for line in project["dependency-groups"][group]]
    lines = [*project["build-system"]["requires"], *project["project"]["dependencies"], *groups]
    return [Requirement(line) for line in lines]


def version_of(pin: Requirement) -> str:
    """The one version of a pin."""
    (specifier,) = pin.specifier
    assert specifier.operator == "==", f"{pin} is not pinned"
    return specifier.version


def tracked() -> list[Path]:
    if not (ROOT / ".git").exists():
        pytest.skip("this is not a git checkout, so there is no list of its files")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    paths = [ROOT / name for name in listed.decode("utf-8", "surrogateescape").split("\0") if name]
    return [path for path in paths if path.is_file()]


def texts() -> Iterator[tuple[Path, str]]:
    for path in tracked():
        data = path.read_bytes()
        if b"\0" not in data:
            yield path, data.decode("utf-8", "replace")


def drawn_tree() -> dict[str, str | None]:
    """The classes that the docstring of `steersman.errors` draws, each with the class that it hangs under."""
    parents: dict[str, str | None] = {}
    above: list[tuple[int, str]] = []
    for line in (errors.__doc__ or "").splitlines()[1:]:
        if (found := TREE_LINE.match(line)) is None:
            continue
        depth = len(found["rails"])
        above = [(place, name) for place, name in above if place < depth]
        for name in found["names"].split(", "):
            parents[name] = above[-1][1] if above else None
        above.append((depth, name))
    return parents


@pytest.mark.parametrize("name", LOCKED_GROUPS)
def test_a_lock_holds_what_pyproject_asks_for(name: str) -> None:
    pins = locked(name)
    missing = [
        str(need)
        for need in wanted(name)
        if normal(need.name) not in pins or not need.specifier.contains(version_of(pins[normal(need.name)]))
    ]
    assert missing == [], "renew the lock: python3 .ci/dev.py lock"


@pytest.mark.parametrize("name", LOCKED_GROUPS)
def test_every_pin_of_a_lock_has_a_hash(name: str) -> None:
    text = (ROOT / ".ci" / "lock" / f"{name}.txt").read_text(encoding="utf-8")
    entries = re.split(r"\n(?=[a-z0-9])", text)
    assert len(entries) == len(locked(name))
    assert [entry.split()[0] for entry in entries if "--hash=sha256:" not in entry] == []


def test_the_locks_agree() -> None:
    runtime, dev = locked("runtime"), locked("dev")
    assert {name: str(pin) for name, pin in runtime.items()} == {name: str(dev[name]) for name in runtime}


def test_the_top_level_is_what_the_house_says() -> None:
    names = {path.relative_to(ROOT).parts[0] for path in tracked()}
    assert {name for name in names if not name.startswith(".")} == TOP_LEVEL


def test_no_tracked_file_names_a_registry_or_a_path_of_a_machine() -> None:
    assert MACHINE_PATH.search("see /" + "work/main")
    found = [
        f"{path.relative_to(ROOT)}: {hit}"
        for path, text in texts()
        for hit in [*(host for host in REGISTRIES if host in text), *MACHINE_PATH.findall(text)]
    ]
    assert found == []


def test_a_module_fits_its_question() -> None:
    """Blank lines are free: they separate, and nobody reads them."""
    lines = {
        path: sum(1 for line in path.read_text("utf-8").splitlines() if line.strip()) for path in modules()
    }
    assert {
        str(path.relative_to(PACKAGE)): count for path, count in lines.items() if count > MOST_LINES
    } == {}


def test_every_module_says_what_it_is_for() -> None:
    silent = [path for path in modules() if not ast.get_docstring(ast.parse(path.read_text("utf-8")))]
    assert [str(path.relative_to(PACKAGE)) for path in silent] == []


def test_the_tree_of_errors_is_drawn_as_it_is() -> None:
    classes = {
        name: kind
        for name, kind in vars(errors).items()
        if inspect.isclass(kind) and issubclass(kind, errors.SteersmanError)
    }
    bases = {name: kind.__bases__[0].__name__ for name, kind in classes.items()}
    assert drawn_tree() == {name: base if base in classes else None for name, base in bases.items()}


def test_no_error_of_the_tree_lives_elsewhere() -> None:
    tree = set(drawn_tree())
    strays = [
        f"{path.relative_to(PACKAGE)}: {node.name}"
        for path in modules()
        if path != PACKAGE / "errors.py"
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ClassDef) and {ast.unparse(base).split(".")[-1] for base in node.bases} & tree
    ]
    assert strays == []


def test_the_server_starts_without_the_model_client_and_the_database() -> None:
    heavy = ("openai", "httpx2", "aiosqlite")
    program = f"import sys, steersman.lsp.server; print([m for m in {heavy!r} if m in sys.modules])"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ended.stdout.strip(), ended.stderr) == ("[]", "")
