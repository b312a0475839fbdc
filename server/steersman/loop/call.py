"""One tool call, from its raw arguments to its result: prepare, permit, run under a deadline, stop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Literal

import msgspec

from steersman.domain import events as ev
from steersman.domain.events import CallMode, EventData
from steersman.domain.messages import ToolCall, ToolError
from steersman.domain.settings import Settings
from steersman.domain.state import SessionState
from steersman.errors import StorageFailed, ToolFailed
from steersman.loop.abort import AbortSignal
from steersman.loop.journal import Journal
from steersman.loop.services import Services
from steersman.ports.cancel import Cancel
from steersman.ports.editor import EditorPort
from steersman.ports.process import ProcessPort, TestRunner
from steersman.ports.query import QueryPort
from steersman.tools.base import (
    Allow,
    AnyTool,
    Arguments,
    Ask,
    Confirmation,
    Permit,
    Refuse,
    Reply,
    ToolOutcome,
)
from steersman.tools.schema import decode

log = logging.getLogger(__name__)
_Stopped = Literal["aborted", "timeout"]
Confirm = Callable[[str, str, str, tuple[str, ...]], Awaitable[Confirmation]]
"""Puts a check's question to the person: the call, the check, the words, the choices."""
LEAVE_SECONDS = 0.3
"""How long a cancelled body may take for its clean-up before it is abandoned."""


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """A call of the batch, prepared: a tool with decoded arguments, or the reason why there is none."""

    call: ToolCall
    mode: CallMode
    tool: AnyTool | None = None
    arguments: Arguments | None = None
    rejected: ToolError | None = None


class CallContext:
    """What a running call may use (tools/base.py). `cancel` is set by the turn's stop or the deadline."""

    def __init__(
        self,
        journal: Journal,
        services: Services,
        call_id: str,
        confirm: Confirm,
        reply: Reply | None = None,
    ) -> None:
        self._journal = journal
        self._services = services
        self._confirm = confirm
        self._cancel = asyncio.Event()
        self.call_id = call_id
        self.reply = reply

    @property
    def session_id(self) -> str:
        return self._journal.state.session_id

    @property
    def settings(self) -> Settings:
        return self._services.settings

    @property
    def editor(self) -> EditorPort:
        return self._services.editor

    @property
    def processes(self) -> ProcessPort:
        return self._services.processes

    @property
    def commands(self) -> ProcessPort:
        return self._services.commands or self._services.processes

    @property
    def tests(self) -> TestRunner:
        return self._services.tests

    @property
    def queries(self) -> QueryPort | None:
        return self._services.queries

    @property
    def cancel(self) -> Cancel:
        return self._cancel

    @property
    def trusted(self) -> bool:
        return self._services.trusted

    @property
    def state(self) -> SessionState:
        return self._journal.state

    def stop(self) -> None:
        self._cancel.set()

    async def record(self, *events: EventData, blobs: Mapping[str, bytes] | None = None) -> None:
        await self._journal.append(*events, blobs=blobs)

    async def blob(self, digest: str) -> bytes | None:
        return await self._journal.log.blob(digest)

    async def confirm(self, check_id: str, text: str, choices: tuple[str, ...]) -> Confirmation:
        return await self._confirm(self.call_id, check_id, text, choices)


