"""The whole exception tree. Every error a person can meet says what to do next.

SteersmanError                     base of everything raised on purpose
├── RequestRefused                 a request that cannot be carried out (JSON-RPC -32803)
│   ├── SessionNotFound            no such session in this state folder
│   ├── SessionLocked              another server writes this session
│   ├── SessionCorrupt             the log breaks its own rules at a seq
│   ├── SessionReadOnly            opened without the writer's lock
│   ├── SessionBusy                the operation needs an idle session
│   ├── WorkspaceMismatch          the session belongs to another folder
│   ├── TurnMismatch               expectedTurn is not the running turn
│   ├── GoalNotFound, GoalExists, GoalStale, GoalTransition, GoalInvalid
│   ├── NotVerified                the checks did not pass
│   ├── NotConfigured              no model, or no key
│   ├── Untrusted                  the workspace is not trusted
│   ├── Unsupported                this client or build cannot do it
│   └── StorageFailed              the log could not be written or read
├── InvalidParams                  params do not fit their shape (JSON-RPC -32602)
├── LogViolation                   an event that the fold refuses, with its seq
├── ModelFailed                    a model request failed (an event of the turn, never a JSON-RPC error)
├── ToolFailed                     a tool could not do it (a result for the model)
└── Aborted                        the abort signal of the turn was set
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

RetryCode = Literal["rate-limit", "server", "timeout", "transport", "empty"]


class SteersmanError(Exception):
    """Base of every error that Steersman raises on purpose."""


class RequestRefused(SteersmanError):
    """A well-formed request that cannot be carried out now.

    `kind` and `data` travel to the client as `data.kind` and its siblings (protocol.md section 7).
    """

    kind: ClassVar[str] = "refused"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, **data: Any) -> None:
        super().__init__(message)
        self.data = data


class SessionNotFound(RequestRefused):
    kind = "sessionNotFound"


class SessionLocked(RequestRefused):
    kind = "sessionLocked"
    retryable = True


class SessionCorrupt(RequestRefused):
    kind = "sessionCorrupt"

    @classmethod
    def at(cls, seq: int, reason: str) -> SessionCorrupt:
        """The log is damaged at event `seq`; `reason` is a sentence without its end."""
        return cls(
            f"The session's log is damaged at event {seq}: {reason}. "
            "Open it read-only to see what is whole, export it, or repair it.",
            seq=seq,
            reason=reason,
        )


class SessionReadOnly(RequestRefused):
    kind = "sessionReadOnly"


class SessionBusy(RequestRefused):
    kind = "sessionBusy"
    retryable = True


class WorkspaceMismatch(RequestRefused):
    kind = "workspaceMismatch"


class TurnMismatch(RequestRefused):
    kind = "turnMismatch"


class GoalNotFound(RequestRefused):
    kind = "goalNotFound"


class GoalExists(RequestRefused):
    kind = "goalExists"


class GoalStale(RequestRefused):
    kind = "goalStale"
    retryable = True


class GoalTransition(RequestRefused):
    kind = "goalTransition"


class GoalInvalid(RequestRefused):
    kind = "goalInvalid"


class NotVerified(RequestRefused):
    kind = "notVerified"


class NotConfigured(RequestRefused):
    kind = "notConfigured"


class Untrusted(RequestRefused):
    kind = "untrusted"


class Unsupported(RequestRefused):
    kind = "unsupported"


class StorageFailed(RequestRefused):
    """The log could not be written or read; the session is suspended until it is opened again."""

    kind = "storage"
    retryable = True


class InvalidParams(SteersmanError):
    """Params that do not fit their shape. `errors` lists paths such as `$.text`."""

    def __init__(self, message: str, errors: list[str] | None = None) -> None:
        super().__init__(message)
        self.errors = errors or [message]


class LogViolation(SteersmanError):
    """An event that breaks a rule of the log. `seq` is the event's number, `reason` a sentence."""

    def __init__(self, seq: int, reason: str) -> None:
        super().__init__(f"event {seq}: {reason}")
        self.seq = seq
        self.reason = reason


class ModelFailed(SteersmanError):
    """A model request that gave no usable answer.

    `code` is a retry code of protocol.md where `retryable`, else one of `auth`, `quota`, `bad-request`,
    `context-limit`, `not-found`, `protocol`, `script`. `retry_after` is the provider's wish in seconds.
    The message never holds a key.
    """

    def __init__(
        self, code: str, message: str, *, retryable: bool = False, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.retryable = retryable
        self.retry_after = retry_after


class ToolFailed(SteersmanError):
    """A tool could not do what was asked. `code` is an `error.code` of protocol.md section 5.

    The message is written for the model: what was wrong and what to do next.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Aborted(SteersmanError):
    """The abort signal was set while something waited."""
