"""The settings of protocol.md section 1, with their defaults. User scope only; never the key."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from steersman.domain.value import Value


class Prices(Value, frozen=True):
    """Per million tokens, in the user's currency."""

    input: float = 0.0
    cached_input: float | None = None
    output: float = 0.0


class ModelSettings(Value, frozen=True):
    """Where and how to ask. Sizes are tokens, times seconds."""

    base_url: str | None = None
    name: str | None = None
    context_window: int | None = None
    max_output_tokens: int | None = None
    max_tokens_field: str = "max_tokens"
    temperature: float | None = None
    extra_body: dict[str, Any] = {}
    headers: dict[str, str] = {}
    query: dict[str, str] = {}
    proxy: str | None = None
    no_proxy: str | None = None
    ca_file: str | None = None
    prices: Prices | None = None
    max_retries: int = 5
    retry_base_seconds: float = 0.5
    retry_max_seconds: float = 10.0
    idle_timeout_seconds: float = 120.0
    total_timeout_seconds: float = 1800.0
    text_tool_calls: bool = False


class LoopSettings(Value, frozen=True):
    max_parallel_tools: int = 10
    max_steps_per_turn: int = 200
    tool_grace_seconds: float = 1.5
    client_request_timeout_seconds: float = 30.0


class GoalSettings(Value, frozen=True):
    """`idle_pause_seconds`: the wait after the first and after each further round that changed nothing."""

    max_rounds: int = 256
    blocked_after_rounds: int = 3
    no_progress_rounds: int = 3
    failing_rounds: int = 3
    idle_pause_seconds: tuple[float, ...] = (1.0, 5.0)


class ContextSettings(Value, frozen=True):
    compact_at: float = 0.8
    result_limit_bytes: int = 16384


class CommandRule(Value, frozen=True):
    """Commands that start with `argv` are allowed or denied without asking."""

    argv: list[str]
    decision: Literal["allow", "deny"]


class PermissionSettings(Value, frozen=True):
    edit: Literal["allow", "ask"] = "allow"
    commands: list[CommandRule] = []
    approval_timeout_seconds: float = 600.0


class TestSettings(Value, frozen=True):
    __test__: ClassVar[bool] = False

    command: list[str] | None = None
    timeout_seconds: float = 600.0


class Settings(Value, frozen=True):
    """All of them. What later features add is read where the feature is."""

    state_dir: str | None = None
    trusted: bool = True
    scripted_model: str | None = None
    model: ModelSettings = ModelSettings()
    loop: LoopSettings = LoopSettings()
    goal: GoalSettings = GoalSettings()
    context: ContextSettings = ContextSettings()
    permissions: PermissionSettings = PermissionSettings()
    tests: TestSettings = TestSettings()
