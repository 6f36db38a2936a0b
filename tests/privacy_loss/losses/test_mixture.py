"""Changes of a bit's probability, and erased inputs, against enumeration and rational arithmetic."""

import functools
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.mixture import bit_probability_change, erased, mixed_losses
from dpverify.privacy_loss.losses.pairs import Directions, approximate_dp, mixed_reports, negative_binomial, three_nb
from dpverify.privacy_loss.windows.grid import connect_the_dots
from dpverify.privacy_loss.windows.product import product
from dpverify.privacy_loss.windows.transform import Composition
from tests.privacy_loss.exact import RationalPair, floats, rational_pairs, truth

EPSILONS = (-1.5, -0.2, 0.0, 0.3, 1.0, 2.5)


def hockey_stick(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


@pytest.mark.parametrize(("first", "second"), [(1.0, 0.5), (0.5, 1.0), (0.5, 0.0), (0.0, 0.5), (0.2, 0.9), (0.0, 1.0)])
def test_mixtures_by_enumeration(first: float, second: float) -> None:
    rng = np.random.default_rng(1)
    one, zero = rng.dirichlet(np.ones(12)), rng.dirichlet(np.ones(12))
    one[:2], zero[2:5] = 0.0, 0.0  # outcomes that reveal the bit
    one, zero = one / one.sum(), zero / zero.sum()
    changed = bit_probability_change(PrivacyLossDistribution.from_pmfs(one, zero), first, second)
    a, b = (share * one + (1 - share) * zero for share in (first, second))
    for epsilon in EPSILONS:
        exact = hockey_stick(a, b, epsilon)
        enclosed = changed.delta(epsilon)
        assert enclosed.lower - 1e-12 <= exact <= enclosed.upper + 1e-12
        # Outcomes of bit 0 only are not listed in the pair (P_1, P_0): at most their mass is lost.
        assert enclosed.width <= (1 - first) * zero[:2].sum() + 1e-9


def test_a_half_change_costs_at_most_half_the_delta() -> None:
    for full in three_nb(0.9, 5.0, 0.8):
        for ends in ((1.0, 0.5), (0.5, 1.0)):
            half = bit_probability_change(full, *ends)
            for epsilon in (0.0, 0.01, 0.05, 0.1):
                opposite = max(pair.delta(epsilon).upper for pair in three_nb(0.9, 5.0, 0.8))
                assert half.delta(epsilon).lower <= 0.5 * opposite * (1 + 1e-9)


@pytest.mark.parametrize("epsilon0", [1e-3, 0.1, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("delta0", [0.0, 1e-6, 0.01, 0.3])
def test_leaving_and_entering_cost_one_full_change(epsilon0: float, delta0: float) -> None:
    """wagner2025, Theorem 3.2 for S = 1: two half changes of the worst bitsum are (eps0, delta0)-DP."""
    worst = approximate_dp(epsilon0, delta0)
    atoms = [(loss, mass) for loss, mass in zip(worst.losses.tolist(), worst.masses.tolist(), strict=True)]
    one = np.array([mass for _, mass in atoms] + [delta0, 0.0])
    zero = np.array([mass * math.exp(-loss) for loss, mass in atoms] + [0.0, delta0])
    coin = (one + zero) / 2
    here, there = np.multiply.outer(one, coin).ravel(), np.multiply.outer(coin, one).ravel()
    for p, q in ((here, there), (there, here)):
        assert hockey_stick(p, q, epsilon0) <= delta0 * (1 + 1e-9) + 1e-15


def test_product_of_grids() -> None:
    pairs = [PrivacyLossDistribution.from_pmfs([0.5, 0.3, 0.2], q) for q in ([0.2, 0.3, 0.5], [0.4, 0.4, 0.2])]
    first, second = (connect_the_dots(pair, 0.01) for pair in pairs)
    both = Composition([(product(first, second), 1)])
    apart = Composition([(first, 1), (second, 1)])
    for epsilon in EPSILONS:
        assert both.delta(epsilon).upper == pytest.approx(apart.delta(epsilon).upper, rel=1e-9)
    with pytest.raises(ValueError, match=r"^first and second have steps"):
        product(first, connect_the_dots(pairs[1], 0.02))


@pytest.mark.parametrize(("users", "ones", "coins"), [(1, 0, 0), (2, 0, 1), (6, 2, 3), (6, 0, 5), (60, 17, 21)])
def test_mixed_reports_among_coins(users: int, ones: int, coins: int) -> None:
    p = 0.1
    others = [1 - p] * ones + [p] * (users - 1 - ones - coins) + [0.5] * coins
    one, zero = (functools.reduce(np.convolve, [[1 - q, q] for q in (*others, own)], [1.0]) for own in (1 - p, p))
    pair = mixed_reports(users, ones, p, coins=coins)
    for epsilon, (which, first, second) in itertools.product(EPSILONS, ((pair.up, one, zero), (pair.down, zero, one))):
        assert which.delta(epsilon).midpoint == pytest.approx(hockey_stick(first, second, epsilon), abs=1e-12)


@given(rational_pairs(), st.fractions(0, 1), st.floats(-3, 3))
def test_erased_is_the_mixture(pair: RationalPair, probability: Fraction, epsilon: float) -> None:
    first, second = pair
    q = Fraction(float(probability))
    mixed = [q * b + (1 - q) * a for a, b in zip(first, second, strict=True)]
    found = erased(Directions(floats((first, second)), floats((second, first))), float(q))
    for distribution, exact in zip(found, ((mixed, second), (second, mixed)), strict=True):
        interval, enclosed = distribution.delta(epsilon), truth([exact], [1], epsilon)
        assert interval.lower <= enclosed.upper
        assert enclosed.lower <= interval.upper
        assert interval.width <= 1e-12


def test_nothing_erased_changes_nothing() -> None:
    pair = negative_binomial(3.0, 0.4)
    assert erased(pair, 0.0) is pair


def test_all_erased_reveals_nothing() -> None:
    for direction in erased(negative_binomial(3.0, 0.4), 1.0):
        assert direction.delta(0.0).upper <= 1e-13


@pytest.mark.parametrize("error", [1e-3, 0.5, 3.0])
def test_an_error_of_a_loss_grows_with_the_mixture_of_larger_ones(error: float) -> None:
    for loss in (-6.0, -1.0, 2.0):
        found = mixed_losses(np.array([loss]), error, 0.75, 0.25)
        ends = [math.log(0.75 + 0.25 * math.exp(loss + shift)) for shift in (0.0, error)]
        assert ends[1] - ends[0] <= found.slope * error <= error
