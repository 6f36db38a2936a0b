"""The curves of a report contain what they say."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpverify.changes import Full
from dpverify.composition.theorems import compose
from dpverify.dossier.curves import delta_curve, errors, grid_around, loss_curves, profile, published_profile
from dpverify.guarantee import Budget, Interval
from dpverify.planning.account import account
from dpverify.planning.plan import plan
from tests.refusals import refused

BUDGET = Budget("1", "1e-4")


def test_a_profile_is_what_an_account_gives() -> None:
    row = plan("rr", BUDGET, users=60, instances=2)
    found = profile("a", row, Full(2), BUDGET.delta)
    assert len(found.x) == 8
    for delta, end in zip(found.x, found.y, strict=True):
        exact = account(row.protocol, instances=2, delta=delta).epsilon
        assert end.lower <= exact.upper
        assert exact.lower <= end.upper
        if delta == BUDGET.delta:
            assert end.upper <= 1.01 * exact.upper


def test_a_delta_curve_is_what_an_account_gives() -> None:
    row = plan("rr", BUDGET, users=60, instances=2)
    found = delta_curve("a", row, Full(2), BUDGET)
    assert (found.x[0], found.x[-1]) == (0.0, 2.0)
    exact = account(row.protocol, instances=2, epsilon=found.x[6]).delta
    assert found.y[6].lower <= exact.upper
    assert exact.lower <= found.y[6].upper <= 1.05 * exact.upper


def test_the_published_profile_is_the_theorem_and_nothing_below_what_the_sums_spend() -> None:
    row = plan("rr", BUDGET, users=60, instances=2, method="published")
    assert row.epsilon0 is not None
    assert row.delta0 is not None
    found = published_profile("a", row, 2, BUDGET.delta)
    spent = 2 * row.delta0
    for delta, end in zip(found.x, found.y, strict=True):
        assert (end is None) == (delta <= spent)
        if end is not None:
            epsilon, total = compose("advanced", row.epsilon0, row.delta0, 2, delta_slack=delta - spent)
            assert end.upper == pytest.approx(epsilon, rel=1e-9)
            assert total == pytest.approx(delta, rel=1e-9)
    with refused("row='rr'"):
        published_profile("a", plan("rr", BUDGET, users=60, instances=2), 2, BUDGET.delta)


def test_the_law_of_a_loss_is_that_of_its_definition() -> None:
    # Three users: all messages can be listed. The others' bits are 0; hers is 0 or 1.
    row = plan("rr", ("1", "1e-2"), users=3, instances=1)
    p = row.parameters["flip_probability"]

    def law(ones: int) -> np.ndarray:
        found = np.array([1.0])
        for user in range(3):
            chance = 1 - p if user < ones else p
            found = np.convolve(found, [1 - chance, chance])
        return found

    pairs = [(law(a), law(b)) for a, b in ((0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2))]
    curves = loss_curves(row)
    assert 1 <= len(curves) <= 2
    for curve in curves:
        fits = []
        for first, second in pairs:
            losses = np.log(first / second)
            tails = [float(first[losses >= x - 1e-9].sum()) for x in curve.x]
            inside = (end.lower - 1e-12 <= t <= end.upper + 1e-12 for t, end in zip(tails, curve.y, strict=True) if end)
            fits.append(all(inside))
        assert any(fits)


def test_grids_hold_the_number_itself() -> None:
    assert grid_around(Fraction(30000), ["1/10", "1", "3"], whole=True) == [3000, 30000, 90000]
    assert grid_around(Fraction(1), ["1/10", "1"], whole=True) == [1]
    assert Fraction(1, 3) in grid_around(Fraction(1, 3), ["1/4", "1"])


def test_errors_are_those_of_plans_and_gaps_have_reasons() -> None:
    told: list[int] = []
    settings = [(60.0, BUDGET, 60), (120.0, BUDGET, 120)]
    wanted = [("best", ("rr", "exact")), ("none", ("poisson", "published"))]
    found = errors(wanted, settings, 2, lambda *_: None, lambda: told.append(1))
    assert len(told) == 2
    (line,) = found.lines
    assert line.y == tuple(
        Interval(rmse, rmse) for rmse in (plan("rr", BUDGET, users=n, instances=2).bitsum_rmse for n in (60, 120))
    )
    assert found.notes[0].startswith("none: no plan everywhere, for instance No source")
    assert all(math.isfinite(x) for x in line.x)
