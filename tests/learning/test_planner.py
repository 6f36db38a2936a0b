"""Bitsums from public counts."""

import pytest

from dpverify.guarantee import Budget
from dpverify.learning.planner import Planner
from dpverify.planning.account import account
from tests.refusals import refused

BUDGET = Budget("2", "1e-4")


@pytest.mark.long
@pytest.mark.parametrize("bitsum", ["rr", "poisson", "pure"])
def test_a_plan_for_fewer_users_holds_for_more(bitsum: str) -> None:
    planner = Planner(bitsum, BUDGET, 2, 1.5)
    made = planner(31 * 8 + 7)
    assert made.users == 255
    assert planner.row(255) is planner.row(248) is not planner.row(247)
    found = account(made, instances=2, squared_change=1.5, delta=1e-4, relative_width=1e-3)
    assert found.epsilon.lower < 2.0 + 1e-9
    assert found.epsilon.upper < 2.0 * 1.001


def test_the_protocol_is_checked() -> None:
    with refused("bitsum='central-gaussian'"):
        Planner("central-gaussian", BUDGET, 16, 8.0)
