"""Lines typed at a real (pseudo) terminal."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator

import pytest

from steersman.headless.keyboard import forget_typed, typed_line

pty = pytest.importorskip("pty", reason="this platform has no pseudo terminals")


@pytest.fixture
def typing(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The person's end of the terminal that is stdin."""
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, encoding="utf-8") as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        yield ours
        os.close(ours)


async def test_a_line_is_read_when_it_is_typed(typing: int) -> None:
    reading = asyncio.create_task(typed_line())
    await asyncio.sleep(0)
    assert not reading.done()
    os.write(typing, "nö\n".encode())
    assert await reading == "nö\n"


async def test_what_was_typed_before_a_question_answers_nothing(typing: int) -> None:
    os.write(typing, b"a\n")
    forget_typed()
    reading = asyncio.create_task(typed_line())
    await asyncio.sleep(0)
    os.write(typing, b"d\n")
    assert await reading == "d\n"


async def test_a_question_that_is_withdrawn_leaves_the_line_for_the_next(typing: int) -> None:
    reading = asyncio.create_task(typed_line())
    await asyncio.sleep(0)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    os.write(typing, b"first\nsecond\n")
    assert [await typed_line(), await typed_line()] == ["first\n", "second\n"]


async def test_the_end_of_the_input_is_an_empty_line(typing: int) -> None:
    os.write(typing, b"\x04")
    assert await typed_line() == ""
