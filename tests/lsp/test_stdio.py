"""Stdin and stdout as the connection: whatever they are, and whatever hangs when the server is to end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from steersman.lsp.framing import FrameDecoder, frame
from steersman.lsp.stdio import StdinSource, StdoutSink
from steersman.lsp.transport import serve
from tests.lsp.wire import HeldSessions

INITIALIZE = frame(b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}')
GONE_SECONDS = 2.0
BUSY_SECONDS = 3.0
"""What a busy machine may add: a process must start, and be seen to end."""

SERVER = """
import sys
from steersman.lsp import stdio
source, sink = stdio.claim()
import asyncio, os, threading, time
from steersman.lsp.transport import serve_stdio

class Sessions:
    def warm(self): pass
    async def stop(self):
        {stop}

print("a stray print")
os.write(1, b"a stray write")
sys.exit(serve_stdio(lambda settings, ports: Sessions(), source, sink))
"""


def started(stop: str = "pass", **pipes: Any) -> subprocess.Popen[bytes]:
    """A process that serves sessions which stop as `stop` says."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | pipes
    return subprocess.Popen([sys.executable, "-c", SERVER.format(stop=stop)], **pipes)


def bodies(data: bytes) -> list[bytes]:
    found = list(FrameDecoder().feed(data))
    assert all(isinstance(each, bytes) for each in found), found
    assert data == b"".join(frame(each) for each in found if isinstance(each, bytes)), "more than frames"
    return [each for each in found if isinstance(each, bytes)]


def test_what_is_printed_goes_to_stderr_and_what_is_answered_to_stdout() -> None:
    with started() as process:
        out, err = process.communicate(INITIALIZE, timeout=20)
    assert process.returncode == 1
    assert len(bodies(out)) == 1
    assert b"a stray print" in err
    assert b"a stray write" in err


def test_input_and_output_may_be_plain_files(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(INITIALIZE)
    with (tmp_path / "in").open("rb") as source, (tmp_path / "out").open("wb") as sink:
        process = started(stdin=source, stdout=sink, stderr=subprocess.DEVNULL)
        assert process.wait(20) == 1
    assert len(bodies((tmp_path / "out").read_bytes())) == 1


def test_an_empty_input_ends_the_server() -> None:
    process = started(stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert process.wait(20) == 1


def test_the_blocking_mode_that_others_share_is_left_alone() -> None:
    ours, theirs = os.pipe()
    try:
        with started(stdout=theirs) as process:
            assert process.stdin is not None
            process.stdin.write(INITIALIZE)
            process.stdin.flush()
            assert os.read(ours, 10) != b""
            assert os.get_blocking(theirs)
            process.communicate(timeout=20)
    finally:
        os.close(ours)
        os.close(theirs)


HANGS = {
    "never": "await asyncio.Event().wait()",
    "will not be cancelled": """
        while True:
            try: await asyncio.sleep(60)
            except asyncio.CancelledError: pass""",
    "blocks the event loop": "time.sleep(60)",
    "leaves a thread": "threading.Thread(target=time.sleep, args=(60,)).start()",
    "leaves work in the pool": "asyncio.get_running_loop().run_in_executor(None, time.sleep, 60)",
    "fails": "raise ValueError('no')",
}


@pytest.mark.parametrize("code", [0, 1])
def test_whatever_hangs_when_it_ends_the_process_is_gone_in_two_seconds(code: int) -> None:
    # While the event loop is blocked nobody reads that the client says `exit`.
    ways = [way for way in HANGS if (way, code) != ("blocks the event loop", 0)]
    processes = {way: started(HANGS[way], stderr=subprocess.DEVNULL) for way in ways}
    try:
        for process in processes.values():
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(INITIALIZE)
            process.stdin.flush()
            process.stdout.read(10)
        begun = time.monotonic()
        for process in processes.values():
            assert process.stdin is not None
            if code == 0:
                process.stdin.write(frame(b'{"jsonrpc":"2.0","id":2,"method":"shutdown"}'))
            process.stdin.write(frame(b'{"jsonrpc":"2.0","method":"exit"}'))
            process.stdin.flush()
        ended = {way: process.wait(20) for way, process in processes.items()}
    finally:
        for process in processes.values():
            process.kill()
            process.communicate()
    assert ended == dict.fromkeys(ways, code)
    assert time.monotonic() - begun < GONE_SECONDS + BUSY_SECONDS


@contextlib.contextmanager
def pipes() -> Iterator[tuple[BinaryIO, BinaryIO, BinaryIO, BinaryIO]]:
    """The client's writing end, the server's two, and the client's reading end.

    The server's ends stay open: its threads may be in the middle of a call on them.
    """
    to_server, to_client = os.pipe(), os.pipe()
    source = os.fdopen(to_server[0], "rb", 0, closefd=False)
    sink = os.fdopen(to_client[1], "wb", 0, closefd=False)
    with os.fdopen(to_client[0], "rb", 0) as client_in, os.fdopen(to_server[1], "wb", 0) as client_out:
        yield client_out, source, sink, client_in


async def test_a_client_whose_pipe_is_full_is_still_listened_to_and_ends_the_server_in_order() -> None:
    with pipes() as (client_out, source, sink, _):
        sessions = HeldSessions()
        work = serve(
            lambda settings, ports: sessions,  # type: ignore[arg-type,return-value]
            StdinSource(source),
            StdoutSink(sink),
            stall_bytes=300_000,
            stall_seconds=0.3,
        )
        serving = asyncio.create_task(work)
        client_out.write(INITIALIZE)
        unknown = b'{"jsonrpc":"2.0","id":"%s","method":"steersman/nothing"}'
        os.set_blocking(client_out.fileno(), False)

        async def send(body: bytes) -> None:
            """Whole, however full the pipe is; not at all if the server has ended."""
            rest = frame(body)
            while rest and not serving.done():
                try:
                    rest = rest[client_out.write(rest) or 0 :]
                finally:
                    await asyncio.sleep(0)

        # More than a pipe holds, less than a stall: nobody reads the answers.
        for _ in range(20):
            await send(unknown % (b"x" * 10_000))
        await send(b'{"jsonrpc":"2.0","id":5,"method":"steersman/turn/cancel","params":{"sessionId":"s"}}')
        async with asyncio.timeout(5):
            while not sessions.called:
                await asyncio.sleep(0.001)
        for _ in range(40):
            await send(unknown % (b"x" * 10_000))
        async with asyncio.timeout(5):
            assert await serving == 1
        assert sessions.stopped == 1


async def test_a_client_that_closes_its_reading_end_ends_the_server() -> None:
    with pipes() as (client_out, source, sink, client_in):
        sessions = HeldSessions()
        work = serve(lambda settings, ports: sessions, StdinSource(source), StdoutSink(sink))  # type: ignore[arg-type,return-value]
        serving = asyncio.create_task(work)
        client_in.close()
        client_out.write(INITIALIZE)
        async with asyncio.timeout(5):
            assert await serving == 1
        assert sessions.stopped == 1
