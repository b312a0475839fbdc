"""The floor of a step: asyncio, msgspec and SQLite doing its work with nothing in between.

`floor_loop.py PORT STEPS FILE`: ask the provider, parse what streams in, write two durable commits a step,
tell the chunks on stdout.
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys

import msgspec

_encode = msgspec.json.encode
_decode = msgspec.json.Decoder().decode


async def main(port: int, steps: int, file: str) -> None:
    log = sqlite3.connect(file, isolation_level=None)
    for pragma in ("journal_mode=WAL", "synchronous=FULL"):
        log.execute(f"PRAGMA {pragma}")
    log.execute("CREATE TABLE event (seq INTEGER PRIMARY KEY, type TEXT, data BLOB) STRICT")
    messages: list[bytes] = [_encode({"role": "user", "content": "go"})]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for step in range(steps):
        body = b'{"model":"m","stream":true,"messages":[' + b",".join(messages) + b"]}"
        head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        deltas = await _stream(reader)
        said = _encode({"role": "assistant", "content": "", "deltas": deltas})
        _commit(log, [("assistant/message", said), ("tool/call", b"{}"), ("tool/start", b"{}")])
        result = _encode({"role": "tool", "tool_call_id": f"c{step}", "content": "x = 1\n"})
        _commit(log, [("tool/result", result), ("step/end", b"{}"), ("step/start", b"{}")])
        sys.stdout.buffer.write(_encode({"method": "didAppend", "params": deltas}))
        messages += [said, result]
    writer.close()
    log.close()


async def _stream(reader: asyncio.StreamReader) -> list[object]:
    deltas = []
    await reader.readuntil(b"\r\n\r\n")
    while size := int(await reader.readline(), 16):
        data = (await reader.readexactly(size + 2))[:-2]
        if data.startswith(b"data: {"):
            deltas.append(_decode(data[6:]))
    await reader.readline()
    return deltas


def _commit(log: sqlite3.Connection, rows: list[tuple[str, bytes]]) -> None:
    log.execute("BEGIN IMMEDIATE")
    log.executemany("INSERT INTO event (type, data) VALUES (?, ?)", rows)
    log.execute("COMMIT")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
