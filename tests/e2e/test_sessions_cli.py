"""`steersman sessions`: on its own, beside a running server, on damage, and into closed pipes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from steersman.__main__ import main
from steersman.ports.event_log_memory import MemoryStore
from steersman.ports.model_double import ScriptedReplies, says
from steersman.sessions import requests as rq
from steersman.store.folder import FolderStore
from tests.e2e.conftest import Steersman
from tests.e2e.editor import editor, script
from tests.unit.sessions.test_service import Desk


class Ran(NamedTuple):
    """What a command left behind."""

    returncode: int
    stdout: str
    stderr: str


Sessions = Callable[..., Ran]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def sessions(state: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> Sessions:
    """`steersman sessions VERB …` on the test's state folder, in this process."""

    def run(verb: str, *words: str) -> Ran:
        try:
            code = main(["sessions", verb, "--state-dir", str(state), *words])
        except SystemExit as left:  # how a command line ends that cannot be followed
            code = int(str(left.code))
        told = capfdbinary.readouterr()
        return Ran(code, told.out.decode(), told.err.decode())

    return run


@pytest.fixture
def made(state: Path, tmp_path: Path) -> Callable[[str], str]:
    """Makes a session with one turn, by the real service on a real store; its id."""

    async def make(prompt: str) -> str:
        folder = tmp_path / "work"
        folder.mkdir(exist_ok=True)
        desk = Desk(MemoryStore(), ScriptedReplies([says("An answer.\n\n- with a list")]), folder)
        desk.store = FolderStore(state)  # type: ignore[assignment]
        desk = desk.again()
        info = await desk.service.new(rq.NewSession())
        await desk.service.prompt(rq.Prompt(session_id=info.session_id, text=prompt))
        await desk.idle(info.session_id)
        await desk.service.stop()
        return info.session_id

    return lambda prompt: asyncio.run(make(prompt))


def damage(state: Path, session_id: str, statement: str) -> Path:
    database = state / "sessions" / session_id / "session.db"
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(statement)
    return database


def said(ran: Ran) -> Any:
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    return json.loads(ran.stdout)


def test_sessions_are_listed_shown_verified_and_exported(
    sessions: Sessions, made: Callable[[str], str], tmp_path: Path
) -> None:
    first, second = made("the first"), made("the second")
    listed = said(sessions("list", "--json"))
    assert [info["sessionId"] for info in listed] == [second, first]
    told = sessions("list").stdout.splitlines()
    assert [line.split()[0] for line in told] == [second, first]
    assert told[0].endswith("the second")
    here = sessions("list", "--workspace", str(tmp_path / "work"), "--json")
    assert len(said(here)) == 2
    assert said(sessions("list", "--workspace", str(tmp_path), "--json")) == []
    shown = said(sessions("show", first, "--json"))
    assert (shown["title"], shown["task"], shown["readOnly"]) == ("the first", "SUCCEEDED", True)
    assert f"session    {first}" in sessions("show", first).stdout
    verified = said(sessions("verify", "--json"))
    assert verified == [{"sessionId": name, "lastSeq": shown["lastSeq"]} for name in sorted((first, second))]
    assert sessions("verify", first).stdout == f"whole    {first}  {shown['lastSeq']} events\n"
    exported = sessions("export", first).stdout
    assert exported.startswith("# the first\n")
    assert "An answer.\n\n- with a list" in exported
    lines = sessions("export", first, "--format", "jsonl").stdout.splitlines()
    assert [json.loads(line)["seq"] for line in lines] == list(range(1, shown["lastSeq"] + 1))


def test_an_empty_or_missing_state_folder_has_no_sessions(sessions: Sessions, state: Path) -> None:
    assert sessions("list").stdout == "There are no sessions.\n"
    assert said(sessions("list", "--json")) == []
    assert said(sessions("verify", "--json")) == []
    assert not state.exists(), "looking makes nothing"


def test_an_id_may_be_its_beginning_if_that_is_one_sessions(
    sessions: Sessions, made: Callable[[str], str], state: Path
) -> None:
    first, _ = made("one"), made("two")
    assert said(sessions("show", first[:12], "--json"))["sessionId"] == first
    for word in ("s-", "s", "", "nobody", first + "0", "../" + first, "s-\x1b"):
        ran = sessions("show", word)
        assert (ran.returncode, ran.stdout) == (2, ""), word
        assert "steersman sessions show: " in ran.stderr
        assert "\x1b" not in ran.stderr
    (state / "sessions" / "s-aaa1").mkdir()
    (state / "sessions" / "s-aaa2").mkdir()
    ran = sessions("delete", "s-aaa")
    assert ran.returncode == 2
    assert "s-aaa1, s-aaa2" in ran.stderr
    assert (state / "sessions" / "s-aaa1").exists()


