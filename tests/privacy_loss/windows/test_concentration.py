"""Bounds from moments contain the exact rational truth, and their tilts solve what they say."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.windows.concentration import Concentration
from dpverify.privacy_loss.windows.grid import connect_the_dots
from dpverify.privacy_loss.windows.transform import Composition
from tests.privacy_loss.exact import RationalPair, floats, rational_pairs, truth


@settings(max_examples=60, deadline=None)
@given(rational_pairs(5), st.integers(1, 6), st.floats(0, 3))
def test_the_truth_lies_between_the_bounds(pair: RationalPair, instances: int, epsilon: float) -> None:
    listed = floats(pair)
    assume(listed.losses.size)
    bounds = Concentration([listed], [listed], instances)
    exact = truth([pair], [instances], epsilon)
    assert exact.lower <= bounds.delta(epsilon).upper
    assert bounds.infinite <= exact.upper
    if exact.lower > 0.0:
        # The smallest epsilon at delta is at least this one for every smaller delta.
        assert bounds.epsilon(0.999 * min(exact.lower, 0.9)).upper >= epsilon * (1.0 - 1e-9)
    if 0.0 < exact.upper < 0.99:
        assert bounds.epsilon(exact.upper * 1.001).lower <= epsilon


def test_chernoff_is_within_its_known_slack_of_the_engine() -> None:
    pair = PrivacyLossDistribution.from_atoms(
        np.array([-0.1, 0.1]), np.array([1.0, math.exp(0.1)]) / (1 + math.exp(0.1))
    )
    bounds = Concentration([pair], [pair], 1000)
    exact = Composition([(connect_the_dots(pair, 0.1), 1000)]).epsilon(1e-6)
    assert exact.upper < bounds.epsilon(1e-6).upper < 1.1 * exact.upper
    assert 0.2 * exact.lower < bounds.epsilon(1e-6).lower < exact.lower
    assert bounds.delta(exact.upper).upper < 100 * 1e-6


def test_infinite_mass_of_all_instances() -> None:
    half = floats(([Fraction(1, 2), Fraction(1, 2)], [Fraction(1, 2), Fraction(0)]))
    bounds = Concentration([half], [half], 3)
    assert bounds.infinite <= 0.875 <= bounds.unbounded
    assert bounds.unbounded - bounds.infinite < 1e-12
    assert bounds.epsilon(0.5).upper == math.inf


@pytest.mark.parametrize("instances", [10**15, 10**18])
def test_very_many_instances_have_a_lower_end(instances: int) -> None:
    # All of two listed masses is known, whatever their rounding: (1 - 1e-16)^instances once left nothing.
    loss = 1e-3
    masses = np.array([1.0, math.exp(loss)]) / (1.0 + math.exp(loss))
    pair = PrivacyLossDistribution.from_atoms(np.array([-loss, loss]), masses, relative_error=1e-15)
    found = Concentration([pair], [pair], instances).epsilon(1e-6)
    mean = instances * loss * math.tanh(loss / 2.0)
    # No epsilon at 1e-6 is ten deviations above the mean: Hoeffding's inequality.
    assert mean * (1.0 - 1e-3) < found.lower <= mean + 10.0 * math.sqrt(instances) * loss
    assert found.upper >= mean
