"""The types of the VS Code client are those of the server's messages."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

CLIENT = Path(__file__).resolve().parents[2] / "client-vscode"


def check(client: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(client / "scripts" / "protocol_types.py"), "--check"]
    return subprocess.run(command, capture_output=True, text=True, timeout=50)


def test_the_types_of_the_client_are_what_the_messages_say() -> None:
    ended = check(CLIENT)
    assert ended.returncode == 0, ended.stderr


def test_a_type_that_was_changed_by_hand_is_noticed(tmp_path: Path) -> None:
    copy = tmp_path / "client"
    for part in ("scripts/protocol_types.py", "src/lsp/protocol.ts"):
        (copy / part).parent.mkdir(parents=True)
        shutil.copy(CLIENT / part, copy / part)
    types = copy / "src/lsp/protocol.ts"
    types.write_text(types.read_text().replace("lastSeq: number", "lastSeq: string", 1))
    ended = check(copy)
    assert ended.returncode == 1
    assert "run protocol_types.py" in ended.stderr
