"""Permission: deny before ask before allow; shells and what hides them; protected and secret names."""

from __future__ import annotations

import json
from pathlib import Path, PurePath

import pytest

from steersman.domain.settings import CommandRule, PermissionSettings, Settings, TestSettings
from steersman.tools.base import Allow, Ask, Refuse
from steersman.tools.permission import code, fenced
from steersman.tools.programs import can_hide_failure, shell_reason
from steersman.tools.protected import is_secret, protected_reason
from tests.unit.tools.context import Context


def ruled(root: Path, *rules: tuple[str, list[str]], tests: list[str] | None = None) -> Context:
    commands = [CommandRule(argv=argv, decision=decision) for decision, argv in rules]  # type: ignore[arg-type]
    permissions = PermissionSettings(commands=commands)
    return Context(root, settings=Settings(permissions=permissions, tests=TestSettings(command=tests)))


def permit(context: Context, *argv: str, **rest: object) -> object:
    return context.permit("run_command", argv=list(argv), **rest)


def risk(context: Context, *argv: str) -> str:
    found = permit(context, *argv)
    assert isinstance(found, Ask)
    return found.risk


def test_a_command_is_asked_for_with_its_exact_words(context: Context) -> None:
    found = permit(context, "make", "all -j2")
    assert isinstance(found, Ask)
    assert found.risk == "execute"
    assert found.argv == ("make", "all -j2")
    assert found.remember == 'argv:["make", "all -j2"]'
    assert '["make", "all -j2"]' in found.detail


def test_what_was_allowed_for_the_session_is_exactly_that(context: Context) -> None:
    context.allow(f"argv:{json.dumps(['make', 'all'])}")
    assert isinstance(permit(context, "make", "all"), Allow)
    assert isinstance(permit(context, "make", "all", "-j2"), Ask)
    assert isinstance(permit(context, "make all"), Ask)


def test_a_rule_allows_what_begins_with_its_words(root: Path) -> None:
    context = ruled(root, ("allow", ["git", "status"]))
    assert isinstance(permit(context, "git", "status", "-s"), Allow)
    for argv in (["git", "push"], ["git"], ["git status"], ["/tmp/git", "status"], ["git", "statusx"]):
        assert isinstance(permit(context, *argv), Ask)


def test_a_denial_wins_over_everything(root: Path) -> None:
    rules = [("allow", ["git", "push", "origin"]), ("deny", ["git", "push"])]
    context = ruled(root, *rules, tests=["git", "push"])
    context.allow(f"argv:{json.dumps(['git', 'push'])}")
    for argv in (["git", "push"], ["git", "push", "origin"], ["/usr/bin/git", "push"], ["git.exe", "push"]):
        found = permit(context, *argv)
        assert isinstance(found, Refuse)
        assert found.code == "DENIED"
        assert "'git push'" in found.message


def test_an_empty_rule_allows_nothing_and_denies_everything(root: Path) -> None:
    assert isinstance(permit(ruled(root, ("allow", [])), "ls"), Ask)
    assert isinstance(permit(ruled(root, ("deny", [])), "ls"), Refuse)


def test_the_configured_test_command_is_allowed_exactly_as_set(root: Path) -> None:
    context = ruled(root, tests=["pytest", "-q"])
    assert isinstance(permit(context, "pytest", "-q"), Allow)
    assert isinstance(permit(context, "pytest", "-q", "-p", "evil"), Ask)
    assert isinstance(context.permit("run_tests"), Allow)


SHELLS = [
    ["sh", "-c", "ls"], ["/bin/bash", "-lc", "ls"], ["BASH", "x.sh"], ["cmd", "/c", "dir"],
    ["cmd.exe", "/c", "dir"], ["C:\\Windows\\System32\\cmd.exe", "/c", "dir"],
    ["powershell", "-Command", "ls"], ["pwsh"], ["fish", "-c", "ls"], ["busybox", "sh"],
    ["env", "A=1", "sh", "-c", "ls"], ["env", "-S", "bash -c ls"], ["xargs", "sh", "-c", "ls"],
    ["nohup", "bash", "x"], ["timeout", "5", "sh", "-c", "ls"], ["sudo", "ls"], ["sudo", "sh"],
    ["doas", "ls"], ["nice", "timeout", "5", "bash"], ["find", ".", "-exec", "sh", "-c", "rm {}", ";"],
    ["env", "sudo", "ls"], ["setsid", "/bin/zsh"], ["docker", "run", "x", "sh"],
    ["mytool", "sh", "-c", "ls"], ["time", "bash"], ["xargs", "-I{}", "/bin/sh", "-c", "{}"],
    ["env", "--split-string=sh -c ls"],
]  # fmt: skip


