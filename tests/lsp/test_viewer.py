"""A file is shown by `window/showDocument`, where the client has it; anything but a yes is a no."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from steersman.lsp.viewer import LspViewer
from tests.lsp.client_runs import RunClient
from tests.lsp.wire import served

METHOD = "window/showDocument"


async def test_the_client_is_asked_to_show_the_file() -> None:
    client = RunClient()
    client.answer(METHOD, {"success": True})
    assert await LspViewer(client, request_timeout_seconds=5).show(Path("/w/a b.md"))
    assert client.calls == [(METHOD, {"uri": "file:///w/a%20b.md", "takeFocus": True})]


@pytest.mark.parametrize(
    "answer", [None, {}, {"success": False}, {"success": "yes"}, [], 5, TimeoutError(), OSError("gone")]
)
async def test_what_is_no_yes_is_a_no(answer: Any) -> None:
    client = RunClient()
    client.answer(METHOD, answer)
    assert not await LspViewer(client, request_timeout_seconds=5).show(Path("/w/a.md"))


@pytest.mark.parametrize(
    ("window", "offered"),
    [
        ({"showDocument": {"support": True}}, True),
        ({"showDocument": {"support": False}}, False),
        ({}, False),
    ],
)
async def test_only_a_client_that_says_so_is_asked(window: Any, offered: bool) -> None:
    async with served() as desk:
        await desk.wire.initialize({"window": window})
        assert desk.ports is not None
        assert (desk.ports.viewer is not None) is offered
