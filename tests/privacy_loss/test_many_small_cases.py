"""Extremes of `tests/privacy_loss/hunt_compositions.py`: the grid far too coarse, the divergence tiny."""

from fractions import Fraction

import pytest

from dpverify.privacy_loss.windows.grid import connect_the_dots
from dpverify.privacy_loss.windows.transform import Composition
from tests.privacy_loss.exact import RationalPair, floats, normalised, truth

STEEP: RationalPair = (normalised([10**15, 1, 3]), normalised([1, 10**15, 7]))
"""Losses of about -35, -1 and 35."""


@pytest.mark.parametrize("copies", [1, 3, 8])
@pytest.mark.parametrize("cells", [0.7, 3.3, 50.0])
def test_a_grid_coarser_than_the_losses_bounds_and_does_not_overflow(copies: int, cells: float) -> None:
    pair = floats(STEEP)
    composed = Composition([(connect_the_dots(pair, pair.largest_loss / cells), copies)])
    for epsilon in (-20.0, 0.0, 1.0, 30.0, 34.0 * copies):
        exact = truth([STEEP], [copies], epsilon)
        found = composed.delta(epsilon)
        assert found.lower <= exact.upper
        assert exact.lower <= found.upper


def test_a_step_beyond_the_range_of_exp_is_bounded_by_numbers() -> None:
    rare: RationalPair = (normalised([10**280, 1]), normalised([1, 10**280]))
    pair = floats(rare)
    composed = Composition([(connect_the_dots(pair, 1.3 * pair.largest_loss), 2)])
    for epsilon in (-5.0, 0.0, 30.0, 640.0):
        exact = truth([rare], [2], epsilon)
        assert exact.lower <= composed.delta(epsilon).upper
        assert composed.delta(epsilon).lower <= exact.upper


def test_a_divergence_below_the_range_of_floats_is_bounded_by_numbers() -> None:
    tiny: RationalPair = (
        [1 - Fraction(1, 10**40), Fraction(1, 10**40)],
        [1 - Fraction(1, 10**41), Fraction(1, 10**41)],
    )
    composed = Composition([(connect_the_dots(floats(tiny), 0.01), 8)])
    # All eight copies must show their rare outcome: a mass of 1e-320.
    epsilon = 18.0
    exact = truth([tiny], [8], epsilon)
    assert 0 < exact.lower < Fraction(1, 10**319)
    found = composed.delta(epsilon)
    assert found.lower <= exact.upper
    assert exact.lower <= found.upper < 1e-200
