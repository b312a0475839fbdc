"""However the server ends, nothing of what its tools started is left."""

from __future__ import annotations

import sys

import pytest

from tests.proof.process_ends import CASES, end_case

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX processes and signals")


@pytest.mark.timeout(180)
@pytest.mark.parametrize("number", range(len(CASES)), ids=[f"{way} - {kind}" for way, kind in CASES])
def test_no_descendant_is_left(number: int) -> None:
    assert end_case(number)["children"] >= 1
