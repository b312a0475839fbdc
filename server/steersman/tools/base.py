"""What a tool is. A tool decides its mode and its permission for the actual arguments, acts, and verifies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, Literal, Protocol, TypeVar

import msgspec

from steersman.domain.events import CallMode, EventData, Risk
from steersman.domain.messages import ToolError, Verified
from steersman.domain.settings import Settings
from steersman.domain.state import SessionState
from steersman.ports.cancel import Cancel
from steersman.ports.editor import EditorPort
from steersman.ports.process import ProcessPort, TestRunner
from steersman.ports.query import QueryPort

A = TypeVar("A", bound="Arguments")


class Arguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of every tool's arguments; snake_case as the model writes them. Its JSON schema is sent."""


class Allow(msgspec.Struct, frozen=True):
    """Go on without asking."""


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """Ask a person first. `remember` is the rule that `allowSession` keeps (None: it counts as once)."""

    risk: Risk
    title: str
    detail: str
    uris: tuple[str, ...] = ()
    argv: tuple[str, ...] = ()
    remember: str | None = None


class Refuse(msgspec.Struct, frozen=True, kw_only=True):
    """Never. `code` is an error code of protocol.md, `message` tells the model what to do instead."""

    code: str
    message: str


class Inquire(msgspec.Struct, frozen=True, kw_only=True):
    """Put a question to the person first; the body then finds the reply in `ToolContext.reply`."""

    text: str
    choices: tuple[str, ...] = ()


Permit = Allow | Ask | Refuse | Inquire


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a question. `steer`: the person wrote a message instead of answering.

    `answer` is None where there is none: the person closed the question, or wrote instead.
    """

    answer: str | None
    by: Literal["human", "steer"]


class Confirmation(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a question that a check put to the person. Only `human` with words is an answer.

    `problem` says why nobody was asked or answered.
    """

    by: Literal["human", "steer", "timeout", "cancelled", "nobody"]
    answer: str | None = None
    problem: str | None = None


class ToolOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a call came to. `seen` maps URIs to digests of texts that the model now knows whole."""

    content: str
    outcome: Literal["ok", "error", "timeout", "aborted"] = "ok"
    error: ToolError | None = None
    verified: Verified | None = None
    seen: Mapping[str, str] = {}


class ToolContext(Protocol):
    """What a running call may use. The loop gives it; nothing else reaches the outside."""

    @property
    def call_id(self) -> str: ...
    @property
    def session_id(self) -> str: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def editor(self) -> EditorPort: ...
    @property
    def processes(self) -> ProcessPort: ...
    @property
    def commands(self) -> ProcessPort:
        """Where the model's own commands run: at the client where it offers that, else `processes`."""
        ...

    @property
    def tests(self) -> TestRunner: ...
    @property
    def cancel(self) -> Cancel: ...
    @property
    def trusted(self) -> bool: ...
    @property
    def queries(self) -> QueryPort | None:
        """The editor's language intelligence, None where it offers none."""
        ...

    @property
    def reply(self) -> Reply | None:
        """What the person said to the question that the tool's permission put; None if it put none."""
        ...

    @property
    def state(self) -> SessionState:
        """The state now; read it again after every await."""
        ...

    async def record(self, *events: EventData, blobs: Mapping[str, bytes] | None = None) -> None:
        """Append events durably before going on. Raises StorageFailed."""
        ...

    async def blob(self, digest: str) -> bytes | None: ...

    async def confirm(self, check_id: str, text: str, choices: tuple[str, ...]) -> Confirmation:
        """Put a check's question to the person and wait; a stop withdraws it. Raises StorageFailed."""
        ...


class Tool(Protocol, Generic[A]):
    """One tool. Implementations hold no state of their own."""

    name: str
    description: str
    """One sentence for the model: what it does and when to use it."""
    arguments: type[A]
    deadline_seconds: float
    """Real time after which the loop stops it; tools that run processes have their own, shorter one."""

    def mode(self, arguments: A, context: ToolContext) -> CallMode: ...

    def permit(self, arguments: A, context: ToolContext) -> Permit:
        """Synchronous and side-effect free: it is asked again right before the body runs."""
        ...

    async def run(self, arguments: A, context: ToolContext) -> ToolOutcome:
        """Act. Raises ToolFailed for what the model should know."""
        ...


AnyTool = Tool[Any]