@pytest.mark.parametrize("argv", SHELLS, ids=" ".join)
def test_shells_and_what_wraps_them_are_asked_for_each_time(root: Path, argv: list[str]) -> None:
    context = ruled(root, ("allow", argv[:1]), ("allow", argv))
    context.allow(f"argv:{json.dumps(argv, ensure_ascii=False)}")
    found = permit(context, *argv)
    assert isinstance(found, Ask)
    assert found.risk == "destructive"
    assert found.remember is None


@pytest.mark.parametrize(
    "argv",
    [["ls", "sh"], ["python", "bash.py"], ["env", "A=1", "pytest"], ["timeout", "5", "pytest"],
     ["git", "show"], ["find", ".", "-name", "x"], ["npm", "run", "build"], ["which", "bash"]],
    ids=" ".join,
)  # fmt: skip
def test_ordinary_programs_are_no_shells(context: Context, argv: list[str]) -> None:
    assert shell_reason(argv) is None
    assert risk(context, *argv) == "execute"


def test_only_a_shell_line_can_hide_a_failure() -> None:
    for line in ("pytest | tail", "pytest; echo", "pytest || true", "pytest &", "pytest\necho"):
        assert can_hide_failure(["sh", "-c", line])
    assert not can_hide_failure(["sh", "-c", "pytest -q"])
    assert not can_hide_failure(["grep", "a|b"])


def test_a_folder_outside_the_workspace_is_asked_for_by_its_real_name(root: Path) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    (root / "link").symlink_to(outside)
    context = ruled(root, ("allow", ["ls"]))
    for cwd in ("..", str(outside), "link"):
        found = permit(context, "ls", cwd=cwd)
        assert isinstance(found, Ask)
        assert found.remember is None
    assert str(outside) in found.detail
    assert isinstance(permit(context, "ls", cwd="."), Allow)


def test_unusable_words_are_refused(context: Context) -> None:
    for argv in (["", "x"], [" "], ["a\0b"], ["ls", "a\0b"]):
        found = permit(context, *argv)
        assert isinstance(found, Refuse)
        assert found.code == "INVALID_ARGUMENTS"


def test_nothing_runs_in_an_untrusted_workspace(root: Path) -> None:
    context = ruled(root, ("allow", ["ls"]), tests=["pytest"])
    context.trusted = False
    for found in (permit(context, "ls"), permit(context, "pytest"), context.permit("run_tests")):
        assert isinstance(found, Refuse)
        assert found.code == "DENIED"


PROTECTED = [
    ".git/config", ".git", "sub/.git/hooks/pre-commit", ".GIT/config", ".gi\u200bt/config",
    ".git./config", ".git /config", "\uff0egit/config", "git~1/config",
    ".git::$INDEX_ALLOCATION/config", ".vscode/tasks.json", ".VSCode/settings.json", ".idea/x.xml",
    "a.code-workspace", ".github/workflows/ci.yml", ".gitlab-ci.yml", "Jenkinsfile",
    ".husky/pre-commit", ".pre-commit-config.yaml", ".bashrc", "home/.ZSHRC", ".envrc",
    ".steersman/settings.json", ".devcontainer/devcontainer.json", ".gitmodules", ".vs\ufe0fcode/x",
    ".\U0001d406it/config",
]  # fmt: skip


@pytest.mark.parametrize("path", PROTECTED)
def test_protected_names_are_always_asked_about_with_the_reason(context: Context, path: str) -> None:
    assert protected_reason(PurePath(path))
    found = context.permit("write_file", path=path, content="x")
    assert isinstance(found, Ask)
    assert found.risk == "edit"
    assert found.remember is None
    assert "Asked because" in found.detail


