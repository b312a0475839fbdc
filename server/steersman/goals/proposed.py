"""Checks that the model proposes: what it may write, and what a person is shown before one is kept."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Literal

from steersman.domain.checks import (
    Check,
    CommandCheck,
    DiagnosticsCheck,
    FileCheck,
    TestsCheck,
    UserCheck,
)
from steersman.domain.goal import Goal
from steersman.errors import ToolFailed
from steersman.tools.base import Allow, Arguments, Ask, Permit


class ProposedCheck(Arguments, frozen=True):
    """`command` needs argv (no shell), `file` path; `tests`, `diagnostics` and `user` (asks them) nothing."""

    kind: Literal["command", "tests", "file", "diagnostics", "user"]
    argv: list[str] | None = None
    path: str | None = None
    exists: bool | None = None
    contains: str | None = None
    not_contains: str | None = None

    def check(self) -> Check:
        """The check that is meant. Raises ToolFailed where a member is missing."""
        match self.kind:
            case "command" if self.argv:
                return CommandCheck(argv=self.argv)
            case "tests":
                return TestsCheck(argv=self.argv)
            case "diagnostics":
                return DiagnosticsCheck()
            case "user":
                return UserCheck()
            case "file" if self.path:
                return FileCheck(
                    path=self.path,
                    exists=self.exists,
                    contains=self.contains,
                    not_contains=self.not_contains,
                )
            case kind:
                missing = "argv" if kind == "command" else "path"
                raise ToolFailed("INVALID_ARGUMENTS", f"A {kind} check needs {missing}.")

    def shown(self) -> str:
        """The check in one line, as the person is to judge it."""
        wanted = (("exists", self.exists), ("contains", self.contains), ("not_contains", self.not_contains))
        words = [shlex.join(self.argv or ()), self.path or ""]
        words += [f"{name}={value!r}" for name, value in wanted if value is not None]
        return " ".join(word for word in (self.kind, *words) if word)


def asked_once(proposed: Sequence[ProposedCheck], goal: Goal | None) -> Permit:
    """What is proposed will be run again and again, so it is asked – unless a person set exactly it already.

    Raises:
        ToolFailed: a check that is none.
    """
    known = goal.checks if goal is not None else []
    new = [check for check in proposed if check.check() not in known]
    if not new:
        return Allow()
    lines = "\n".join(f"    {check.shown()}" for check in new)
    return Ask(
        risk="execute",
        title="Keep these checks for the goal",
        detail=f"They will be run whenever the model says that it is done:\n\n{lines}",
    )
