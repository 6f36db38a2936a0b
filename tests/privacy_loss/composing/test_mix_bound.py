"""The terms of a bound of mixes: the least of what is known of each, the sum of all, and the pair that has the most."""

import math

import numpy as np
import pytest

from dpverify.privacy_loss.composing.mix_bound import MixBound, Term
from dpverify.privacy_loss.composing.rare_losses import OneRare, Others
from dpverify.privacy_loss.windows.characteristic import LossAtoms

# Its divergence at y is 1 - e^(y-1).
ONE = LossAtoms.of(np.array([1.0]), np.array([1.0]))


def others(largest: float) -> Others:
    return Others.of([ONE], 1, largest)


@pytest.mark.parametrize("epsilon", [0.0, 3.0, 6.0])
def test_a_term_is_the_least_of_its_mass_and_its_contour(epsilon: float) -> None:
    found = Term(0.5, -1.0, -2.0).log_delta(epsilon)
    least = min(-2.0, -1.0 - 0.5 * epsilon)
    assert least <= found <= least + 1e-14


def test_the_others_share_a_terms_mass() -> None:
    # With rare losses of 6 beside the others' 1, at 5.5.
    exact = math.log(-math.expm1(-1.5)) - 2.0
    found = Term(0.0, 0.0, -2.0, others(6.0)).log_delta(5.5)
    assert exact <= found <= exact + 0.2
    assert found < -2.0


def test_what_is_common_is_of_each_pair_by_itself() -> None:
    rare = [[LossAtoms.of(np.array([loss]), np.array([mass]))] for loss, mass in ((5.0, 1e-3), (2.0, 2e-3))]
    one = OneRare.of(rare, 3, 1e-9, others(0.0), [(1.0, 1.0)])
    sums = np.array([-3.0, -2.5])
    found = MixBound(0.7, sums, one, [], 0.0).common(2.0, 0.0)
    along = np.exp(sums - 1.4)
    assert found == pytest.approx(along + one.at(2.0), rel=1e-12)
    assert (found >= along).all()
    # Without a term of one rare loss there are the sums alone, and masses may be larger by a factor.
    assert MixBound(0.7, sums, None, [], 0.0).common(2.0, 0.0) == pytest.approx(along, rel=1e-12)
    grown = MixBound(0.7, sums, one, [], 0.0).common(2.0, math.log(1.5))
    assert grown == pytest.approx(1.5 * found, rel=1e-12)


@pytest.mark.parametrize("size", [1.0, 1e9, 1e12])
def test_digits_that_large_logarithms_lose_are_charged(size: float) -> None:
    # The difference is -1 but for the rounding of either, which is several units of them.
    found = float(MixBound(1.0, np.array([size - 1.0]), None, [], 0.0).common(size, 0.0)[0])
    assert found >= math.exp(-1.0) * (1.0 + 8.0 * size * 2.0**-53)
    assert Term(1.0, size - 1.0, 0.0).log_delta(size) >= -1.0 + 8.0 * size * 2.0**-53


@pytest.mark.parametrize("seed", range(20))
def test_an_exponential_that_is_cut_to_1_hides_no_pair(seed: int) -> None:
    # The pair with the largest sum before it is cut is not the one with the most after it: both are at least 1.
    rng = np.random.default_rng(seed)
    sums, common = rng.normal(0.0, 1.0, 5), rng.exponential(0.3, 5)
    rare = [[LossAtoms.of(np.array([9.0]), np.array([mass]))] for mass in common]
    found = MixBound(1.0, sums, OneRare.of(rare, 1, 1e-9, others(0.0), [(1.0, 9.0)]), [], 0.0).common(0.0, 0.0)
    uncut = np.exp(sums) + found - np.exp(np.minimum(sums, 0.0))
    assert min(float(uncut.max()), 1.0) <= float(found.max()) * (1.0 + 1e-12)
