"""What is attained by points: against products of exact laws."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpverify.changes import L2Ball, L2Bounded
from dpverify.privacy_loss.attained_change import AttainedChange
from dpverify.privacy_loss.grid import connect_the_dots
from dpverify.privacy_loss.mixture import bit_probability_change
from dpverify.privacy_loss.pairs import approximate_dp, binomial_randomized_response, discrete_laplace
from dpverify.privacy_loss.transform import Composition


def test_full_changes_are_among_them() -> None:
    pair = binomial_randomized_response(200, 0.2, 1e-42)
    for kind in (L2Bounded, L2Ball):
        attained = AttainedChange(pair, kind(2.0, 8), 1e-4)
        two = [Composition([(connect_the_dots(one, 1e-3), 2)]) for one in pair]
        assert attained.epsilon_lower(1e-4) >= max(one.epsilon(1e-4).lower for one in two) * (1.0 - 1e-3)
        assert attained.delta_lower(0.7) >= max(one.delta(0.7).lower for one in two) * (1.0 - 1e-3)


@pytest.mark.parametrize("square", [0.04, 0.9, 2.5])
def test_they_are_within_the_change(square: float) -> None:
    for change in (L2Bounded(square, 5), L2Ball(square, 5)):
        for _, pair, number in AttainedChange([approximate_dp(1.0, 0.0)], change)._made:
            # The largest loss tells how far the bit moved: around one half, from a sure 0, or to a sure 1.
            top = float(np.abs(pair.losses).max())
            around = math.tanh(0.5 * top) / math.tanh(0.5)
            ends = math.expm1(top) / math.expm1(1.0), -math.expm1(-top) / -math.expm1(-1.0)
            size = around if isinstance(change, L2Ball) else min(ends)
            assert number * min(size, 1.0) ** 2 <= square * (1.0 + 1e-9)
            assert number <= 5


def test_spread_changes_count_where_they_are_the_worst() -> None:
    # Under Laplace-like noise many small changes are more than few full ones.
    for pair in (approximate_dp(0.3, 0.0), discrete_laplace(0.3).up):
        attained = AttainedChange([pair], L2Ball(4.0, 100), 1e-6)
        half = bit_probability_change(pair, 0.6, 0.4)
        spread = Composition([(connect_the_dots(half, 1e-4), 100)]).epsilon(1e-6).lower
        full = Composition([(connect_the_dots(pair, 1e-3), 4)]).epsilon(1e-6).lower
        assert attained.epsilon_lower(1e-6) >= spread * (1.0 - 1e-3) > 1.02 * full


def test_less_than_one_full_change_is_something() -> None:
    pair = binomial_randomized_response(200, 0.2, 1e-42)
    assert AttainedChange(pair, L2Ball(0.25, 8), 1e-4).epsilon_lower(1e-4) > 0.1
    assert AttainedChange(pair, L2Bounded(0.25, 8), 1e-4).epsilon_lower(1e-4) > 0.1


def test_without_pairs_it_is_trivial() -> None:
    attained = AttainedChange([], L2Ball(2.0, 8))
    assert attained.epsilon_lower(1e-6) == attained.delta_lower(0.1) == 0.0