def test_a_deleted_session_is_gone_and_only_that_one(
    sessions: Sessions, made: Callable[[str], str], state: Path
) -> None:
    first, second = made("one"), made("two")
    assert said(sessions("delete", first, "--json")) == {"deleted": [first]}
    assert [path.name for path in (state / "sessions").iterdir()] == [second]
    assert sessions("delete").returncode == 2
    assert sessions("delete", second, "s-nobody").returncode == 2
    assert (state / "sessions" / second).exists(), "nothing is deleted if a name is wrong"
    assert sessions("delete", second).stdout == f"{second} is deleted.\n"


def test_damage_is_found_and_cut_on_a_persons_word(
    sessions: Sessions, made: Callable[[str], str], state: Path
) -> None:
    name = made("one")
    database = damage(state, name, "UPDATE events SET time = 1 WHERE seq = 9")
    original = database.read_bytes()
    ran = sessions("verify")
    assert ran.returncode == 1
    assert ran.stdout.startswith(f"damaged  {name}  at event 9: ")
    ran = sessions("verify", "--json")
    assert ran.returncode == 1
    assert json.loads(ran.stdout)[0]["damaged"]["seq"] == 9
    assert "damaged    at event 9" in sessions("show", name).stdout
    assert "The log is damaged at event 9" in sessions("export", name).stdout
    assert len(sessions("export", name, "--format", "jsonl").stdout.splitlines()) == 8
    for refused, code in (("9", 1), ("500", 1), ("0", 2), ("x", 2)):
        assert sessions("repair", name, "--through", refused).returncode == code
    assert database.read_bytes() == original
    assert said(sessions("repair", name, "--through", "8", "--json"))["lastSeq"] == 8
    assert [info["lastSeq"] for info in said(sessions("list", "--json"))] == [8]
    assert database.with_name("damaged-1.db").read_bytes() == original
    assert sessions("verify").returncode == 0
    ran = sessions("repair", name, "--through", "5")
    assert ran.returncode == 1
    assert "nothing to repair" in ran.stderr


def test_a_file_that_is_no_log_is_told_and_does_not_hide_the_others(
    sessions: Sessions, made: Callable[[str], str], state: Path
) -> None:
    broken, whole = made("one"), made("two")
    (state / "sessions" / broken / "session.db").write_bytes(b"")
    (state / "sessions" / broken / "header.json").unlink()
    assert {info["sessionId"] for info in said(sessions("list", "--json"))} == {broken, whole}
    assert "(damaged)" in sessions("list").stdout
    ran = sessions("verify")
    assert ran.returncode == 1
    assert f"damaged  {broken}  at event 1: session.db is empty" in ran.stdout
    assert f"whole    {whole}" in ran.stdout
    assert sessions("export", broken).returncode == 0


async def test_beside_a_running_server_reading_works_and_writing_says_who_has_it(
    steersman: Steersman, state: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()

    def sessions(verb: str, *words: str) -> Any:
        return steersman("sessions", verb, "--state-dir", str(state), *words)

    replies = script(tmp_path / "script.jsonl", {"text": "first"}, {"text": "second"})
    async with editor(folder, {"stateDir": str(state), "scriptedModel": str(replies)}) as ed:
        name = await ed.new(title="busy")
        await ed.run(name, "one")
        assert [info["title"] for info in said(sessions("list", "--json"))] == ["busy"]
        assert said(sessions("show", name, "--json"))["title"] == "busy"
        assert "> one" in sessions("export", name).stdout
        assert sessions("verify").returncode == 0
        for refused in (sessions("delete", name), sessions("repair", name, "--through", "3")):
            assert refused.returncode == 1
        assert f"open in process {ed.pid} on " in sessions("delete", name).stderr
        await ed.run(name, "two")
    assert said(sessions("verify", "--json"))[0]["lastSeq"] > 20


def test_a_reader_that_goes_away_ends_the_command_quietly(
    made: Callable[[str], str], state: Path, clean_env: dict[str, str]
) -> None:
    name = made("x" * 300_000)
    words = ["sessions", "export", name, "--format", "jsonl", "--state-dir", str(state)]
    ran = subprocess.Popen(
        [sys.executable, "-m", "steersman", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=clean_env,
    )
    with ran:
        assert ran.stdout is not None
        assert ran.stderr is not None
        assert ran.stdout.read(1) == b"{"
        ran.stdout.close()
        assert ran.stderr.read() == b""
    assert ran.returncode == 141


def test_no_secret_of_the_environment_is_exported(
    sessions: Sessions, made: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = made("my key is own-odd-canary")
    monkeypatch.setitem(os.environ, "OPENAI_API_KEY", "own-odd-canary")
    for form in ("markdown", "jsonl"):
        ran = sessions("export", name, "--format", form)
        assert ran.returncode == 0
        assert "own-odd-canary" not in ran.stdout
        assert "my key is ***" in ran.stdout


def test_what_commands_a_terminal_does_not_reach_it(sessions: Sessions, made: Callable[[str], str]) -> None:
    name = made("red \x1b[31m alert \x07")
    for ran in (sessions("list"), sessions("show", name), sessions("export", name)):
        assert "red [31m alert" in ran.stdout
        assert "\x1b" not in ran.stdout
        assert "\x07" not in ran.stdout
