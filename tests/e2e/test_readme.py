"""Every sample of the README is run, and its tables say what the code says."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from steersman.domain.settings import Settings
from steersman.goals.command import parse
from steersman.headless.run import ExitCode
from steersman.lsp.messages import COMMANDS
from steersman.lsp.options import read_options
from tests.e2e import real_package
from tests.e2e.conftest import Steersman
from tests.e2e.editor import call, script

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RUN_IN = {"sh", "lua", "json"}
"""What a test here runs; `text` is the picture, and goal commands, which are parsed."""
NEOVIM_SECONDS = 60


def samples(language: str) -> list[str]:
    return [body for kind, body in FENCE.findall(README) if kind == language]


def shell_lines() -> list[list[str]]:
    return [shlex.split(line) for body in samples("sh") for line in body.splitlines() if line.strip()]


def table(heading: str) -> list[list[str]]:
    """The cells of the table whose first column has this heading."""
    lines = README.split(f"\n| {heading} |", 1)[1].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def members(value: msgspec.Struct, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every setting's name on the wire and its default."""
    for field in msgspec.structs.fields(value):
        default = getattr(value, field.name)
        if isinstance(default, msgspec.Struct):
            yield from members(default, f"{path}{field.encode_name}.")
        else:
            yield path + field.encode_name, default


def test_every_block_has_a_language_that_is_tested() -> None:
    assert {kind for kind, _ in FENCE.findall(README)} == RUN_IN | {"text"}
    assert README.count("```") == 2 * len(FENCE.findall(README))


def test_the_commands_of_a_clone_exist() -> None:
    ours = [words for words in shell_lines() if words[0] == "python3"]
    told = subprocess.run(
        [sys.executable, str(ROOT / ".ci" / "dev.py"), "--help"], capture_output=True, text=True, check=True
    )
    assert [words[1] for words in ours] == [".ci/dev.py", ".ci/dev.py"]
    assert all(re.search(rf"^ +{words[2]} ", told.stdout, re.MULTILINE) for words in ours)


def test_the_samples_of_a_run_work_as_they_stand(
    tmp_path: Path, clean_env: dict[str, str], steersman: Steersman
) -> None:
    """The exports too; only the model's words come from a script."""
    folder = tmp_path / "work"
    real_package.make_environment(folder)
    (folder / "test_it.py").write_text("def test_it() -> None:\n    assert 1\n", encoding="utf-8")
    exported = dict(
        word.split("=", 1) for words in shell_lines() if words[0] == "export" for word in words[1:]
    )
    ours = [words[1:] for words in shell_lines() if words[0] == "steersman"]
    runs = [words for words in ours if words[0] == "run"]
    others = [words for words in ours if words not in runs]
    path = os.pathsep.join([str(Path(sys.executable).parent), clean_env["PATH"]])
    assert runs
    for words in runs:
        scripted = script(tmp_path / "script.jsonl", call("run_tests"), {"text": "They pass."})
        words = [*words, "--scripted-model", str(scripted)]
        ran = steersman(*words, cwd=folder, env={"PATH": path, **exported})
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert "run_tests – ok" in ran.stdout
    assert others
    for words in others:
        told = steersman(*words)
        assert told.returncode == 0, told.stdout + told.stderr
        assert len(told.stdout.splitlines()) == len(runs)


def test_the_extension_is_built_by_scripts_that_exist_and_its_settings_are_its_own() -> None:
    package = json.loads((ROOT / "client-vscode" / "package.json").read_text(encoding="utf-8"))
    npm = [words[1:] for words in shell_lines() if words[0] == "npm"]
    assert [words[:2] for words in npm] == [["--prefix", "client-vscode"]] * 2
    assert [words[2:] for words in npm] == [["ci"], ["run", "package"]]
    (install,) = [words for words in shell_lines() if words[0] == "code"]
    assert install[-1].removeprefix("client-vscode/") in package["scripts"]["package"]
    named = set(re.findall(r"`(steersman\.\w+\.\w+)`", README))
    assert named
    assert named <= package["contributes"]["configuration"]["properties"].keys()
    keys = {binding["key"] for binding in package["contributes"]["keybindings"]}
    assert {key.lower() for key in re.findall(r"`(Ctrl\+Alt\+\w)`", README)} <= keys
    titles = {f"{c['category']}: {c['title']}" for c in package["contributes"]["commands"]}
    assert set(re.findall(r"\*(Steersman: [^*]+)\*", README)) <= titles


@pytest.mark.parametrize("sample", samples("json"))
def test_the_sample_settings_are_understood_whole(sample: str) -> None:
    raw = json.loads(sample)
    settings, problems = read_options(raw)
    assert problems == []
    assert settings != Settings()


