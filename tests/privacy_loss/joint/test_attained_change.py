"""What is attained by points: against products of exact laws."""

import math

import numpy as np
import pytest

from dpverify.changes import L2Ball, L2Bounded
from dpverify.privacy_loss.joint.attained_change import AttainedChange, composed
from dpverify.privacy_loss.losses.mixture import bit_probability_change
from dpverify.privacy_loss.losses.pairs import approximate_dp, binomial_randomized_response, discrete_laplace, three_nb
from dpverify.privacy_loss.windows.grid import connect_the_dots
from dpverify.privacy_loss.windows.transform import Composition


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
        for _, parts in AttainedChange([approximate_dp(1.0, 0.0)], change)._made:
            cost = 0.0
            for pair, number in parts:
                # The largest loss tells how far the bit moved: around one half, from a sure 0, or to a sure 1.
                top = float(np.abs(pair.losses).max())
                around = math.tanh(0.5 * top) / math.tanh(0.5)
                ends = math.expm1(top) / math.expm1(1.0), -math.expm1(-top) / -math.expm1(-1.0)
                cost += number * min(around if isinstance(change, L2Ball) else min(around, *ends), 1.0) ** 2
            assert cost <= square * (1.0 + 1e-9)
            assert sum(number for _, number in parts) <= 5


@pytest.mark.parametrize("square", [1.25, 2.25])
def test_one_move_takes_what_full_ones_leave(square: float) -> None:
    """Full moves and one of the rest are more than moves of one size, and the least is an exact composition."""
    pair = binomial_randomized_response(400, 0.1, 1e-42)
    for kind in (L2Bounded, L2Ball):
        size = math.sqrt(square % 1.0) * (1.0 - 1e-9)
        ends = (0.5 + 0.5 * size, 0.5 - 0.5 * size) if kind is L2Ball else (size, 0.0)
        mixes = [
            Composition([(connect_the_dots(one, 2e-4), int(square)), (connect_the_dots(moved, 2e-4), 1)])
            for one in pair
            for moved in [bit_probability_change(one, *ends)]
        ]
        found = AttainedChange(pair, kind(square, 8), 1e-5).epsilon_lower(1e-5)
        assert found >= max(mix.epsilon(1e-5).lower for mix in mixes) * (1.0 - 1e-4)
        even = bit_probability_change(pair.up, 0.5 + 0.5 * math.sqrt(square / 3), 0.5 - 0.5 * math.sqrt(square / 3))
        assert found > Composition([(connect_the_dots(even, 2e-4), 3)]).epsilon(1e-5).lower * 1.01


def test_spread_changes_count_where_they_are_the_worst() -> None:
    # Under Laplace-like noise many small changes are more than few full ones.
    for pair in (approximate_dp(0.3, 0.0), discrete_laplace(0.3).up):
        attained = AttainedChange([pair], L2Ball(4.0, 100), 1e-6)
        half = bit_probability_change(pair, 0.6, 0.4)
        spread = Composition([(connect_the_dots(half, 1e-4), 100)]).epsilon(1e-6).lower
        full = Composition([(connect_the_dots(pair, 1e-3), 4)]).epsilon(1e-6).lower
        assert attained.epsilon_lower(1e-6) >= spread * (1.0 - 1e-3) > 1.02 * full


def test_moves_around_one_half_count_without_a_ball_too() -> None:
    # Of two, under noise of two losses, they reveal more than a full change, and more than moves from a sure bit.
    pair = three_nb(0.9, 10.0, 0.99).up
    found = [AttainedChange([pair], kind(1.0, 100), 1e-6).epsilon_lower(1e-6) for kind in (L2Bounded, L2Ball)]
    assert found[0] >= found[1] > 1.1 * Composition([(connect_the_dots(pair, 1e-4), 1)]).epsilon(1e-6).lower


def test_less_than_one_full_change_is_something() -> None:
    pair = binomial_randomized_response(200, 0.2, 1e-42)
    assert AttainedChange(pair, L2Ball(0.25, 8), 1e-4).epsilon_lower(1e-4) > 0.1
    assert AttainedChange(pair, L2Bounded(0.25, 8), 1e-4).epsilon_lower(1e-4) > 0.1


def test_without_pairs_it_is_trivial() -> None:
    attained = AttainedChange([], L2Ball(2.0, 8))
    assert attained.epsilon_lower(1e-6) == attained.delta_lower(0.1) == 0.0


def test_estimates_that_choose_badly_are_climbed_from() -> None:
    # Of few flips the tail is heavy: half as many moves were taken to be worse, by their estimates.
    pairs = list(binomial_randomized_response(30_000, 0.001))
    found = AttainedChange(pairs, L2Bounded(25.0, 768)).epsilon_lower(1e-6)
    for number in (25, 33, 38, 50, 75):
        size = math.sqrt(25.0 / number) * (1.0 - 1e-9)
        for pair in pairs:
            known = composed(((bit_probability_change(pair, size, 0.0), number),), 1e-6).epsilon(1e-6).lower
            assert found >= known * (1.0 - 1e-4)
