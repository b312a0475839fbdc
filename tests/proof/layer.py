"""One layer of the proof: numbered cases that follow from their number alone and raise if they fail."""

from __future__ import annotations

import logging
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any, Final

import msgspec

_WORDS: Final = 2000


@dataclass(frozen=True)
class Layer:
    """`quick` cases run with every change, `full` ones by hand or at night. `case` counts what it saw.

    `kept` are the numbers of cases that failed once: they go first, whatever the size. `alone`: the cases
    measure the machine or share it badly, so they run one after the other. `chunk` cases go to a process
    at a time: a chunk that has begun is ended, so what ran is always a range.
    """

    name: str
    what: str
    unit: str
    quick: int
    full: int
    case: Callable[[int], Mapping[str, int]]
    kept: tuple[int, ...] = ()
    chunk: int = 1
    alone: bool = False


class Failure(msgspec.Struct, frozen=True):
    case: int
    words: str


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a run of a layer came to. `seconds` is the time that it took, `counts` sums over the cases."""

    cases: int
    seconds: float
    counts: dict[str, int]
    failures: list[Failure]


def play(
    layer: Layer,
    numbers: Sequence[int],
    *,
    workers: int = 1,
    until: float = float("inf"),
    to_the_end: bool = True,
) -> Outcome:
    """Run cases, in chunks; no further chunk begins after `until` (monotonic seconds).

    With `to_the_end` off, the first failure is enough.
    """
    begun = time.monotonic()
    chunks = [numbers[n : n + layer.chunk] for n in range(0, len(numbers), layer.chunk)]
    run = _in_processes if workers > 1 and len(chunks) > 1 and not layer.alone else _in_turn
    parts: list[Outcome] = []
    for part in run(layer, chunks, workers, until):
        parts.append(part)
        if part.failures and not to_the_end:
            break
    counts: Counter[str] = sum((Counter(part.counts) for part in parts), Counter())
    return Outcome(
        cases=sum(part.cases for part in parts),
        seconds=round(time.monotonic() - begun, 1),
        counts=dict(sorted(counts.items())),
        failures=sorted((f for part in parts for f in part.failures), key=lambda failure: failure.case),
    )


def _in_turn(layer: Layer, chunks: list[Sequence[int]], workers: int, until: float) -> Iterator[Outcome]:
    for chunk in chunks:
        yield _played(layer, chunk, until)


def _in_processes(layer: Layer, chunks: list[Sequence[int]], workers: int, until: float) -> Iterator[Outcome]:
    with ProcessPoolExecutor(min(workers, len(chunks)), mp_context=get_context("spawn")) as pool:
        running = [pool.submit(_chunk, layer.name, chunk, until) for chunk in chunks]
        try:
            for done in as_completed(running):
                yield done.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _chunk(name: str, numbers: Sequence[int], until: float) -> Outcome:
    """In a process of its own."""
    from tests.proof.layers import LAYERS

    return _played(LAYERS[name], numbers, until)


def _played(layer: Layer, numbers: Sequence[int], until: float) -> Outcome:
    counts: Counter[str] = Counter()
    failures: list[Failure] = []
    if time.monotonic() > until:
        return Outcome(cases=0, seconds=0.0, counts={}, failures=[])
    previous = logging.root.manager.disable
    logging.disable()  # broken tools and full disks are the point here
    try:
        for number in numbers:
            try:
                counts.update(layer.case(number))
            except Exception:
                failures.append(Failure(number, traceback.format_exc()[-_WORDS:]))
    finally:
        logging.disable(previous)
    return Outcome(cases=len(numbers), seconds=0.0, counts=dict(counts), failures=failures)


def check(layer: Layer, count: int, first: int = 0, step: int = 1) -> dict[str, int]:
    """For tests: run `count` cases, and fail with the command that repeats the first failure. Its counts."""
    kept = [n for n in layer.kept if n % step == first % step and n >= first]
    numbers = [*kept, *(n for n in range(first, first + count * step, step) if n not in kept)]
    outcome = play(layer, numbers, to_the_end=False)
    if outcome.failures:
        failed = outcome.failures[0]
        again = f"python -m tests.proof {layer.name} --first {failed.case} --count 1"
        raise AssertionError(f"Case {failed.case} failed. Repeat it: {again}\n{failed.words}")
    return outcome.counts


def require(condition: Any, words: str) -> None:
    """An assertion that also holds where assertions are not rewritten."""
    if not condition:
        raise AssertionError(words)
