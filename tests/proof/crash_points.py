"""The process dies at a chosen step of a script – between any two awaits, before and after each commit, in
each tool's body – and another one takes the session over, and perhaps dies as well.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Final

from tests.proof.life import SHAPES, Story
from tests.proof.world import Shape

_TALK: Final = {"prompt": 3, "steer": 2, "stop": 1, "release": 1}
_BUSY: Final = Shape(person=_TALK, calls=6, fails=1)
SCRIPTS: Final = (
    ("script 3.22", SHAPES["failures"]),  # a retry, an approval, a question, a stop and a held queue
    ("script 3.21", SHAPES["failures"]),
    ("script 1.11", SHAPES["stops"]),
    ("script 0.25", _BUSY),
    ("script 4.24", SHAPES["goals"]),
    ("script 5.15", SHAPES["trust"]),
)
POINTS: Final = 500
"""How many single crashes a script gets; those behind its end find nothing to break and are not counted."""


def crash_case(number: int) -> Counter[str]:
    """Case n < 3,000: script n // 500 dies before its step n % 500 (+ 1). The rest: two or three crashes."""
    if number < POINTS * len(SCRIPTS):
        script, step = divmod(number, POINTS)
        return crash(script, [step + 1])
    dice = random.Random(number)
    return crash(dice.randrange(len(SCRIPTS)), [dice.randrange(1, 500) for _ in range(dice.choice((2, 3)))])


def crash(script: int, steps: list[int]) -> Counter[str]:
    """Play a script whose lives end at these steps, then one more life to its end. Raises Broken."""
    played = Story(*SCRIPTS[script])
    crashes = 0
    try:
        for step in steps:
            crashes += played.live(6, die_at=step)
        if played.session_id:
            played.live(2)
        played.raise_if_broken()
        return Counter(crashes=crashes, lives=played.lives)
    finally:
        played.close()
