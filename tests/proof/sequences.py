"""Sequences of rules of a state machine (hypothesis) as a case: they follow from its number."""

from __future__ import annotations

from collections import Counter
from typing import Final

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import RuleBasedStateMachine, get_state_machine_test

EXAMPLES: Final = 10
"""Sequences of one case."""
_LONG_FROM: Final = 30


def sequences(machine: type[RuleBasedStateMachine], number: int) -> Counter[str]:
    """Ten sequences, of up to 40 steps in the first cases and up to 60 in the others."""
    how = settings(
        max_examples=EXAMPLES,
        stateful_step_count=40 if number < _LONG_FROM else 60,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
        print_blob=False,
    )
    seed(number)(get_state_machine_test(machine, settings=how))()
    return Counter(sequences=EXAMPLES)
