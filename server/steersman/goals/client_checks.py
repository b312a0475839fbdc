"""Checks that only the client can answer: what its language servers say, and what the person says.

Silence, a withdrawn question and an answer in other words than yes are never a pass.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from steersman.domain.checks import CheckStatus, DiagnosticsCheck
from steersman.domain.state import SessionState
from steersman.errors import ToolFailed
from steersman.ports.query import Problem, QueryPort, Severity
from steersman.tools.base import ToolContext
from steersman.tools.paths import display, resolve

Found = tuple[CheckStatus, str]
_SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning", "information", "hint")
_LISTED: Final = 50
_CHOICES: Final = ("Yes", "No")
_YES: Final = frozenset({"yes", "y"})


async def diagnostics(check: DiagnosticsCheck, context: ToolContext) -> Found:
    """No problem at or above the severity: in the named files, else in those changed in the goal.

    Where none was named or changed the whole workspace is looked at: a check never looks at nothing.
    """
    if context.queries is None:
        return "skipped", "This client does not tell diagnostics."
    worst = _SEVERITIES[: _SEVERITIES.index(check.severity or "error") + 1]
    named = check.uris if check.uris is not None else sorted(context.state.goals.changed)
    try:
        problems, where = await _problems(named, context.queries, context)
    except ToolFailed as failure:
        return "fail", f"The diagnostics could not be read: {failure}"
    bad = [problem for problem in problems if problem.severity in worst]
    if not bad:
        return "pass", f"No {' or '.join(worst)} in {where}."
    lines = [f"{len(bad)} diagnostics in {where}:"]
    lines += [_line(problem, context) for problem in bad[:_LISTED]]
    if len(bad) > _LISTED:
        lines.append(f"… and {len(bad) - _LISTED} more")
    return "fail", "\n".join(lines)


async def _problems(named: list[str], queries: QueryPort, context: ToolContext) -> tuple[list[Problem], str]:
    """Raises ToolFailed."""
    if not named:
        return await queries.diagnostics(None), "the workspace"
    folders = context.editor.folders()
    paths = list(dict.fromkeys(resolve(uri, folders).path for uri in named))
    problems: list[Problem] = []
    for path in paths:
        if context.cancel.is_set():
            raise ToolFailed("FAILED", "stopped")
        problems += await queries.diagnostics(path)
    return problems, ", ".join(display(path, folders) for path in paths)


def _line(problem: Problem, context: ToolContext) -> str:
    path: Path | None = problem.spot.path
    where = display(path, context.editor.folders()) if path is not None else problem.spot.uri
    return f"{where}:{problem.spot.line}: {problem.severity}: {problem.message}"


async def user(check_id: str, context: ToolContext) -> Found:
    """The person is asked. Their own words are the evidence. Raises StorageFailed."""
    said = await context.confirm(check_id, _question(context.state), _CHOICES)
    match said.by:
        case "human" if said.answer is not None and said.answer.strip().casefold() in _YES:
            return "pass", "The person said yes."
        case "human":
            return "fail", f"The person said: {said.answer}" if said.answer else "The person did not say yes."
        case "steer":
            return "fail", "The person wrote a message instead of answering. It follows."
        case "timeout":
            return "timeout", f"Nobody answered ({said.problem or 'not in time'})."
        case "cancelled":
            return "skipped", "The question was withdrawn: the work was stopped."
        case "nobody":
            return "skipped", f"Nobody could be asked: {said.problem or 'this client cannot ask'}."


def _question(state: SessionState) -> str:
    """What is asked. A prompt's own checks are about the prompt, all others about the goal."""
    goal = state.goal
    if goal is None or (state.turn is not None and state.turn.checks):
        return "Is this done as you wanted it?"
    return f"Is the goal reached?\n\n{goal.objective}"