class Caller:
    """Prepares and runs calls for one step of one turn."""

    def __init__(self, journal: Journal, services: Services, abort: AbortSignal, confirm: Confirm) -> None:
        self._journal = journal
        self._services = services
        self._abort = abort
        self._confirm = confirm

    def context(self, call_id: str) -> CallContext:
        return CallContext(self._journal, self._services, call_id, self._confirm)

    def prepare(self, call: ToolCall) -> Planned:
        """Find the tool, decode the arguments, and classify the call by them. Unknown is exclusive."""
        tools = self._services.toolbox(self._journal.state.mode)
        tool = tools.get(call.name)
        if tool is None:
            return Planned(call=call, mode="exclusive", rejected=_unknown(call.name, tools))
        try:
            arguments = decode(tool.arguments, call.arguments)
        except ToolFailed as failure:
            error = ToolError(code=failure.code, message=str(failure))
            return Planned(call=call, mode="exclusive", rejected=error)
        try:
            mode = tool.mode(arguments, self.context(call.call_id))
        except Exception:
            log.exception("classifying %s failed", call.name)
            mode = "exclusive"
        return Planned(call=call, mode=mode, tool=tool, arguments=arguments)

    def permit(self, planned: Planned) -> Permit:
        """Whether the call may run, as things are now. A failing judgement is a refusal."""
        if planned.tool is None or planned.arguments is None:
            return Allow()
        try:
            return planned.tool.permit(planned.arguments, self.context(planned.call.call_id))
        except ToolFailed as failure:
            return Refuse(code=failure.code, message=str(failure))
        except Exception as error:
            log.exception("judging %s failed", planned.call.name)
            return Refuse(code="FAILED", message=f"The permission could not be judged: {error}")

    async def run(
        self, planned: Planned, *, approved: bool, reply: Reply | None = None
    ) -> ToolOutcome | ToolError:
        """Run the body. The permission is judged once more, in the tick in which the body starts.

        Raises:
            StorageFailed: an event of the call could not be written.
        """
        permit = self.permit(planned)
        if isinstance(permit, Refuse):
            return ToolError(code=permit.code, message=permit.message)
        if isinstance(permit, Ask) and not approved:
            return ToolError(code="DENIED", message="This needs a person's approval now. Call it again.")
        if planned.tool is None or planned.arguments is None:
            raise AssertionError("a rejected call has no body")
        context = CallContext(self._journal, self._services, planned.call.call_id, self._confirm, reply)
        body = asyncio.create_task(planned.tool.run(planned.arguments, context))
        stopped = await self._watch(body, context, planned.tool.deadline_seconds)
        if not body.done() or body.cancelled():
            return ToolOutcome(
                content=_STOPPED[stopped],
                outcome=stopped,
                error=ToolError(code="TIMEOUT", message=_STOPPED[stopped]) if stopped == "timeout" else None,
            )
        try:
            return body.result()
        except ToolFailed as failure:
            return ToolError(code=failure.code, message=str(failure))
        except StorageFailed:
            raise
        except Exception as error:
            log.exception("tool %s failed", planned.call.name)
            return ToolError(
                code="FAILED", message=f"The tool itself failed: {type(error).__name__}: {error}"
            )

    async def _watch(
        self, body: asyncio.Task[ToolOutcome], context: CallContext, deadline: float
    ) -> _Stopped:
        """Wait for the body; tell it to stop at the abort or the deadline; leave it after the grace."""
        waiter = asyncio.create_task(self._abort.wait())
        try:
            await asyncio.wait({body, waiter}, timeout=deadline, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiter.cancel()
            with suppress(asyncio.CancelledError):
                await waiter
        stopped: _Stopped = "aborted" if self._abort.is_set() else "timeout"
        if not body.done():
            context.stop()
            await asyncio.wait({body}, timeout=self._services.settings.loop.tool_grace_seconds)
        if not body.done():
            body.cancel()
            await asyncio.wait({body}, timeout=LEAVE_SECONDS)
        if not body.done():
            log.error("a tool ignores its cancellation and was abandoned: %s", context.call_id)
        return stopped


_STOPPED: dict[_Stopped, str] = {
    "aborted": "Stopped by the user while it ran. Its effects are unknown: look before you repeat it.",
    "timeout": "It ran into its time limit and was stopped. Its effects are unknown: look before you repeat.",
}


def _unknown(name: str, tools: Mapping[str, AnyTool]) -> ToolError:
    known = ", ".join(tools) or "none"
    return ToolError(code="UNKNOWN_TOOL", message=f"There is no tool {name!r}. The tools are: {known}.")


def result_event(
    turn: int, step: int, call_id: str, outcome: ToolOutcome | ToolError, duration_ms: int | None
) -> ev.ToolResult:
    """The `tool/result` of a body that ran (or was refused at the last moment)."""
    if isinstance(outcome, ToolError):
        return ev.ToolResult(
            turn=turn,
            step=step,
            call_id=call_id,
            outcome="error",
            content=error_text(outcome),
            error=outcome,
            duration_ms=duration_ms,
        )
    return ev.ToolResult(
        turn=turn,
        step=step,
        call_id=call_id,
        outcome=outcome.outcome,
        content=outcome.content,
        error=outcome.error,
        verified=outcome.verified,
        duration_ms=duration_ms,
        seen=dict(outcome.seen) or None,
    )


def error_text(error: ToolError) -> str:
    """An error as the model reads it."""
    return f"Error {error.code}: {error.message}"
