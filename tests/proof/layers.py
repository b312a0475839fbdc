"""All layers of the proof by name, in the order of the table. A layer is added here and in a test module."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Final

from tests.mutants.mutant import mutants, survivors
from tests.proof.crash_points import crash_case
from tests.proof.fold_mutations import mutation_case
from tests.proof.fuzz import fuzz_case
from tests.proof.layer import Layer, require
from tests.proof.life import SHAPES, story
from tests.proof.machine_rules import machine_case
from tests.proof.power_cut import power_case
from tests.proof.process_ends import CASES, end_case
from tests.proof.secrets_everywhere import secret_case
from tests.proof.sequences import sequences
from tests.proof.sigkill import kill_case
from tests.proof.soak import soak_case
from tests.unit.goals.machine import GoalMachine
from tests.unit.goals.orders import order


def _schedule(number: int) -> Counter[str]:
    name = list(SHAPES)[number % len(SHAPES)]
    return story(f"{name} {number // len(SHAPES)}", SHAPES[name])


def _goal_machine(number: int) -> Counter[str]:
    return sequences(GoalMachine, number)


def _goal_order(number: int) -> Counter[str]:
    return asyncio.run(order(number))


def _long_session(_: int) -> Counter[str]:
    return soak_case(0, turns=1_000)


_MUTANTS: Final = mutants()


def _mutant(number: int) -> Counter[str]:
    mutant = _MUTANTS[number]
    missed = survivors(mutant)
    require(missed is None, f"{mutant.name}: {missed}")
    return Counter({f"of {mutant.area}": 1})


_ALL: Final = (
    Layer(
        name="fold",
        what="One change to a log that a run wrote is refused when it is read",
        unit="changed logs",
        quick=500,
        full=5_000,
        case=mutation_case,
        chunk=100,
    ),
    Layer(
        name="state-machine",
        what="A person, a model and fate in any order, beside a plain model of what must come of it",
        unit="tens of sequences",
        quick=30,
        full=300,
        case=machine_case,
    ),
    Layer(
        name="schedules",
        what="Random schedules on a virtual clock: eight scenarios, every promise of the loop checked",
        unit="schedules",
        quick=1_000,
        full=80_000,
        case=_schedule,
        chunk=25,
        kept=(317,),
    ),
    Layer(
        name="goal-machine",
        what="People, the model, crashes and the clock do anything to a goal, beside a plain goal",
        unit="tens of sequences",
        quick=30,
        full=300,
        case=_goal_machine,
    ),
    Layer(
        name="goal-orders",
        what="People and the driver cross each other in any order: the person's act wins",
        unit="orders",
        quick=500,
        full=10_000,
        case=_goal_order,
        chunk=50,
    ),
    Layer(
        name="crash-points",
        what="The process dies at every step of a script, then again at two and three places",
        unit="crashes",
        quick=310,
        full=5_000,
        case=crash_case,
        chunk=25,
    ),
    Layer(
        name="power-cut",
        what="The power fails: the log is opened from any mixture of synced and unsynced writes",
        unit="disk images",
        quick=50,
        full=1_000,
        case=power_case,
        chunk=10,
    ),
    Layer(
        name="sigkill",
        what="The whole server over stdio is killed in the middle of its work, five times a session",
        unit="sessions",
        quick=4,
        full=40,
        case=kill_case,
    ),
    Layer(
        name="process-ends",
        what="Every way in which a server can end, beside children with and without a session of their own",
        unit="ends",
        quick=len(CASES),
        full=len(CASES),
        case=end_case,
    ),
    Layer(
        name="secrets",
        what="Keys go in by every door; every byte said, logged or left on the disk is searched for them",
        unit="runs",
        quick=1,
        full=3,
        case=secret_case,
    ),
    Layer(
        name="fuzz",
        what="Damaged streams, arguments, frames, paths, commands, and texts that pretend to be the host",
        unit="inputs",
        quick=1_000,
        full=50_000,
        case=fuzz_case,
        chunk=500,
    ),
    Layer(
        name="soak",
        what="Fifty turns in a real server: memory, descriptors and threads stay as they were",
        unit="servers",
        quick=1,
        full=20,
        case=soak_case,
        alone=True,
    ),
    Layer(
        name="long-session",
        what="A thousand turns in one session of a real server: the same",
        unit="session",
        quick=0,
        full=1,
        case=_long_session,
        alone=True,
    ),
    Layer(
        name="mutants",
        what="Deliberate defects, each in a copy of the product: the tests named for it fail",
        unit="defects",
        quick=6,
        full=len(_MUTANTS),
        case=_mutant,
    ),
)
LAYERS: Final = {layer.name: layer for layer in _ALL}
