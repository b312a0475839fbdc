"""What the loop is given: everything it needs from outside, in one value that the composition builds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec

from steersman.domain.checks import Check, CheckResult, Verdict
from steersman.domain.events import Mode
from steersman.domain.settings import Settings
from steersman.policies.seam import Policy
from steersman.ports.approval import ApprovalPort
from steersman.ports.clock import Clock
from steersman.ports.editor import EditorPort
from steersman.ports.model import ModelProvider
from steersman.ports.process import ProcessPort, TestRunner
from steersman.ports.query import QueryPort
from steersman.ports.question import QuestionPort
from steersman.tools.base import AnyTool, ToolContext


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """What running checks came to."""

    verdict: Verdict
    results: list[CheckResult]


class CheckRunner(Protocol):
    async def run(self, checks: Sequence[Check], context: ToolContext) -> Verification:
        """Run checks as a chain, cheap before dear; the first failure ends it. Honours `context.cancel`."""
        ...


class Services(msgspec.Struct, kw_only=True):
    """The parts. `trusted` and `settings` may change while a session is open; the rest does not."""

    settings: Settings
    clock: Clock
    models: ModelProvider
    editor: EditorPort
    approvals: ApprovalPort
    questions: QuestionPort
    processes: ProcessPort
    tests: TestRunner
    checks: CheckRunner
    toolbox: Callable[[Mode], Mapping[str, AnyTool]]
    """The tools that a mode offers, by name, in the order in which the model sees them."""
    policies: Sequence[Policy]
    jitter: Callable[[], float]
    """A random factor in [0, 1): retries of many clients must not come at once."""
    commands: ProcessPort | None = None
    """Where the model's own commands run, if not in `processes`. Those of checks never do."""
    queries: QueryPort | None = None
    """The editor's language intelligence, where it offers that."""
    trusted: bool = True
