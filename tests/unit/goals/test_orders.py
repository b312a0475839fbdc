"""People and the driver cross each other in thousands of orders: the person's act wins in all (orders.py)."""

from __future__ import annotations

import pytest

from tests.proof.layer import check
from tests.proof.layers import LAYERS

ORDERS = LAYERS["goal-orders"]


@pytest.mark.timeout(180)
def test_whatever_the_order_the_persons_act_wins() -> None:
    counts = check(ORDERS, ORDERS.quick)
    assert counts["rounds"] > ORDERS.quick, "the driver hardly ever had a chance"


@pytest.mark.full
@pytest.mark.timeout(0)
def test_ten_thousand_orders() -> None:
    check(ORDERS, ORDERS.full)
