"""Privacy loss distributions: their profile contains the exact divergence, and bad pmfs are refused."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from tests.privacy_loss.exact import RationalPair, floats, rational_pairs, truth

EPSILONS = st.floats(-8, 8)


@given(rational_pairs(), EPSILONS)
def test_profile_contains_the_exact_divergence(pair: RationalPair, epsilon: float) -> None:
    exact = truth([pair], [1], epsilon)
    found = floats(pair).delta(epsilon)
    assert found.lower <= exact.upper
    assert exact.lower <= found.upper
    # A sum of at most 8 terms is charged 35 units on either side, and the rest a few.
    assert found.width <= 128 * 2.0**-53


@given(rational_pairs())
def test_profile_at_an_atom_does_not_lose_it(pair: RationalPair) -> None:
    # At a loss itself the term vanishes; a rounding of eps - loss must not make it negative or drop its neighbours.
    distribution = floats(pair)
    for loss in distribution.losses:
        exact = truth([pair], [1], float(loss))
        found = distribution.delta(float(loss))
        assert found.lower <= exact.upper
        assert exact.lower <= found.upper


def test_missing_mass_counts_above_and_not_below() -> None:
    p = np.array([0.5, 0.4])
    found = PrivacyLossDistribution.from_pmfs(p, np.array([0.4, 0.5]), missing_mass=0.1).delta(0.0)
    assert found.lower == pytest.approx(0.1, rel=1e-12)
    assert found.upper == pytest.approx(0.2, rel=1e-12)


@pytest.mark.parametrize(
    ("p", "q", "message"),
    [
        ([0.5, 0.5], [1.0], r"p and q have shapes \(2,\) and \(1,\)"),
        ([0.5, math.nan], [0.5, 0.5], "p must hold finite non-negative probabilities"),
        ([0.5, 0.5], [1.5, -0.5], "q must hold finite non-negative probabilities"),
        ([0.5, 0.4], [0.5, 0.5], "masses sum to 0.9"),
        ([0.5, 0.6], [0.5, 0.5], "masses sum to 1.1"),
        ([0.5, 0.5], [0.5, 0.7], "q sums to 1.2"),
        ([1.0, 1e-310], [0.5, 0.5], "p must hold no positive probability below"),
    ],
)
def test_bad_pmfs_are_refused(p: list[float], q: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PrivacyLossDistribution.from_pmfs(p, q)


def test_bad_atoms_are_refused() -> None:
    with pytest.raises(ValueError, match="strictly increasing"):
        PrivacyLossDistribution(np.array([1.0, 1.0]), np.array([0.5, 0.5]))
    with pytest.raises(ValueError, match="finite and positive"):
        PrivacyLossDistribution(np.array([0.0, 1.0]), np.array([1.0, 0.0]))
    with pytest.raises(ValueError, match="relative_error=-1"):
        PrivacyLossDistribution(np.array([0.0]), np.array([1.0]), relative_error=-1.0)
    with pytest.raises(ValueError, match="epsilon=nan"):
        PrivacyLossDistribution(np.array([0.0]), np.array([1.0])).delta(math.nan)


@given(st.integers(-305, -250), st.integers(-305, -250), st.floats(-3, 60))
def test_rare_masses_near_the_end_of_the_float_range_are_bounded(first: int, second: int, epsilon: float) -> None:

    a, b = Fraction(1, 10**-first), Fraction(1, 10**-second)
    pair = ([a, 1 - a], [b, 1 - b])
    exact = truth([pair], [1], epsilon)
    found = floats(pair).delta(epsilon)
    assert found.lower <= exact.upper
    assert exact.lower <= found.upper


@pytest.mark.parametrize("error", [0.3, 0.6, 0.9])
def test_errors_of_masses_are_errors_of_losses(error: float) -> None:
    # Both masses of an outcome may be off by that, one upwards and the other downwards.
    found = PrivacyLossDistribution.from_pmfs([0.5, 0.5], [0.25, 0.75], relative_error=error)
    assert found.loss_error >= math.log((1.0 + error) / (1.0 - error))
    # Of the other law's masses: what its own are off by, and what the losses are.
    assert PrivacyLossDistribution(np.zeros(1), np.ones(1), relative_error=error).reference_error >= error
    assert PrivacyLossDistribution(np.zeros(1), np.ones(1), loss_error=error).reference_error >= math.expm1(error)


def test_atoms_of_one_loss_are_added_with_their_roundings_and_the_largest_loss_has_a_sign() -> None:
    rng = np.random.default_rng(5)
    masses = rng.dirichlet(np.ones(300))
    found = PrivacyLossDistribution.from_atoms(np.full(300, -2.0), masses, 0.0, 0.0)
    assert found.masses.size == 1
    assert found.relative_error >= 299.0 * 2.0**-53
    assert found.largest_loss == 2.0
    assert PrivacyLossDistribution(np.array([-1.0, 3.0]), np.array([0.4, 0.6])).largest_loss == 3.0


def test_trimmed_losses_are_missing() -> None:
    pair = PrivacyLossDistribution.from_atoms(np.array([-2.0, 0.0, 1.0, 9.0]), np.array([0.125, 0.5, 0.25, 0.125]))
    cut = pair.trimmed(0.2)
    assert cut.losses.tolist() == [0.0, 1.0]
    assert 0.25 <= cut.missing_mass <= 0.25 * (1 + 1e-12)
    assert pair.trimmed(0.1) is pair
    for epsilon in (0.0, 0.5, 3.0):
        assert (
            cut.delta(epsilon).lower
            <= pair.delta(epsilon).lower
            <= pair.delta(epsilon).upper
            <= cut.delta(epsilon).upper
        )
