"""Checks: how completion is proved. The harness runs them; nobody claims them."""

from __future__ import annotations

from typing import ClassVar, Literal

from steersman.domain.value import Strict, Value


class Selection(Value, frozen=True, omit_defaults=False):
    """A part of a test suite: paths relative to the folder, and test ids of the runner."""

    files: list[str] = []
    tests: list[str] = []


class CommandCheck(Value, frozen=True, tag_field="kind", tag="command"):
    """Passes when the argv (no shell) exits with 0, and still does after `stable_for_seconds`."""

    argv: list[str]
    id: str | None = None
    cwd: str | None = None
    timeout_seconds: float | None = None
    stable_for_seconds: float | None = None


class TestsCheck(Value, frozen=True, tag_field="kind", tag="tests"):
    """Passes when the test command collects at least one test and all pass."""

    __test__: ClassVar[bool] = False  # not a test class, whatever its name says

    id: str | None = None
    argv: list[str] | None = None
    selection: Selection | None = None


class DiagnosticsCheck(Value, frozen=True, tag_field="kind", tag="diagnostics"):
    id: str | None = None
    uris: list[str] | None = None
    severity: Literal["error", "warning", "information", "hint"] | None = None


class FileCheck(Value, frozen=True, tag_field="kind", tag="file"):
    """Passes when the file exists (or not) and its text matches (or does not match) a regular expression."""

    path: str
    id: str | None = None
    exists: bool | None = None
    contains: str | None = None
    not_contains: str | None = None


class JudgeCheck(Value, frozen=True, tag_field="kind", tag="judge"):
    question: str
    id: str | None = None


class UserCheck(Value, frozen=True, tag_field="kind", tag="user"):
    id: str | None = None


Check = CommandCheck | TestsCheck | DiagnosticsCheck | FileCheck | JudgeCheck | UserCheck


def kind_of(check: Check) -> str:
    """The check's kind as the contract names it."""
    return str(type(check).__struct_config__.tag)


CheckStatus = Literal["pass", "fail", "skipped", "timeout", "noTests"]
Verdict = Literal["pass", "fail", "none", "needs-review"]


class CheckResult(Strict, frozen=True, omit_defaults=False):
    """What a check found. `evidence` is text for people and the model."""

    check_id: str
    kind: str
    status: CheckStatus
    evidence: str
