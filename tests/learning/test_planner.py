"""Bitsums from public counts."""

import math
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

from dpverify.guarantee import Budget, Interval
from dpverify.learning import planner
from dpverify.learning.planner import Planner
from dpverify.planning.account import account
from protocols.bitsum import RandomizedResponse
from tests.refusals import refused

BUDGET = Budget("2", "1e-4")


@pytest.mark.long
@pytest.mark.parametrize("bitsum", ["rr", "poisson", "pure"])
def test_a_plan_for_fewer_users_holds_for_more(bitsum: str) -> None:
    plans = Planner(bitsum, BUDGET, 2, 1.5)
    made = plans(31 * 8 + 7)
    assert made.users == 255
    assert plans.row(255) is plans.row(248) is not plans.row(247)
    found = account(made, instances=2, squared_change=1.5, delta=1e-4, relative_width=1e-3)
    assert found.epsilon.lower < 2.0 + 1e-9
    assert found.epsilon.upper < 2.0 * 1.001


def test_plans_and_proofs_are_of_fewer_users_and_of_all_that_a_point_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    made, asked = Planner("rr", BUDGET, 16, 8.5), list[Any]()
    change = {"instances": 16, "squared_change": 8.5}
    monkeypatch.setattr(planner, "plan", lambda *of, **how: asked.append((of, how)) or "row")
    assert made.row(1001) == "row"
    assert asked.pop() == (("rr", BUDGET), {"users": 992, **change})
    for spent, kept in ((2.0, True), (math.nextafter(2.0, 3.0), False)):
        found = SimpleNamespace(epsilon=Interval(1.9, spent))
        monkeypatch.setattr(planner, "account", lambda *of, found=found, **how: asked.append((of, how)) or found)
        planner._kept.cache_clear()
        assert made.keeps(RandomizedResponse(1001, 0.25)) is kept
        assert asked.pop() == ((RandomizedResponse(992, 0.25),), {"delta": Fraction("1e-4"), **change})
    planner._kept.cache_clear()
    planner._planned.cache_clear()


def test_the_protocol_is_checked() -> None:
    with refused("bitsum='central-gaussian'"):
        Planner("central-gaussian", BUDGET, 16, 8.0)
