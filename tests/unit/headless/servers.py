"""Small servers for the client's tests: real processes that say exactly what a test wants them to say."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from steersman.headless.connection import Connection

_PROLOGUE = """
import json, os, subprocess, sys, time

def read():
    length = None
    while True:
        line = sys.stdin.buffer.readline()
        if not line:
            sys.exit(0)
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
        elif line == b"\\r\\n":
            return json.loads(sys.stdin.buffer.read(length))

def raw(data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()

def body(data):
    raw(b"Content-Length: %d\\r\\n\\r\\n%b" % (len(data), data))

def send(**message):
    body(json.dumps({"jsonrpc": "2.0", **message}).encode())

def answer(message, result=None):
    send(id=message["id"], result=result)
"""


def program(script: str) -> list[str]:
    """The command of a server that runs a script; the names of the prologue are there for it."""
    return [sys.executable, "-c", _PROLOGUE + textwrap.dedent(script)]


@asynccontextmanager
async def connected(script: str) -> AsyncIterator[Connection]:
    """A connection to such a server."""
    connection = await Connection.start(program(script))
    try:
        yield connection
    finally:
        await connection.close()
