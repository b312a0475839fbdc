"""The seam of the outer loop: policies look at the state after a step and before the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal

import msgspec

from steersman.domain import events as ev
from steersman.domain.settings import Settings
from steersman.domain.state import SessionState

Action = Literal["continue", "remind", "ask", "retry", "replan", "pause", "block", "fail", "succeed"]
ENDING: Final[frozenset[Action]] = frozenset({"pause", "block", "fail", "succeed"})
"""Without a goal each of these ends the turn as `exit {policy}` (exits.md)."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """A policy's judgement. `message` is for people and the model, `evidence` says what was seen."""

    policy: str
    class_: Literal["success", "failure", "safety"]
    severity: Literal["info", "transient", "recoverable", "fatal", "human"]
    action: Action
    message: str
    evidence: str

    @property
    def ends_turn(self) -> bool:
        return self.action in ENDING

    def event(self) -> ev.ExitVerdict:
        return ev.ExitVerdict(
            policy=self.policy,
            class_=self.class_,
            severity=self.severity,
            action=self.action,
            message=self.message,
            evidence=self.evidence,
        )


Policy = Callable[[SessionState, Settings], Verdict | None]
"""Pure: a state (with its step still open, all results in) gives a judgement or nothing."""


def judge(policies: Sequence[Policy], state: SessionState, settings: Settings) -> Verdict | None:
    """The first judgement that is not `continue`, in the order of the list."""
    for policy in policies:
        verdict = policy(state, settings)
        if verdict is not None and verdict.action != "continue":
            return verdict
    return None
