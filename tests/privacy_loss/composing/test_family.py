"""Families of pairs: every mix of directions is covered, and the bound is tight to its stated gap."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dpverify.guarantee import Interval
from dpverify.privacy_loss.composing import any_mix, grid_mixes
from dpverify.privacy_loss.composing.family import FamilyComposition
from dpverify.privacy_loss.datasets.covers import Branch, Covers
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.pairs import (
    approximate_dp,
    discrete_laplace,
    negative_binomial,
    three_nb,
)
from dpverify.privacy_loss.windows import grid
from dpverify.privacy_loss.windows.grid import connect_the_dots
from dpverify.privacy_loss.windows.transform import Composition, WindowTooLargeError
from tests.privacy_loss.exact import RationalPair, floats, rational_pairs, truth


def test_each_strategy_by_itself_bounds_every_mix(monkeypatch: pytest.MonkeyPatch) -> None:
    # Few instances are no normal law: a bound along a line is loose, and is asked for all the same.
    monkeypatch.setattr(any_mix, "_HOPELESS", math.inf)
    laws = [[Fraction(k, 10) for k in masses] for masses in ((5, 5), (6, 4), (2, 8), (1, 9))]
    pairs = [(laws[0], laws[1]), (laws[2], laws[3]), (laws[1], laws[3])]
    listed = [floats(pair) for pair in pairs]
    covers = Covers(listed, (), single=lambda: [Branch(pair) for pair in listed])
    family = FamilyComposition(covers, 3, attained=listed, relative_width=1e-4, reference_delta=0.05)
    assert {"any mix", "recursion"} <= {each.name for each in family.strategies}
    for epsilon in (0.3, 0.8, 1.2):
        exact = max(truth(mix, [1] * 3, epsilon).lower for mix in itertools.combinations_with_replacement(pairs, 3))
        for strategy in family.strategies:
            assert exact <= strategy.delta(epsilon, Interval(0.0, 1.0)).upper
            assert epsilon <= strategy.epsilon(float(exact) * (1.0 - 1e-9), Interval(0.0, math.inf)).upper
    along = next(each for each in family.strategies if each.name == "any mix")
    assert family._any_mix is not None
    assert along.epsilon(0.05, Interval(0.0, math.inf)).upper == family._any_mix.epsilon(0.05)


@settings(max_examples=20, deadline=None)
@given(rational_pairs(4), rational_pairs(4), rational_pairs(4), st.integers(1, 4), st.floats(0, 3))
def test_groups_are_covered(
    first: RationalPair, second: RationalPair, third: RationalPair, instances: int, epsilon: float
) -> None:
    every = [first, second, third]
    assume(all(floats(p).losses.size for p in every))
    a, b, c = (floats(p) for p in every)
    found = FamilyComposition([[a, b], c], instances, attained=[a], step=0.01).delta(epsilon)
    worst = max(
        truth(every, [i, j, instances - i - j], epsilon).lower
        for i in range(instances + 1)
        for j in range(instances + 1 - i)
    )
    assert worst <= found.upper
    # The lower end is attained, by the one pair in all instances.
    assert found.lower <= truth([first], [instances], epsilon).upper


def test_mixes_of_one_sided_noise_are_bounded_to_the_stated_gap() -> None:
    directions = negative_binomial(10.0, 0.9)
    found, step = FamilyComposition(directions, 100, relative_width=1e-4).epsilon(1e-6), 2e-4
    singles = [Composition([(connect_the_dots(d, step), 100)]).epsilon(1e-6).upper for d in directions]
    # One direction in all instances is worst, and the bound is within 1.2e-4 of it.
    assert max(singles) <= found.upper * (1 + 1e-6)
    assert found.upper <= max(singles) * (1 + 1.2e-4)
    # The supremum of the profiles alone, without branch and bound, is 7 % above.
    whole = FamilyComposition([list(directions)], 100, attained=directions, step=step).epsilon(1e-6).upper
    assert whole > 1.05 * found.upper


def test_decisions_agree_with_values() -> None:
    family = FamilyComposition(negative_binomial(40.0, 0.98), 100, relative_width=1e-4)
    value = family.epsilon(1e-6, quick=True).upper
    for quick in (True, False):
        assert family.epsilon(1e-6, quick=quick, decide=value * 1.01).upper <= value * 1.01
        assert family.epsilon(1e-6, quick=quick, decide=value * 0.99).upper > value * 0.99


def test_bad_input_is_refused() -> None:
    pair = discrete_laplace(0.1).up
    with pytest.raises(ValueError, match="pairs is empty"):
        FamilyComposition([], 3)
    with pytest.raises(ValueError, match="instances=0"):
        FamilyComposition([pair], 0)
    with pytest.raises(ValueError, match="attained is None"):
        FamilyComposition([[pair, floats(([Fraction(1)], [Fraction(1)]))]], 2)
    with pytest.raises(ValueError, match="relative_width=0"):
        FamilyComposition([pair], 2, relative_width=0.0)


@pytest.mark.parametrize("instances", [1, 3])
def test_a_lower_bound_above_the_upper_one_is_not_clipped(instances: int) -> None:
    # Nobody attains the stronger pair: as if a claim were wrong.
    family = FamilyComposition([discrete_laplace(0.1).up], instances, attained=[discrete_laplace(0.2).up])
    with pytest.raises(ArithmeticError, match="one of them is wrong"):
        family.delta(0.0)
    with pytest.raises(ArithmeticError, match="one of them is wrong"):
        family.epsilon(1e-3)


def test_heavy_tails_coarsen_a_chosen_step_and_refuse_a_given_one() -> None:
    # Three users, almost fair coins, and one report in 1e9 that gives everything away.
    heavy = PrivacyLossDistribution.from_atoms(
        np.array([-1e-3, 0.0, 1e-3, 20.0]), np.array([0.3, 0.4, 0.3 - 1e-9, 1e-9])
    )
    found = FamilyComposition([heavy], 5000, relative_width=1e-9).epsilon(1e-7)
    assert 0 < found.lower < found.upper < math.inf
    with pytest.raises(WindowTooLargeError, match=r"step=\S+ is too small, and \S+ fits"):
        FamilyComposition([heavy], 5000, step=1e-9).epsilon(1e-7)


def test_a_pair_that_loses_everything_has_no_finite_epsilon() -> None:
    everything = FamilyComposition(negative_binomial(1e-300, 0.5), 2)
    assert everything.epsilon(1e-4).lower == math.inf


@pytest.mark.parametrize("epsilon", [0.01, 20.0])
def test_far_left_of_the_mean_two_directions_have_a_bound(monkeypatch: pytest.MonkeyPatch, epsilon: float) -> None:
    # As if no window had more cells: so large losses are then composed along contours, and the tilt there is 0.
    monkeypatch.setattr(grid_mixes, "_FINER", 1.0)
    first, second = [1e-4, 1e-4, 0.9998], [0.9997, 2e-4, 1e-4]
    pairs = [PrivacyLossDistribution.from_pmfs(first, second), PrivacyLossDistribution.from_pmfs(second, first)]
    p, q = np.ones(1), np.ones(1)
    for _ in range(4):
        p, q = np.outer(p, first).ravel(), np.outer(q, second).ravel()
    exact = float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())
    found = FamilyComposition(pairs, 4, reference_delta=1e-3)
    assert found._grids._steps.along_contours
    assert exact <= found.delta(epsilon).upper <= exact + 1e-3


def test_a_pair_without_finite_losses_has_no_contour() -> None:
    disjoint = PrivacyLossDistribution(np.zeros(0), np.zeros(0), 1.0)
    other = approximate_dp(200.0, 0.0)
    assert FamilyComposition([other, disjoint], 4, reference_delta=1e-3).delta(1.0).upper == 1.0


@pytest.mark.long
def test_an_epsilon_next_to_nothing_has_an_upper_end() -> None:
    """Where both directions meet delta at epsilon 0, and only the bound on their mixes does not."""
    pair = three_nb(0.99, 9.0, 0.999, 1e-20)
    ends = [FamilyComposition([one], 768, step=1e-4).delta(0.0).upper for one in pair]
    delta = max(ends) * (1.0 + 1e-8)
    found = FamilyComposition(list(pair), 768, step=1e-4)
    assert found.delta(0.0).upper > delta
    assert 0.0 <= found.epsilon(delta).upper <= 1e-3


def test_rare_large_losses_do_not_cost_gigabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The supremum of two directions has a mass in each cell up to the largest loss: 131 million of them here."""
    asked: list[float] = []

    def counted(what: str, count: float) -> int:
        asked.append(count)
        assert count < 2**23
        return int(count)

    monkeypatch.setattr(grid, "cell_count", counted)
    pair = negative_binomial(22.389945822885196, 0.0012546767811997363, 1e-60)
    found = FamilyComposition(list(pair), 2, attained=pair, relative_width=3e-4).delta(12.68950099160048)
    assert asked
    assert 0.99923 < found.lower <= found.upper < 0.99924
