"""A client for requests that take time: what it answers, when, and what it is told of a withdrawal."""

from __future__ import annotations

import asyncio
from typing import Any

from steersman.lsp.documents import OpenDocuments
from tests.lsp.fake_editor import FakeEditor

WITHDRAWN = "steersman/request/cancelled"


class RunClient(FakeEditor):
    """A FakeEditor that can leave a request open; `asked` is set when one has come."""

    def __init__(self) -> None:
        super().__init__(OpenDocuments())
        self.asked = asyncio.Event()
        self.left = 0

    def hold(self, method: str) -> None:
        """Never answer; `left` counts the requests that were withdrawn."""

        async def never(_: dict[str, Any]) -> Any:
            self.asked.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.left += 1

        self.answers[method] = never

    def accept(self, method: str) -> None:
        async def accepted(_: dict[str, Any]) -> Any:
            self.asked.set()
            return {"accepted": True}

        self.answers[method] = accepted

    @property
    def withdrawn(self) -> list[Any]:
        return [params["id"] for method, params in self.notified if method == WITHDRAWN]
