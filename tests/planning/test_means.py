"""Estimators of a mean at one budget: each meets it, none could do with less, and all errors are the twins'."""

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpverify.claims.registry import mechanism_claims_of
from dpverify.guarantee import Side
from dpverify.planning.account import account
from dpverify.planning.means import MeanPlans, plan_means

NAMES = ["rr-mean", "one-bit-mean", "laplace-mean", "discrete-laplace-mean", "central-laplace-mean", "shuffled-mean"]
NAMES.append("split-and-mix")


@pytest.fixture(scope="module")
def single() -> MeanPlans:
    return plan_means(("1", "1e-6"), users=400)


@pytest.fixture(scope="module")
def many() -> MeanPlans:
    return plan_means(("2", "1e-5"), users=400, instances=4)


@pytest.mark.long
def test_every_estimator_meets_the_budget_and_spends_it(single: MeanPlans, many: MeanPlans) -> None:
    for found in (single, many):
        assert [row.mechanism for row in found.plans] == NAMES
        assert found.failures == {}
        for row in found.plans:
            spent = account(row.protocol, instances=found.instances, delta=found.budget.exact_delta).epsilon
            assert 0.999 * found.budget.epsilon <= spent.upper <= found.budget.epsilon
            assert row.guarantee.side is Side.UPPER_BOUND
            assert row.guarantee.epsilon <= found.budget.epsilon


def test_errors_are_the_twins(single: MeanPlans) -> None:
    for row in single.plans:
        claims: Any = mechanism_claims_of(row.protocol)
        if row.mechanism == "split-and-mix":
            continue
        local = "users" not in vars(row.protocol)
        assert row.rmse == (claims.rmse(row.protocol, 400) if local else claims.rmse(row.protocol))
        assert row.exact == row.rmse if local else row.exact < row.rmse


def test_shares_add_up_steps(single: MeanPlans) -> None:
    row = single.plans[-1]
    assert single.recommended is row
    values = np.random.default_rng(3).random(400)
    rng = np.random.default_rng(5)
    means = np.array([row.protocol.run(values, rng) for _ in range(300)]) / 400
    assert np.sqrt(np.mean((means - values.mean()) ** 2)) == pytest.approx(row.rmse, rel=0.15)
    # Rounding is at most a hundredth of it, about, and the noise next to that of a curator's discrete Laplace noise.
    assert row.rmse < 1.01 * math.sqrt(2.0) / 400
    best = plan_means((20, "1e-6"), users=100).recommended
    assert best is not None
    assert best.mechanism == "split-and-mix"  # others are better, of bits alone


def test_the_slack_of_the_statements(single: MeanPlans) -> None:
    slack = {row.mechanism: (row.published or math.inf) / row.exact for row in single.plans}
    assert slack["rr-mean"] == pytest.approx(2.0 * math.sinh(0.5), rel=1e-5)
    assert slack["one-bit-mean"] == pytest.approx(2.0 * math.tanh(0.5), rel=1e-5)
    assert slack["laplace-mean"] == pytest.approx(1.0, rel=1e-12)
    assert slack["central-laplace-mean"] == 1.0
    assert 1.0 / 1.56 <= slack["shuffled-mean"] < 1.0


def test_no_local_estimator_is_below_the_lower_bound() -> None:
    found = plan_means((1, 0), users=400)
    assert found.least_local_rmse == pytest.approx(math.sqrt(math.e) / (1.0 + math.e) / 20.0, rel=1e-9)
    for row in found.plans[:4]:
        assert row.rmse > found.least_local_rmse
        assert row.protocol.epsilon <= 1.0
        assert row.protocol.epsilon == pytest.approx(1.0, rel=1e-5)
    assert found.plans[5].published is None  # Theorem 9.6 is of delta > 0


def test_budgets_beyond_all_reports_are_failures_or_met() -> None:
    found = plan_means(("1e-15", 0), users=3)
    assert set(found.failures) >= set(NAMES[:5])
    assert "cannot be met by 1 reports with an epsilon of 1e-9" in found.failures["rr-mean"]
    huge = plan_means((1e5, "1e-3"), users=3)
    assert [row.protocol for row in huge.plans[:2]] == [replace(row.protocol, epsilon=600.0) for row in huge.plans[:2]]


def test_plain_values(many: MeanPlans) -> None:
    found = json.loads(json.dumps(many.to_dict(), allow_nan=False))
    assert [row["mechanism"] for row in found["rows"]] == NAMES
    assert (found["users"], found["instances"], found["least_local_rmse"]) == (400, 4, None)
    (shuffled,) = (row for row in found["rows"] if row["mechanism"] == "shuffled-mean")
    assert shuffled["published"] is None  # its source is of one mean
    with pytest.raises(ValueError, match=r"^users=0 must be an integer in \[1, inf\)\.$"):
        plan_means((1, 0), users=0)
