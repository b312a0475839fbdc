"""What children inherit: no secret, nothing of the server, nothing that waits for anybody (F01, F06, H06)."""

from __future__ import annotations

import asyncio
import os
import sys
import venv
from pathlib import Path

import pytest

from steersman.ports.process import ProcessSpec
from steersman.processes.environment import child_environment, clean_path
from steersman.processes.interpreter import folder_environment, folder_interpreter, scripts
from steersman.processes.runner import GuardedProcesses

KEY = "sk-canary-0123456789"


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "ANTHROPIC_API_KEY",
        "GITHUB_TOKEN",
        "github_token",
        "NPM_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_ACCESS_KEY_ID",
        "DB_PASSWORD",
        "CLIENT_SECRET_JSON",
        "STRIPE_KEY",
        "APIKEY",
    ],
)
def test_secret_like_variables_are_dropped(name: str, tmp_path: Path) -> None:
    assert name not in child_environment({name: "value"}, tmp_path)


@pytest.mark.parametrize(
    "name", ["HOME", "LANG", "HTTPS_PROXY", "SSH_AUTH_SOCK", "TOKENIZERS_PARALLELISM", "KEYMAP"]
)
def test_what_is_no_secret_stays(name: str, tmp_path: Path) -> None:
    assert child_environment({name: "value"}, tmp_path)[name] == "value"


def test_the_provider_key_is_dropped_under_whatever_name(tmp_path: Path) -> None:
    own = {"OPENAI_API_KEY": KEY, "MY_LLM": KEY, "CURL_HEADER": f"Bearer {KEY}", "EMPTY": ""}
    env = child_environment(own, tmp_path)
    assert KEY not in " ".join(env.values())
    assert env["EMPTY"] == ""


def test_an_empty_provider_key_does_not_drop_everything(tmp_path: Path) -> None:
    assert child_environment({"OPENAI_API_KEY": "", "HOME": "/h"}, tmp_path)["HOME"] == "/h"


@pytest.mark.parametrize(
    "name",
    [
        "PYTHONPATH",
        "PYTHONHOME",
        "VIRTUAL_ENV",
        "LD_PRELOAD",
        "ELECTRON_RUN_AS_NODE",
        "VSCODE_IPC_HOOK",
        "EDITOR",
    ],
)
def test_traces_of_the_server_and_what_opens_windows_are_dropped(name: str, tmp_path: Path) -> None:
    assert name not in child_environment({name: "value"}, tmp_path)


def test_nothing_waits_for_a_key_a_pager_or_a_password(tmp_path: Path) -> None:
    env = child_environment({"TERM": "xterm", "PAGER": "less"}, tmp_path)
    assert (env["TERM"], env["PAGER"], env["GIT_TERMINAL_PROMPT"], env["CI"]) == ("dumb", "cat", "0", "1")


def test_what_the_caller_adds_stands(tmp_path: Path) -> None:
    assert child_environment({}, tmp_path, {"TERM": "x"})["TERM"] == "x"


@pytest.mark.skipif(sys.prefix == sys.base_prefix, reason="these tests do not run in a virtual environment")
def test_the_servers_own_environment_is_not_on_the_path(tmp_path: Path) -> None:
    own = scripts(Path(sys.prefix))
    link = tmp_path / "link"
    link.symlink_to(own)
    path = os.pathsep.join(["/usr/bin", str(own), str(link), "/bin"])
    assert clean_path(path).split(os.pathsep) == ["/usr/bin", "/bin"]


def make_environment(folder: Path) -> Path:
    python = scripts(folder) / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to("/bin/sh")
    return folder


def test_the_folders_environment_comes_first_on_the_path(tmp_path: Path) -> None:
    made = make_environment(tmp_path / ".venv")
    env = child_environment({"PATH": "/usr/bin", "VIRTUAL_ENV": "/servers"}, tmp_path)
    assert env["PATH"] == f"{scripts(made)}{os.pathsep}/usr/bin"
    assert env["VIRTUAL_ENV"] == str(made)


def test_a_folder_below_uses_the_environment_of_its_repository(tmp_path: Path) -> None:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    made = make_environment(tmp_path / "repo" / "venv")
    below = tmp_path / "repo" / "a" / "b"
    below.mkdir(parents=True)
    assert folder_environment(below) == made


def test_an_environment_above_the_repository_is_somebody_elses(tmp_path: Path) -> None:
    make_environment(tmp_path / ".venv")
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "plain").mkdir()
    assert folder_environment(tmp_path / "repo") is None
    assert folder_environment(tmp_path / "plain") is None


def test_without_an_environment_the_systems_python_is_taken(tmp_path: Path) -> None:
    python = tmp_path / "bin" / "python3"
    python.parent.mkdir()
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    assert folder_interpreter(tmp_path, str(python.parent)) == python
    assert folder_interpreter(tmp_path, str(tmp_path)) is None


async def test_a_real_command_sees_the_folders_python_and_no_secret(tmp_path: Path) -> None:
    venv.create(tmp_path / ".venv", with_pip=False, symlinks=True)
    own = {"PATH": os.environ["PATH"], "OPENAI_API_KEY": KEY, "PYTHONPATH": "/servers", "X_TOKEN": "t"}
    code = "import os, sys; print(sys.prefix); print(sorted(os.environ.items()))"
    spec = ProcessSpec(argv=["python", "-c", code], cwd=str(tmp_path), timeout_seconds=30)
    outcome = await GuardedProcesses(own=own).run(spec, asyncio.Event())
    prefix, variables = outcome.output.splitlines()
    assert Path(prefix).resolve() == (tmp_path / ".venv").resolve()
    assert KEY not in variables
    assert "PYTHONPATH" not in variables
    assert "X_TOKEN" not in variables


async def test_neither_the_guardian_has_the_key(tmp_path: Path) -> None:
    own = {"PATH": os.environ["PATH"], "OPENAI_API_KEY": KEY}
    code = "tr '\\0' '\\n' < /proc/$PPID/environ"
    spec = ProcessSpec(argv=["sh", "-c", code], cwd=str(tmp_path), timeout_seconds=30)
    outcome = await GuardedProcesses(own=own).run(spec, asyncio.Event())
    assert outcome.exit_code == 0
    assert KEY not in outcome.output
    assert "HOME=" not in outcome.output
