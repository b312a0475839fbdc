"""The cases of a JUnit XML file, written by the workspace's own code: nothing in it may be trusted."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import junitparser

from steersman.domain.receipts import TestCase, TestOutcome

FILE_BYTES = 32 * 1024 * 1024
MESSAGE_CHARACTERS = 1000
WORST: tuple[TestOutcome, ...] = ("error", "failed", "skipped", "passed")
"""The order in which a test with several results is told, and in which tests are listed."""


def read_cases(file: Path, folder: Path, *, partial: bool = False) -> list[TestCase] | None:
    """The cases, the worst first, or None if there is no such file or nothing to be made of it.

    `folder` is where the tests ran, `partial` whether they were interrupted. Blocking: call it off the loop.
    """
    data = _read(file)
    if data is None:
        return None
    try:
        cases = [case for suite in _suites(data) for case in _cases(suite, folder, partial=partial)]
    except Exception:
        return None  # whatever the parsers raise for it, it is no result
    return sorted(cases, key=lambda case: WORST.index(case.outcome))


def _read(file: Path) -> bytes | None:
    """The bytes of a regular file, never of a link or of a pipe that somebody put in its place."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_size > FILE_BYTES:
        os.close(descriptor)
        return None
    with os.fdopen(descriptor, "rb") as opened:
        return opened.read(FILE_BYTES)


def _suites(data: bytes) -> list[junitparser.TestSuite]:
    root: object = junitparser.JUnitXml.fromstring(data)
    if isinstance(root, junitparser.TestSuite):
        return [root]
    return list(root) if isinstance(root, junitparser.JUnitXml) else []


def _cases(suite: junitparser.TestSuite, folder: Path, *, partial: bool) -> list[TestCase]:
    """One entry a test: one whose teardown failed too is told twice by pytest.

    An interrupted pytest lists the tests that were running as if they had passed, but does not count them:
    the last ones without a result are those, so many as the suite's own count lacks.
    """
    found: dict[str, TestCase] = {}
    for element in suite:
        case = _case(element, folder)
        known = found.get(case.id)
        if known is None or WORST.index(case.outcome) < WORST.index(known.outcome):
            found[case.id] = case
    cases = list(found.values())
    if partial:
        for case in reversed([case for case in cases if case.outcome == "passed"]):
            if len(cases) <= (suite.tests or 0):
                break
            cases.remove(case)
    return cases


def _case(case: junitparser.TestCase, folder: Path) -> TestCase:
    attributes = case._elem.attrib  # the library names neither `file` nor `line`
    file = attributes.get("file")
    line = attributes.get("line", "")
    outcome, message = _result(case)
    path = folder / file if file else None
    return TestCase(
        id=_id(file, case.classname or "", case.name or ""),
        outcome=outcome,
        duration_ms=round(case.time * 1000) if case.time is not None else None,
        message=message,
        uri=path.as_uri() if path and path.is_file() else None,
        line=int(line) + 1 if path and line.isdecimal() else None,
    )


def _id(file: str | None, classname: str, name: str) -> str:
    """The runner's own id: `tests/test_a.py::TestX::test_y` where the file is told."""
    if not file:
        return f"{classname}::{name}" if classname else name
    module = file.removesuffix(".py").replace("/", ".")
    inner = classname.removeprefix(module).strip(".")
    return "::".join([file, *filter(None, inner.split(".")), name])


def _result(case: junitparser.TestCase) -> tuple[TestOutcome, str | None]:
    worst: TestOutcome = "passed"
    message = None
    for result in case.result:
        outcome = _outcome(result)
        if WORST.index(outcome) < WORST.index(worst):
            worst = outcome
            message = (result.message or result.text or "")[:MESSAGE_CHARACTERS] or None
    return worst, message


def _outcome(result: object) -> TestOutcome:
    match result:
        case junitparser.Error():
            return "error"
        case junitparser.Failure():
            return "failed"
        case junitparser.Skipped():
            return "skipped"
        case _:
            return "passed"
