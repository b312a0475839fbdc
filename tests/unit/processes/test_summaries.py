"""Counts from runners without a results file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.domain.receipts import TestCounts
from steersman.processes.summaries import counts_in


def counts(passed: int = 0, failed: int = 0, errors: int = 0, skipped: int = 0) -> TestCounts:
    return TestCounts(
        collected=passed + failed + errors + skipped,
        passed=passed,
        failed=failed,
        errors=errors,
        skipped=skipped,
    )


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("...\nRan 3 tests in 0.001s\n\nOK\n", counts(passed=3)),
        ("Ran 6 tests in 0.1s\n\nFAILED (failures=1, errors=2, skipped=1)\n", counts(2, 1, 2, 1)),
        ("Ran 0 tests in 0.000s\n\nNO TESTS RAN\n", counts()),
        ("==== 1 failed, 2 passed, 1 skipped in 0.12s ====\n", counts(2, 1, 0, 1)),
        ("3 passed in 65.02s (0:01:05)\n", counts(passed=3)),
        ("Tests:       1 failed, 2 passed, 3 total\n", counts(2, 1)),
        ("      Tests  2 passed | 1 skipped (3)\n", counts(passed=2, skipped=1)),
        ("  3 passing (5ms)\n  1 failing\n", counts(3, 1)),
        ("# tests 3\n# pass 2\n# fail 1\n# skipped 0\n", counts(2, 1)),
        ("test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured\n" * 2, counts(passed=4, skipped=2)),
        ("--- PASS: TestA (0.00s)\n    --- FAIL: TestA/b (0.00s)\n", counts(1, 1)),
    ],
)
def test_the_last_words_of_a_runner_are_understood(output: str, expected: TestCounts) -> None:
    assert counts_in(output) == expected


@pytest.mark.parametrize("output", ["", "all good\n", "tests: fine\n", "I passed 3 in school\n"])
def test_words_that_tell_no_counts_are_no_counts(output: str) -> None:
    assert counts_in(output) is None


@given(st.text())
def test_no_text_breaks_the_reading(output: str) -> None:
    counts_in(output)
