"""Steps beside the queries of a design: how many any days have of them, and that the budgets cover all."""

import math
from typing import Any

import pytest

import dpverify
from dpverify.collection.design import design
from dpverify.collection.query import Query
from dpverify.planning.schedules.beside import Beside

STEP = dpverify.NoisyStep(2.0, rate=0.01)


@pytest.mark.parametrize("own", [1, 3, 7])
def test_no_days_have_more_of_them(own: int) -> None:
    """Every pattern of days with at most two steps in any `own`: the fullest has them on the first of each."""
    for days in range(1, 30):
        most = max(sum(2 for day in range(start, start + days) if day % own == 0) for start in range(own))
        assert Beside(STEP, 2, own).within(days).instances == most == 2 * math.ceil(days / own)
        assert Beside(STEP, 2).within(days).instances == 2


@pytest.mark.long
def test_a_year_with_a_training_keeps_its_budgets() -> None:
    asked = [Query("features", bits=8)]
    limits = [(("1", "1e-6"), 1), (("2", "1e-6"), 30)]
    without = design(asked, limits, users=20_000)
    found = design(asked, limits, users=20_000, beside=[(STEP, 200), (dpverify.NoisyStep(40.0, law="laplace"), 1, 1)])
    assert found.queries[0].rmse > 1.01 * without.queries[0].rmse
    for limit in found.limits:
        days = found.days(limit.days)
        assert [day.instances for day in days] == [8 * limit.days, 200, limit.days]
        sharp = dpverify.account(days, delta="1e-6", relative_width=1e-4)
        assert sharp.guarantee.adjacency == "replace-one"
        assert sharp.epsilon.lower <= limit.guarantee.epsilon <= limit.budget.epsilon
        assert sharp.epsilon.upper <= limit.budget.epsilon
    (binding,) = (limit for limit in found.limits if limit.binds)
    assert binding.guarantee.epsilon > 0.99 * binding.budget.epsilon
    with pytest.raises(ValueError, match=r"^certificates are of protocols"):
        found.certificate(30)


def test_what_cannot_be_is_refused() -> None:
    asked: Any = [Query("features", bits=8)]
    with pytest.raises(dpverify.InfeasibleBudgetError, match=r"is spent by the steps beside the queries alone\.$"):
        design(asked, ("1", "1e-6"), users=2_000, beside=[(dpverify.NoisyStep(0.5), 3)])
    with pytest.raises(TypeError, match=r"^step=.* must be a step of a trusted curator"):
        Beside(dpverify.RandomizedResponse(9, 0.1))
    with pytest.raises(ValueError, match=r"^adjacency='replace-one' is not covered"):
        Beside(dpverify.OpaqueStep(0.1, rate=0.5))
    with pytest.raises(ValueError, match=r"^days=0 must be an integer"):
        Beside(STEP, 1, 0)
