"""What the parts behind the protocol need of it: ask the client, tell the client. It holds nothing."""

from __future__ import annotations

from typing import Any, Protocol


class ClientChannel(Protocol):
    """The client, as seen from the server."""

    async def call(self, method: str, params: object, *, timeout: float) -> Any:  # noqa: ASYNC109
        """Send a request before the first suspension and wait for its result, as plain JSON.

        `timeout` is in seconds. On time-out and on cancellation the request is withdrawn at the client.

        Raises:
            TimeoutError: no answer in time.
            Exception: the client answered with an error, or is gone; its text says which.
        """
        ...

    def notify_raw(self, method: str, params: object) -> None:
        """Send a notification. Never blocks."""
        ...
