"""The hash chain: every byte of every row counts, and the rows' order."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.domain.events import StoredEvent
from steersman.errors import LogViolation
from steersman.store import chain
from tests.unit.store.rows import row, rows

ID = "s-chain"
Fields = tuple[Any, ...]

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
events = st.lists(
    st.builds(
        StoredEvent,
        seq=st.just(0),
        time=st.integers(-(2**63), 2**63 - 1),
        type=texts,
        data=st.binary(max_size=20),
        ignorable=st.booleans(),
    ),
    min_size=1,
    max_size=6,
).map(lambda drawn: [msgspec.structs.replace(e, seq=n) for n, e in enumerate(drawn, 1)])


def stored(written: list[StoredEvent]) -> tuple[list[Fields], chain.Head]:
    """The rows as a database gives them back: the type as bytes."""
    linked, head = chain.extend(ID, chain.start(ID), written)
    return [(seq, time, type_.encode(), *rest) for seq, time, type_, *rest in linked], head


def verify(found: list[Fields], head: chain.Head, session: str = ID) -> list[StoredEvent]:
    verifier = chain.Verifier(session, head)
    taken = [verifier.take(*fields) for fields in found]
    verifier.finish()
    return taken


@given(events)
def test_what_was_linked_is_verified(written: list[StoredEvent]) -> None:
    assert [e.seq for e in verify(*stored(written))] == [e.seq for e in written]


@given(events, st.data())
def test_any_single_change_of_a_row_is_refused(written: list[StoredEvent], data: st.DataObject) -> None:
    found, head = stored(written)
    at = data.draw(st.integers(0, len(found) - 1))
    column = data.draw(st.integers(0, 5))
    old = found[at][column]
    if isinstance(old, bytes):
        new: Any = data.draw(st.binary(max_size=40))
    else:
        new = data.draw(st.one_of(st.integers(0, 2**63 - 1), st.none(), st.text(max_size=2), st.floats()))
    if new == old:
        return
    found[at] = (*found[at][:column], new, *found[at][column + 1 :])
    with pytest.raises(LogViolation) as refused:
        verify(found, head)
    assert refused.value.seq == at + 1


@given(events, st.data())
def test_a_dropped_a_doubled_and_a_swapped_row_are_refused(
    written: list[StoredEvent], data: st.DataObject
) -> None:
    found, head = stored(written)
    at = data.draw(st.integers(0, len(found) - 1))
    dropped = found[:at] + found[at + 1 :]
    doubled = [*found[: at + 1], *found[at:]]
    for damaged, seq in ((dropped, at + 1), (doubled, at + 2)):
        with pytest.raises(LogViolation) as refused:
            verify(damaged, head)
        assert refused.value.seq == seq
    if len(found) > 1:
        other = (at + 1) % len(found)
        swapped = list(found)
        swapped[at], swapped[other] = swapped[other], swapped[at]
        with pytest.raises(LogViolation) as refused:
            verify(swapped, head)
        assert refused.value.seq == min(at, other) + 1


@given(events)
def test_renumbered_rows_are_refused(written: list[StoredEvent]) -> None:
    """Two rows swapped with their numbers: the numbers are right again, the chain is not."""
    found, head = stored([*written, msgspec.structs.replace(row(1, "last"), seq=len(written) + 1)])
    first, last = found[0], found[-1]
    found[0], found[-1] = (1, *last[1:]), (last[0], *first[1:])
    with pytest.raises(LogViolation):
        verify(found, head)


@given(events)
def test_bytes_cannot_move_between_type_and_data(written: list[StoredEvent]) -> None:
    found, head = stored(written)
    seq, time, type_, ignorable, data, digest = found[-1]
    if type_:
        found[-1] = (seq, time, type_[:-1], ignorable, type_[-1:] + data, digest)
        with pytest.raises(LogViolation):
            verify(found, head)


def test_another_session_has_another_chain() -> None:
    with pytest.raises(LogViolation, match="event 1"):
        verify(*stored(rows(1, 2)), session="s-other")


def test_another_head_is_refused() -> None:
    found, head = stored(rows(1, 2))
    with pytest.raises(LogViolation, match=r"event 2.*head"):
        verify(found, chain.Head(seq=head.seq, hash=b"\x00" * 32))
    with pytest.raises(LogViolation, match=r"event 3.*missing"):
        verify(found, chain.Head(seq=3, hash=head.hash))


def test_a_log_in_two_appends_has_the_same_chain() -> None:
    _, half = chain.extend(ID, chain.start(ID), rows(1, 4))
    assert chain.extend(ID, half, rows(5, 9))[1] == chain.extend(ID, chain.start(ID), rows(1, 9))[1]


def test_the_chain_of_format_1_never_changes() -> None:
    """A released format is for ever: logs on people's disks are verified with this."""
    _, head = chain.extend("s-golden", chain.start("s-golden"), rows(1, 15))
    assert head.hash.hex() == "68864816885d1d00e597d35349a1e547ba3b81244e63eb72adcfd6b974fbaf91"