def test_the_table_of_settings_names_each_of_them_with_its_default() -> None:
    told: dict[str, str] = {}
    for names, defaults, _ in table("member"):
        columns = names.split(" · "), defaults.split(" · ") if " · " in defaults else [defaults] * 9
        told |= {name.strip("`"): default.strip("`") for name, default in zip(*columns, strict=False)}
    real = dict(members(Settings()))
    assert told.keys() == real.keys()
    stated = {name: value for name, value in real.items() if value not in (None, {}, [])}
    assert {name: json.loads(told[name]) for name in stated} == json.loads(json.dumps(stated))


def test_the_goal_commands_are_what_they_look_like() -> None:
    lines = [line for body in samples("text") for line in body.splitlines() if line.startswith("/goal")]
    assert [parse(line).verb for line in lines] == ["create", "pause", "edit", "resume", "clear"]


def test_the_table_of_exit_codes_is_complete() -> None:
    assert [int(code) for code, _ in table("exit code")] == sorted(ExitCode)


def test_the_editor_sample_calls_commands_that_exist() -> None:
    (sample,) = samples("lua")
    verbs = re.search(r"pairs\(\{(.*?)\}\)", sample)
    assert verbs is not None
    assert {f"steersman.{verb}" for verb in re.findall(r"'(\w+)'", verbs[1])} <= COMMANDS.keys()
    assert set(re.findall(r"`(steersman\.\w+)`", README)) <= COMMANDS.keys()


def test_the_editor_sample_works_in_a_real_neovim(tmp_path: Path, clean_env: dict[str, str]) -> None:
    """A prompt by the sample's own command edits the buffer, and the last words are shown."""
    neovim = shutil.which("nvim")
    if neovim is None or _version(neovim) < (0, 11):
        pytest.skip("no Neovim 0.11 or newer here; the sample's commands are checked in the test above")
    folder = tmp_path / "work"
    (folder / ".git").mkdir(parents=True)
    (folder / "a.py").write_text("x = 1\n", encoding="utf-8")
    (sample,) = samples("lua")
    edit = call("edit_file", path="a.py", edits=[{"old_text": "x = 1", "new_text": "x = 2"}])
    look = call("run_command", argv=["cat", "a.py"])
    scripted = script(tmp_path / "script.jsonl", edit, {"text": "All done."}, look, {"text": "All saved."})
    program = tmp_path / "init.lua"
    program.write_text(NEOVIM.format(sample=sample, script=scripted, file=folder / "a.py"), encoding="utf-8")
    path = os.pathsep.join([str(Path(sys.executable).parent), clean_env["PATH"]])
    ran = subprocess.run(
        [neovim, "--headless", "--clean", "-l", str(program)],
        cwd=folder,
        env=clean_env | {"PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=NEOVIM_SECONDS,
        check=False,
    )
    said = ran.stdout + ran.stderr
    assert ran.returncode == 0, said
    assert "BUFFER x = 2" in said
    assert "All done." in said
    assert "DISK x = 1" in said, "an edit is the person's to save until something reads the disk"
    assert "SAVED x = 2" in said
    assert "There is no goal" in said
    assert "Make x three." in said


NEOVIM = """\
local commands = {{ {{ argv = {{ 'cat' }}, decision = 'allow' }} }}
vim.lsp.config('steersman', {{
  init_options = {{ scriptedModel = '{script}', permissions = {{ commands = commands }} }},
}})
{sample}
local told = {{}}
vim.notify = function(text) table.insert(told, text) end
vim.cmd.edit('{file}')
vim.bo.filetype = 'python'
local function attached() return (vim.lsp.get_clients({{ name = 'steersman' }})[1] or {{}}).initialized end
assert(vim.wait(20000, attached, 20), 'not attached')
vim.cmd('Steersman make x two')
local function waits_for(text)
  local function holds(one) return one:find(text, 1, true) ~= nil end
  local function is_told() return vim.iter(told):any(holds) end
  assert(vim.wait(20000, is_told, 20), text .. vim.inspect(told))
end
waits_for('completed')
vim.cmd('SteersmanStop')
print('BUFFER ' .. vim.api.nvim_buf_get_lines(0, 0, 1, false)[1])
print('DISK ' .. vim.fn.readfile('{file}')[1])
told = {{ table.concat(told, '|') }}
vim.cmd('Steersman look at it')
waits_for('All saved.')
print('SAVED ' .. vim.fn.readfile('{file}')[1])
vim.cmd('Goal')
waits_for('no goal')
vim.cmd('Goal Make x three. --rounds 2')
waits_for('Make x three.')
vim.cmd('Goal clear')
print(table.concat(told, '|'))
local client = vim.lsp.get_clients({{ name = 'steersman' }})[1]
client:stop()
assert(vim.wait(10000, function() return client:is_stopped() end, 20), 'not stopped')
os.exit(0)
"""


def _version(neovim: str) -> tuple[int, ...]:
    told = subprocess.run([neovim, "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"v(\d+)\.(\d+)", told)
    return (int(found[1]), int(found[2])) if found else (0,)
