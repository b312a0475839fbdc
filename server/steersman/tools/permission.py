"""Who may do what: the table "Permission" of the design as pure functions of a call and the rules.

Deny before ask, ask before allow. Nothing here reads a file's content or a setting of the workspace.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from steersman.domain.settings import CommandRule
from steersman.errors import ToolFailed
from steersman.tools.base import Allow, Ask, Permit, Refuse, ToolContext
from steersman.tools.paths import Target, display, folder_of, locate, real, resolve, twins
from steersman.tools.programs import program_name, shell_reason
from steersman.tools.protected import is_secret, protected_reason

_SHOWN: Final = 4000
"""Characters of a change that an approval shows."""


def untrusted(context: ToolContext) -> Refuse | None:
    """The refusal of everything but reading where the workspace is not trusted."""
    if context.trusted:
        return None
    return Refuse(
        code="DENIED",
        message="the workspace is not trusted: reading is all that is possible until the person trusts it",
    )


def read(context: ToolContext, given: str) -> Permit:
    """Reading a file: allowed in the workspace, asked for where the name says that secrets are inside."""
    try:
        target = resolve(given, context.editor.folders())
    except ToolFailed as error:
        return Refuse(code=error.code, message=str(error))
    if not any(is_secret(name) for name in target.names):
        return Allow()
    uri = context.editor.uri_of(target.path)
    remember = f"read:{uri}"
    if remember in context.state.allowed:
        return Allow()
    where = display(target.path, context.editor.folders())
    return Ask(
        risk="edit",
        title=f"Read {where}",
        detail=f"The name says that {code(where)} holds secrets. The model would see its text, "
        "values that look like secrets masked.",
        uris=(uri,),
        remember=remember,
    )


def look(context: ToolContext, given: str | None) -> Permit:
    """Listing and searching below a path (None: everywhere). A single file is like reading it."""
    if given is None or given.strip() in ("", "."):
        return Allow()
    return read(context, given)


def edit(context: ToolContext, *given: str, title: str, detail: str) -> Permit:
    """Changing files: allowed unless the settings ask for each, or a name is protected or secret."""
    refused = untrusted(context)
    if refused is not None:
        return refused
    try:
        targets = [resolve(path, context.editor.folders()) for path in given]
    except ToolFailed as error:
        return Refuse(code=error.code, message=str(error))
    reasons = [reason for target in targets for reason in _edit_reasons(target)]
    if not reasons and context.settings.permissions.edit == "allow":
        return Allow()
    return Ask(
        risk="edit",
        title=title,
        detail="\n\n".join((*(f"Asked because {reason}." for reason in dict.fromkeys(reasons)), detail)),
        uris=tuple(context.editor.uri_of(target.path) for target in targets),
    )


def command(context: ToolContext, argv: Sequence[str], cwd: str | None) -> Permit:
    """Running a program. Deny rules, then what is always asked, then what is allowed, else ask."""
    refused = untrusted(context)
    if refused is not None:
        return refused
    settings = context.settings
    denied = matching_rule(settings.permissions.commands, argv, "deny")
    if denied is not None:
        rule = " ".join(denied.argv)
        return Refuse(code="DENIED", message=f"the person's settings deny commands that start with {rule!r}")
    try:
        outside = _outside(context, cwd)
    except ToolFailed as error:
        return Refuse(code=error.code, message=str(error))
    line = json.dumps(list(argv), ensure_ascii=False)
    ask = Ask(
        risk="execute", title=f"Run {argv[0]}", detail=fenced(line), argv=tuple(argv), remember=f"argv:{line}"
    )
    if outside is not None:
        detail = f"It would run outside the workspace, in {code(outside)}.\n\n{ask.detail}"
        return _replaced(ask, risk="destructive" if shell_reason(argv) else "execute", detail=detail)
    if list(argv) == settings.tests.command:
        return Allow()
    reason = shell_reason(argv)
    if reason is not None:
        return _replaced(ask, risk="destructive", detail=f"Asked each time because {reason}.\n\n{ask.detail}")
    if matching_rule(settings.permissions.commands, argv, "allow") is not None:
        return Allow()
    return Allow() if ask.remember in context.state.allowed else ask


def matching_rule(rules: Sequence[CommandRule], argv: Sequence[str], decision: str) -> CommandRule | None:
    """The longest rule of a decision whose words begin the argv.

    A deny rule also fits its program under another folder or ending, and an empty one denies everything;
    an allow rule fits only its exact words, and an empty one allows nothing.
    """

    def fits(rule: CommandRule) -> bool:
        words = list(argv[: len(rule.argv)])
        if words == rule.argv:
            return bool(rule.argv) or decision == "deny"
        same_rest = bool(words) and words[1:] == rule.argv[1:]
        return decision == "deny" and same_rest and program_name(words[0]) == program_name(rule.argv[0])

    found = [rule for rule in rules if rule.decision == decision and fits(rule)]
    return max(found, key=lambda rule: len(rule.argv), default=None)


def code(text: str) -> str:
    """Text as inline code in Markdown, whatever it holds."""
    flat = " ".join(text.split("\n")).replace("`", "\u02cb")
    return f"`{flat}`"


def fenced(text: str) -> str:
    """Text as a code block in Markdown that the text itself cannot end; long text is cut."""
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}\n… {len(text) - _SHOWN} more characters"
    fence = "```"
    while fence in shown:
        fence += "`"
    return f"{fence}\n{shown}\n{fence}"


def _edit_reasons(target: Target) -> list[str]:
    reasons: list[str] = []
    for name in target.names:
        why = protected_reason(name)
        if why is not None:
            reasons.append(f"{code(name.as_posix())} is protected: {why}")
        if is_secret(name):
            reasons.append(f"the name of {code(name.as_posix())} says that it holds secrets")
    if twins(target.path):
        reasons.append(f"another file's name looks the same as {code(target.path.name)}")
    return reasons


def _outside(context: ToolContext, cwd: str | None) -> str | None:
    """The real path of a working folder outside the workspace; None if it is inside. Raises ToolFailed."""
    if cwd is None:
        return None
    folders = context.editor.folders()
    path = real(locate(cwd, folders), cwd)
    return str(path) if folder_of(path, folders) is None else None


def _replaced(ask: Ask, *, risk: str, detail: str) -> Ask:
    """The same question with another risk, never remembered."""
    return Ask(
        risk="destructive" if risk == "destructive" else "execute",
        title=ask.title,
        detail=detail,
        argv=ask.argv,
    )
