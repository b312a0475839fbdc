"""Power cuts: nothing acknowledged is lost in any image, and the controls show that the images are cruel."""

from __future__ import annotations

import pytest

from tests.proof.layer import check
from tests.proof.layers import LAYERS
from tests.proof.power_cut import recorded

POWER = LAYERS["power-cut"]


@pytest.mark.timeout(240)
def test_full_sync_loses_no_acknowledged_event_in_any_image() -> None:
    counts = check(POWER, POWER.quick)
    assert counts["images"] == POWER.quick
    assert counts["lost_with_normal"] > 0, "NORMAL must lose something, or the images prove nothing"
    assert counts["lost_with_off"] > 0, "OFF must lose something, or the images prove nothing"


def test_the_workload_reaches_the_database_itself_while_it_runs() -> None:
    recording = recorded(0, None)
    assert {op.file for op in recording.ops if op.kind == "write"} >= {"session.db", "session.db-wal"}
    syncs = [op.file for op in recording.ops if op.kind == "sync"]
    assert syncs.count("session.db") >= 1
    assert syncs.count("session.db-wal") >= len(recording.acknowledged)


@pytest.mark.full
@pytest.mark.timeout(0)
def test_full_sync_loses_nothing_in_very_many_images() -> None:
    counts = check(POWER, POWER.full)
    assert counts["lost_with_normal"] > 0.5 * counts["controls"]
