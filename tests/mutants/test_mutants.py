"""The suite catches deliberate defects: a test that cannot fail proves nothing (tests/mutants/mutant.py)."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from tests.mutants.mutant import Mutant, NotAMutant, apply, copy_product, mutants, read, survivors

HANDFUL = 6
ALL = mutants()


def rotating(every: list[Mutant], count: int = HANDFUL) -> list[Mutant]:
    """A handful that changes with the product: those whose turn it is by the patches and what they touch."""
    return sorted(every, key=lambda mutant: zlib.crc32(_touched(mutant)))[:count]


def _touched(mutant: Mutant) -> bytes:
    lines = mutant.path.read_text(encoding="utf-8").splitlines()
    files = [line.removeprefix("+++ b/") for line in lines if line.startswith("+++ b/")]
    root = mutant.path.parents[3]
    return b"".join((root / file).read_bytes() for file in files) + mutant.name.encode()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("mutant", rotating(ALL), ids=lambda mutant: mutant.name)
def test_a_mutant_of_the_handful_is_caught(mutant: Mutant) -> None:
    assert survivors(mutant) is None


@pytest.mark.full
@pytest.mark.timeout(600)
@pytest.mark.parametrize("mutant", ALL, ids=lambda mutant: mutant.name)
def test_every_mutant_is_caught(mutant: Mutant) -> None:
    assert survivors(mutant) is None


def test_every_patch_still_applies(tmp_path: Path) -> None:
    copy_product(tmp_path)
    for mutant in ALL:
        apply(mutant, tmp_path, check=True)


def test_a_patch_that_does_not_apply_is_loud(tmp_path: Path) -> None:
    patch = ALL[0].path.read_text(encoding="utf-8").replace("\n ", "\n  ")
    stale = tmp_path / "loop" / "stale.patch"
    stale.parent.mkdir()
    stale.write_text(patch, encoding="utf-8")
    copy_product(tmp_path / "copy")
    with pytest.raises(NotAMutant, match="does not apply any more"):
        apply(Mutant(stale, "stale", ALL[0].caught_by), tmp_path / "copy")


def test_a_patch_must_say_what_is_wrong_and_who_notices(tmp_path: Path) -> None:
    silent = tmp_path / "silent.patch"
    silent.write_text("Defect: something\n\n--- a/x\n+++ b/x\n", encoding="utf-8")
    with pytest.raises(NotAMutant, match="Caught-by"):
        read(silent)


def test_the_named_defects_are_all_there() -> None:
    areas = {mutant.area for mutant in ALL}
    assert areas >= {"boundary", "domain", "loop", "store"}
    assert len(ALL) >= 25
