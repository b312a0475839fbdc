"""Deliberate defects as patches, and the run that shows whether the tests notice one.

A mutant is a file `tests/mutants/AREA/NAME.patch`: what is wrong in words, the tests that must fail, and a
unified diff against the product.

    Defect: a result that is committed twice is taken.
    Caught-by: tests/unit/domain/test_fold.py::test_a_doubled_event_is_refused

    --- a/server/steersman/domain/fold_tools.py
    +++ b/server/steersman/domain/fold_tools.py
    @@ ...

Several `Caught-by` lines may stand there; each of them must fail. The patch is applied to a temporary copy:
the product itself has no switch for its mutants, and the checkout is never touched.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
SECONDS = 120
_FAILED = 1  # pytest's exit code for failed tests; everything above it is no judgement


@dataclass(frozen=True)
class Mutant:
    """One defect. `caught_by` are pytest node ids, relative to the top of the checkout."""

    path: Path
    defect: str
    caught_by: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.path.relative_to(HERE).with_suffix("").as_posix()

    @property
    def area(self) -> str:
        """What it damages: a folder of `tests/mutants`."""
        return self.path.parent.name


class NotAMutant(Exception):
    """A patch that says nothing: it lacks its words, does not apply, or changes nothing that is tested."""


def mutants() -> list[Mutant]:
    """All mutants, by name. Raises NotAMutant for a patch without its words."""
    return [read(path) for path in sorted(HERE.glob("*/*.patch"))]


def read(path: Path) -> Mutant:
    head = path.read_text(encoding="utf-8").partition("\n--- ")[0]
    defect = re.findall(r"^Defect: (\S.*)$", head, re.MULTILINE)
    caught_by = re.findall(r"^Caught-by: (tests/\S+\.py::\S.*)$", head, re.MULTILINE)
    if len(defect) != 1 or not caught_by:
        raise NotAMutant(f"{path.name} needs one line 'Defect: …' and a line 'Caught-by: tests/…::test_…'")
    return Mutant(path, defect[0], tuple(caught_by))


def survivors(mutant: Mutant) -> str | None:
    """None if each of its tests fails on the mutant, else what pytest said.

    Raises:
        NotAMutant: the patch does not apply, or a test of it could not be run at all.
    """
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        copy = Path(folder)
        copy_product(copy)
        apply(mutant, copy)
        for node in mutant.caught_by:
            try:
                ended = judge(copy, node)
            except subprocess.TimeoutExpired:
                raise NotAMutant(f"{mutant.name}: {node} takes longer than {SECONDS} s") from None
            if ended.returncode == 0:
                return f"{node} passes with this defect: {mutant.defect}"
            if ended.returncode != _FAILED or re.search(r"^ERROR tests/", ended.stdout, re.MULTILINE):
                raise NotAMutant(f"{mutant.name}: {node} could not be judged\n{ended.stdout}{ended.stderr}")
    return None


def copy_product(copy: Path) -> None:
    """The product and its tests, as they are in the checkout now."""
    ignored = shutil.ignore_patterns("__pycache__", ".*", "node_modules")
    for name in ("server", "tests"):
        shutil.copytree(ROOT / name, copy / name, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", copy)


def apply(mutant: Mutant, copy: Path, *, check: bool = False) -> None:
    """Apply the patch to a copy; with `check`, only see whether it would. Raises NotAMutant."""
    command = ["git", "apply", "--whitespace=nowarn", *(["--check"] if check else []), str(mutant.path)]
    # Outside of any repository: inside one, git would leave out what lies below its top.
    env = os.environ | {"GIT_CEILING_DIRECTORIES": str(copy.parent)}
    ended = subprocess.run(command, cwd=copy, env=env, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        name = f"{mutant.path.parent.name}/{mutant.path.stem}"
        raise NotAMutant(f"{name} does not apply any more, renew it: {ended.stderr.strip()}")


def judge(copy: Path, node: str) -> subprocess.CompletedProcess[str]:
    """Run one test against the copy."""
    options = ["-q", "-x", "-p", "no:cacheprovider", "--no-header", "--tb=short"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, node],
        cwd=copy,
        env=os.environ | {"PYTHONPATH": str(copy / "server"), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
