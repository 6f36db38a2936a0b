"""The privacy that histogram and selection share: two changed buckets enumerated, and what follows from it."""

import math

import numpy as np
import pytest
from scipy import stats

from dpverify.claims.shared.buckets import BucketAccount, least_shape, noise_of, noise_tail, under_estimating
from dpverify.guarantee import Budget, InfeasibleBudgetError, Interval
from protocols.bitsum.negative_binomial import Estimate
from protocols.bitsum.poisson import Poisson
from protocols.histogram import Histogram
from tests.refusals import refused


def enumerated(shape: float, p: float, epsilon: float, size: int = 400) -> float:
    """H_eps of (Z + 1, Z') against (Z, Z' + 1), by the two-dimensional sum."""
    pmf = stats.nbinom.pmf(np.arange(size), shape, 1.0 - p)
    still, moved = np.append(pmf, 0.0), np.append(0.0, pmf)
    return float(np.maximum(np.outer(moved, still) - math.exp(epsilon) * np.outer(still, moved), 0.0).sum())


@pytest.mark.parametrize(("shape", "p"), [(3.0, 0.5), (20.0, 0.8), (0.7, 0.9)])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0])
def test_privacy_is_the_enumerated_one(shape: float, p: float, epsilon: float) -> None:
    truth = enumerated(shape, p, epsilon)
    interval = BucketAccount(shape, p).delta(epsilon)
    assert interval.lower - 1e-13 <= truth <= interval.upper + 1e-13
    assert interval.width < 1e-10


def test_basic_composition_is_an_upper_bound_and_loose() -> None:
    account = BucketAccount(20.0, 0.85)
    assert account.delta(1.0).upper < account.basic_delta(1.0) / 1000.0
    assert BucketAccount(3.0, 0.5).delta(0.5).upper <= BucketAccount(3.0, 0.5).basic_delta(0.5)


def test_epsilon_inverts_delta() -> None:
    account = BucketAccount(20.0, 0.85)
    epsilon = account.epsilon(1e-6)
    assert account.delta(epsilon.upper).upper <= 1e-6 < account.delta(epsilon.upper - 2e-9).upper
    assert account.delta(epsilon.lower).lower > 1e-6
    assert epsilon.width < 3e-9
    # An empty noise alone reveals more: no epsilon is enough.
    assert BucketAccount(1.0, 0.5).epsilon(1e-9) == Interval(math.inf, math.inf)
    assert account.epsilon(0.99) == Interval(0.0, 0.0)


def test_noise_tail_against_scipy() -> None:
    for above in (0, 7, 40):
        assert noise_tail(5.5, 0.8, above) == pytest.approx(stats.nbinom.sf(above, 5.5, 0.2), rel=1e-10)
    assert noise_tail(1e5, 0.9, 0) == 1.0  # as a probability, also where rounding up passes it


@pytest.mark.parametrize("epsilon", [0.2, 1.0])
def test_basic_composition_of_two_buckets_charges_both(epsilon: float) -> None:
    account = BucketAccount(3.0, 0.5)
    assert account.basic_delta(epsilon) >= sum(pair.delta(epsilon / 2.0).lower for pair in account.directions)


def test_least_shape_is_least() -> None:
    budget = Budget(0.9, 1e-5)
    shape = least_shape(budget, 0.8)
    assert BucketAccount(shape, 0.8).delta(0.9).upper <= 1e-5 < BucketAccount(shape * 0.999, 0.8).delta(0.9).lower
    with pytest.raises(InfeasibleBudgetError, match=r"needs a shape above 2\^20 at p=1e-09"):
        least_shape(budget, 1e-9)


def test_only_negative_binomial_noise_has_a_published_bound() -> None:
    noise = under_estimating(9, 2.0, 0.5)
    assert noise.estimate is Estimate.UNDER
    assert noise_of(Histogram(noise, 3)) is noise
    with refused("bitsum", TypeError):
        noise_of(Histogram(Poisson(5, 1.0, estimate=Estimate.UNDER), 2))


def test_arguments_are_checked() -> None:
    account = BucketAccount(3.0, 0.5)
    with refused("epsilon=-1.0"):
        account.delta(-1.0)
    for delta in (0.0, 1.0):
        with pytest.raises(ValueError, match=rf"^delta={delta} must be a finite number in \(0, 1\)\.$"):
            account.epsilon(delta)
    with refused("above=-1"):
        noise_tail(3.0, 0.5, -1)
    with refused("delta=0.0"):
        least_shape((1, 0), 0.5)
