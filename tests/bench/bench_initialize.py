"""What it costs until `initialize` is answered, beside a server of pygls that does nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from statistics import median
from typing import IO

from tests.bench.rows import Row

OURS = [sys.executable, "-m", "steersman", "serve"]
FLOOR = [
    sys.executable,
    "-c",
    "from pygls.lsp.server import LanguageServer; LanguageServer('floor', '1').start_io()",
]
LIMIT = 1.15


def measure(rounds: int) -> list[Row]:
    ours: list[float] = []
    floor: list[float] = []
    for _ in range(rounds):
        ours.append(cpu_seconds(OURS))
        floor.append(cpu_seconds(FLOOR))
    return [Row("`initialize` answered, CPU", median(ours) * 1000, median(floor) * 1000, "ms", LIMIT)]


def cpu_seconds(command: list[str]) -> float:
    """CPU time of a new server from its start to its answer."""
    with tempfile.TemporaryDirectory() as state:
        options = {"stateDir": state}
        params = {"processId": None, "rootUri": None, "capabilities": {}, "initializationOptions": options}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).encode()
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        process.stdin.flush()
        answered(process.stdout)
        process.kill()
        _, _, usage = os.wait4(process.pid, 0)
        process.returncode = -9
        process.stdin.close()
        process.stdout.close()
    return usage.ru_utime + usage.ru_stime


def answered(output: IO[bytes]) -> None:
    length = 0
    while (line := output.readline()) not in (b"\r\n", b""):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    assert b'"capabilities"' in output.read(length)
