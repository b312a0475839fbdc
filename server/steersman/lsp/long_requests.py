"""Requests whose work takes time: a client may accept first, and tell the value later by a notification.

Each has a deadline, a stop withdraws it, and a late or a second value is ignored.
"""

from __future__ import annotations

import asyncio
from asyncio import Future
from typing import Annotated, Any

import msgspec

from steersman.errors import Aborted
from steersman.lsp.channel import ClientChannel
from steersman.lsp.client_messages import WITHDRAWN
from steersman.ports.cancel import Cancel

Milliseconds = Annotated[float, msgspec.Meta(ge=0, le=1e12)]
"""A duration as a client tells it: it may be a fraction, and never the end of all numbers."""


class LongRequests:
    """The open requests of one method. Every one is known by the `runId` of its params."""

    def __init__(self, channel: ClientChannel, method: str) -> None:
        self._channel = channel
        self._method = method
        self._open: dict[str, Future[Any]] = {}

    async def ask(self, params: dict[str, Any], seconds: float, cancel: Cancel) -> Any:
        """The value as plain JSON, in whichever of the two ways it came.

        Raises:
            TimeoutError: no value within `seconds`.
            Aborted: `cancel` was set first.
            Exception: the client answered with an error, or is gone; its text says which.
        """
        run_id: str = params["runId"]
        told = self._open[run_id] = asyncio.get_running_loop().create_future()
        value = asyncio.create_task(self._value(params, seconds, told))
        stop = asyncio.create_task(cancel.wait())
        withdraw = True
        try:
            await asyncio.wait({value, stop}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if value.done():
                withdraw = isinstance(value.exception(), TimeoutError)
                return value.result()
            if stop.done():
                raise Aborted("the run was stopped")
            raise TimeoutError
        finally:
            del self._open[run_id]
            for task in (value, stop):
                task.cancel()
            await asyncio.gather(value, stop, return_exceptions=True)
            if withdraw:
                self._channel.notify_raw(WITHDRAWN, {"id": run_id})

    def is_open(self, run_id: object) -> bool:
        """Whether a value is still waited for."""
        return isinstance(run_id, str) and run_id in self._open

    def result(self, params: object) -> None:
        """Take the value of an accepted request. What belongs to no open one is ignored."""
        run_id = params.get("runId") if isinstance(params, dict) else None
        told = self._open.get(run_id) if isinstance(run_id, str) else None
        if told is not None and not told.done():
            told.set_result(params)

    async def _value(self, params: dict[str, Any], seconds: float, told: Future[Any]) -> Any:
        call = asyncio.create_task(self._channel.call(self._method, params, timeout=seconds))
        try:
            # The notification may come before the answer that announces it.
            await asyncio.wait({call, told}, return_when=asyncio.FIRST_COMPLETED)
            if not told.done():
                answer = call.result()
                if not (isinstance(answer, dict) and answer.get("accepted") is True):
                    return answer
            return await told
        finally:
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
