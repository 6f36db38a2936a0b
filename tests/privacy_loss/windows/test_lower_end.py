"""The lower bound from connect-the-dots alone: below the truth, always, and second order in the step."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dpverify.privacy_loss.windows.gaussian import GaussianPrivacyLoss
from dpverify.privacy_loss.windows.grid import connect_the_dots
from dpverify.privacy_loss.windows.lower_end import excess_bound, lower_bound, shifted_bound
from dpverify.privacy_loss.windows.transform import Composition
from tests.privacy_loss.exact import RationalPair, floats, rational_pairs, truth


@settings(max_examples=60, deadline=None)
@given(rational_pairs(6), st.integers(1, 5), st.sampled_from([0.05, 0.4, 1.5]), st.floats(-2, 6))
def test_never_above_the_truth_however_coarse(pair: RationalPair, count: int, step: float, epsilon: float) -> None:
    distribution = floats(pair)
    assume(distribution.losses.size)
    assert (
        Composition([(connect_the_dots(distribution, step), count)]).delta(epsilon).lower
        <= truth([pair], [count], epsilon).upper
    )


def test_gap_shrinks_with_the_square_of_the_step() -> None:
    law, count, epsilon = GaussianPrivacyLoss(1 / 20), 100, 2.0
    exact = law.composed(count).delta(epsilon).midpoint
    gaps = [
        1 - Composition([(law.on_grid(step), count)]).delta(epsilon).lower / exact for step in (8e-4, 4e-4, 2e-4, 1e-4)
    ]
    for coarse, fine in itertools.pairwise(gaps):
        assert math.log2(coarse / fine) == pytest.approx(2, abs=0.15)
    # A fixed multiple of what connect-the-dots itself overshoots.
    overshoot = Composition([(law.on_grid(1e-4), count)]).delta(epsilon).upper / exact - 1
    assert gaps[-1] <= 12 * overshoot


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0.0, 1.0), st.floats(0.01, 1.4)), min_size=1, max_size=6),
    st.floats(0.0, 4.0),
    st.booleans(),
)
def test_excess_is_bounded_for_every_law_of_the_splits(
    factors: list[tuple[float, float]], distance: float, above: bool
) -> None:
    # Two values e^d, e^(d-w) of mean 1 for each factor, its place d between the grid points at will.
    values, chances = np.ones(1), np.ones(1)
    for place, width in factors:
        up, down = math.exp(place * width), math.exp((place - 1.0) * width)
        share = (1.0 - down) / (up - down)
        values = np.concatenate([values * up, values * down])
        chances = np.concatenate([chances * share, chances * (1.0 - share)])
    x = math.exp(distance if above else -distance)
    excess = float(chances @ np.maximum(x * values - 1.0, 0.0)) - max(x - 1.0, 0.0)
    variance = sum(width**2 for _, width in factors) / 4.0
    assert excess <= excess_bound(distance, variance, above=above) + 1e-14 * x


def test_excess_bound_is_attained_at_its_centre() -> None:
    # Scarf's law is two-valued, so one split in the middle of its cell comes up to third order of the width.
    width = 1e-3
    up, down = math.exp(width / 2), math.exp(-width / 2)
    excess = (up - 1.0) * (1.0 - down) / (up - down)
    assert excess == pytest.approx(excess_bound(0.0, width**2 / 4.0, above=True), rel=1e-6)


@settings(max_examples=30, deadline=None)
@given(rational_pairs(4), st.integers(1, 4), st.floats(0.05, 0.9), st.floats(-2, 4))
def test_never_above_the_truth_from_the_exact_computed_profile(
    pair: RationalPair, count: int, step: float, epsilon: float
) -> None:
    # Without the engine's charges, which could hide a flaw: the composed grid's profile is enumerated.
    distribution = floats(pair)
    assume(distribution.losses.size)
    grid = connect_the_dots(distribution, step)
    assume(grid.split_width > 0.0)
    indices, masses = np.zeros(1, dtype=np.int64), np.ones(1)
    for _ in range(count):
        indices = (indices[:, None] + grid.indices).ravel()
        masses = (masses[:, None] * grid.masses).ravel()
    computed = lambda e: float(masses @ np.maximum(-np.expm1(e - indices * step), 0.0))  # noqa: E731
    exact = truth([pair], [count], epsilon).upper - (1 - (1 - Fraction(grid.infinite_mass)) ** count)
    found = lower_bound(epsilon, computed(epsilon), computed, count * grid.split_width**2 / 4.0)
    assert found <= float(exact) + 1e-12


@pytest.mark.parametrize("width", [0.01, 0.1, 0.3])
def test_one_loss_split_at_its_worst_is_no_more_than_it_was(width: float) -> None:
    # Of two values that far apart, with mean 1, those of the largest variance: at the centre the bound is attained.
    up, down = 0.5 * (math.exp(width) + 1.0), 0.5 * (math.exp(-width) + 1.0)
    share = (1.0 - down) / (up - down)
    for spreads in (-4.0, -1.0, -0.3, 0.0, 0.3, 1.0, 4.0):
        x = math.exp(spreads * width / 2.0)

        def computed(epsilon: float, x: float = x) -> float:
            values = [(share, x * up), (1.0 - share, x * down)]
            return math.fsum(chance * max(value - math.exp(epsilon), 0.0) for chance, value in values)

        assert lower_bound(0.0, computed(0.0), computed, width**2 / 4.0) <= max(x - 1.0, 0.0)


@pytest.mark.parametrize("split_variance", [1e-3, 0.1, 1.0, 30.0, 1e4])
def test_what_splitting_alone_pretends_is_taken_back(split_variance: float) -> None:
    # Equal laws, split: normal losses of that variance have the moments that the bound is made for.
    split = GaussianPrivacyLoss(math.sqrt(split_variance))
    for epsilon in (0.0, 0.5, 20.0, 0.5 * split_variance, 2.0 * split_variance):
        assert shifted_bound(epsilon, lambda x: split.delta(x).lower, split_variance) == 0.0


@pytest.mark.parametrize("split_variance", [0.01, 4.0, 100.0])
def test_splits_of_any_variance_leave_a_lower_bound(split_variance: float) -> None:
    law, count = GaussianPrivacyLoss(1.0), 10**4
    composed = Composition([(law.on_grid(2.0 * math.sqrt(split_variance / count)), count)])
    exact = law.composed(count).epsilon(1e-6)
    found = composed.epsilon(1e-6)
    assert found.lower <= exact.upper
    assert exact.lower <= found.upper
    assert found.width <= split_variance + 8.0 * math.sqrt(split_variance)
