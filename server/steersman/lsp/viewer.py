"""Showing a file by `window/showDocument`. It shows what is on the disk and opens nothing else."""

from __future__ import annotations

import logging
from pathlib import Path

from lsprotocol import types

from steersman.lsp.channel import ClientChannel

log = logging.getLogger(__name__)


class LspViewer:
    """Implements `ports.viewer.Viewer` for a client that has the request. Times are in seconds."""

    def __init__(self, channel: ClientChannel, *, request_timeout_seconds: float) -> None:
        self._channel = channel
        self._timeout = request_timeout_seconds

    async def show(self, path: Path) -> bool:
        """As the port says. Silence, an error and an answer that makes no sense are a no."""
        params = {"uri": path.as_uri(), "takeFocus": True}
        try:
            answer = await self._channel.call(types.WINDOW_SHOW_DOCUMENT, params, timeout=self._timeout)
        except Exception as error:
            log.warning("the editor did not show %s: %s", path.name, error)
            return False
        return isinstance(answer, dict) and answer.get("success") is True
