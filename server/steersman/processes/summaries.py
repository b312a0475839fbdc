"""Counts from the last words of test runners that write no results file. Pure; a guess is never made."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from steersman.domain.receipts import TestCounts

_WORDS = {
    "passed": "passed",
    "pass": "passed",
    "passing": "passed",
    "xfailed": "skipped",
    "xpassed": "passed",
    "failed": "failed",
    "fail": "failed",
    "failing": "failed",
    "failures": "failed",
    "error": "errors",
    "errors": "errors",
    "skipped": "skipped",
    "pending": "skipped",
    "todo": "skipped",
    "ignored": "skipped",
    "skip": "skipped",
}
_NUMBER_WORD = re.compile(r"(\d+) ([a-z]+)")
_UNITTEST = re.compile(r"^Ran (\d+) tests? in .*\n\s*(?:OK|FAILED)?(.*)", re.MULTILINE)
_EQUALS = re.compile(r"(\w+)=(\d+)")
_PYTEST = re.compile(r"^=* ?((?:\d+ [a-z]+, )*\d+ [a-z]+) in \d[\d.:]*s\b.*$", re.MULTILINE)
_JEST = re.compile(r"^\s*Tests:?\s+(\d+ .*)$", re.MULTILINE)
_MOCHA = re.compile(r"^\s*(\d+ (?:passing|failing|pending))\b", re.MULTILINE)
_NODE = re.compile(r"^(?:#|ℹ) (pass|fail|skipped|todo) (\d+)$", re.MULTILINE)
_CARGO = re.compile(r"^test result: \w+\. (.*)$", re.MULTILINE)
_GO = re.compile(r"^\s*--- (PASS|FAIL|SKIP): ", re.MULTILINE)


def counts_in(output: str) -> TestCounts | None:
    """The counts that the output tells, or None if it tells none."""
    for reader in _READERS:
        counts = reader(output)
        if counts is not None:
            return counts
    return None


def _unittest(output: str) -> TestCounts | None:
    runs = list(_UNITTEST.finditer(output))
    if not runs:
        return None
    found = [(int(number), word) for run in runs for word, number in _EQUALS.findall(run[2])]
    told = _counted(found)
    collected = sum(int(run[1]) for run in runs)
    rest = collected - told.failed - told.errors - told.skipped
    return TestCounts(
        collected=collected,
        passed=max(0, rest),
        failed=told.failed,
        errors=told.errors,
        skipped=told.skipped,
    )


def _numbers_before_words(
    pattern: re.Pattern[str], *, last: bool = False
) -> Callable[[str], TestCounts | None]:
    def read(output: str) -> TestCounts | None:
        lines = pattern.findall(output)
        if not lines:
            return None
        chosen = lines[-1:] if last else lines
        return _counted((int(n), word) for line in chosen for n, word in _NUMBER_WORD.findall(line))

    return read


def _node(output: str) -> TestCounts | None:
    found = _NODE.findall(output)
    return _counted((int(number), word) for word, number in found) if found else None


def _go(output: str) -> TestCounts | None:
    found = _GO.findall(output)
    return _counted((1, word.lower()) for word in found) if found else None


def _counted(found: Iterable[tuple[int, str]]) -> TestCounts:
    sums = {"passed": 0, "failed": 0, "errors": 0, "skipped": 0}
    for number, word in found:
        if word in _WORDS:
            sums[_WORDS[word]] += number
    return TestCounts(collected=sum(sums.values()), **sums)


_READERS: tuple[Callable[[str], TestCounts | None], ...] = (
    _numbers_before_words(_PYTEST, last=True),
    _unittest,
    _numbers_before_words(_JEST),
    _numbers_before_words(_MOCHA),
    _node,
    _numbers_before_words(_CARGO),
    _go,
)