@pytest.mark.parametrize(
    "path",
    ["src/git.py", ".github/CONTRIBUTING.md", "hooks/use.ts", "gitignore", "workflows/x.yml", ".gitignore"],
)
def test_ordinary_names_are_not_protected(context: Context, path: str) -> None:
    assert protected_reason(PurePath(path)) is None
    assert isinstance(context.permit("write_file", path=path, content="x"), Allow)


def test_both_ends_of_a_rename_are_looked_at(context: Context, root: Path) -> None:
    (root / "tmp").mkdir()
    assert isinstance(context.permit("rename_path", path="tmp", new_path=".vscode"), Ask)
    assert isinstance(context.permit("rename_path", path=".env", new_path="env.txt"), Ask)
    assert isinstance(context.permit("rename_path", path="tmp", new_path="other"), Allow)


def test_a_link_hides_neither_a_protected_nor_a_secret_name(context: Context, root: Path) -> None:
    (root / ".git").mkdir()
    (root / "plain").mkdir()
    (root / "link").symlink_to(".git")
    (root / ".vscode").symlink_to("plain")
    (root / ".env").write_text("A=1")
    (root / "notes.txt").symlink_to(".env")
    assert isinstance(context.permit("write_file", path="link/config", content=""), Ask)
    assert isinstance(context.permit("write_file", path=".vscode/tasks.json", content=""), Ask)
    assert isinstance(context.permit("read_file", path="notes.txt"), Ask)


@pytest.mark.parametrize(
    "path",
    [".env", ".env.local", "prod.env", ".ENV", ".e\u200dnv", "id_rsa", "keys/server.pem", "a.key",
     ".ssh/config", ".aws/credentials", ".netrc", "credentials.json"],
)  # fmt: skip
def test_secret_names_are_asked_about_for_reading_and_editing(
    context: Context, root: Path, path: str
) -> None:
    assert is_secret(PurePath(path))
    found = context.permit("read_file", path=path)
    assert isinstance(found, Ask)
    assert isinstance(context.permit("write_file", path=path, content=""), Ask)
    assert found.remember
    context.allow(found.remember)
    assert isinstance(context.permit("read_file", path=path), Allow)
    assert isinstance(context.permit("write_file", path=path, content=""), Ask)


@pytest.mark.parametrize(
    "path", [".env.example", "environment.py", "key.py", "credentials.py", "keys/README"]
)
def test_ordinary_names_are_not_secret(path: str) -> None:
    assert not is_secret(PurePath(path))


def test_a_file_that_looks_like_another_is_asked_about(context: Context, root: Path) -> None:
    for name in ("\u00e9.txt", "e\u0301.txt"):
        (root / name).write_text("x")
    found = context.permit("write_file", path="\u00e9.txt", content="")
    assert isinstance(found, Ask)
    assert "looks the same" in found.detail


def test_paths_outside_are_refused_by_every_file_tool(context: Context) -> None:
    calls: list[tuple[str, dict[str, object]]] = [
        ("list_files", {"path": ".."}),
        ("search_text", {"path": "..", "pattern": "x"}),
        ("read_file", {"path": "../x"}),
        ("edit_file", {"path": "../x", "edits": [{"old_text": "a", "new_text": "b"}]}),
        ("write_file", {"path": "../x", "content": ""}),
        ("rename_path", {"path": "a", "new_path": "../x"}),
        ("delete_path", {"path": "../x"}),
        ("run_tests", {"files": ["../x"]}),
    ]
    for name, arguments in calls:
        found = context.permit(name, **arguments)
        assert isinstance(found, Refuse), name
        assert found.code == "OUTSIDE_WORKSPACE", name


def test_what_is_shown_to_a_person_cannot_leave_its_code_block() -> None:
    assert fenced("a\n```\n[x](command:y)").startswith("````\n")
    assert "more characters" in fenced("x" * 10_000)
    assert code("a`b\nc") == "`aˋb c`"
