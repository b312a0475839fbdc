"""Whether a check can be run here at all, told before it is kept: a check that never can pass is no check."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from steersman.domain.checks import (
    Check,
    CommandCheck,
    DiagnosticsCheck,
    FileCheck,
    TestsCheck,
    UserCheck,
)
from steersman.errors import ToolFailed
from steersman.loop.services import Services
from steersman.tools.paths import resolve
from steersman.tools.patterns import matcher

_UNUSABLE = frozenset({"OUTSIDE_WORKSPACE", "INVALID_ARGUMENTS"})
"""What is wrong with a path whatever files there will be."""


def problem_of(checks: Sequence[Check], services: Services) -> str | None:
    """What is wrong with the first check that cannot be run as it is; None if all can."""
    ids = [check.id for check in checks if check.id is not None]
    twice = next((name for name in ids if ids.count(name) > 1), None)
    if twice is not None:
        return f"Two checks have the id {twice!r}."
    return next((problem for check in checks if (problem := _problem(check, services))), None)


def _problem(check: Check, services: Services) -> str | None:
    match check:
        case CommandCheck():
            return _command(check, services)
        case TestsCheck(argv=argv):
            return None if argv is None else _argv(argv)
        case FileCheck():
            return _file(check, services)
        case DiagnosticsCheck(uris=uris):
            if services.queries is None:
                return "This client does not tell diagnostics, so a 'diagnostics' check cannot be run."
            if uris is not None and not uris:
                return "A 'diagnostics' check with an empty list of uris looks at nothing: leave uris out."
            return _first(_path(uri, services) for uri in uris or ())
        case UserCheck():
            if not services.questions.reaches_a_person:
                return "This client cannot ask a person, so a 'user' check cannot be run."
            return None
        case _:
            return "A 'judge' check cannot be run here."


def _command(check: CommandCheck, services: Services) -> str | None:
    for name, seconds in (
        ("timeoutSeconds", check.timeout_seconds),
        ("stableForSeconds", check.stable_for_seconds),
    ):
        if seconds is not None and not 0 < seconds < math.inf:
            return f"{name} of a check must be more than 0."
    return _argv(check.argv) or (_path(check.cwd, services) if check.cwd is not None else None)


def _argv(argv: Sequence[str]) -> str | None:
    if not argv or not argv[0].strip():
        return "The command of a check is empty."
    return "The command of a check holds a NUL character." if any("\0" in word for word in argv) else None


def _file(check: FileCheck, services: Services) -> str | None:
    patterns = [pattern for pattern in (check.contains, check.not_contains) if pattern is not None]
    if check.exists is False and patterns:
        return f"The check wants {check.path!r} to be missing, and to have a content."
    return _path(check.path, services) or _first(_pattern(pattern) for pattern in patterns)


def _pattern(pattern: str) -> str | None:
    try:
        matcher(pattern, is_regex=True)
    except ToolFailed as failure:
        return f"The expression {pattern!r} of a check cannot be used: {failure}"
    return None


def _path(path: str, services: Services) -> str | None:
    try:
        resolve(path, services.editor.folders())
    except ToolFailed as failure:
        return (
            f"The path {path!r} of a check cannot be used: {failure}" if failure.code in _UNUSABLE else None
        )
    return None


def _first(problems: Iterable[str | None]) -> str | None:
    return next((problem for problem in problems if problem is not None), None)
