"""Joint changes next to each other and to full ones: no choice of all of them exceeds the bound."""

import dataclasses
import functools
import itertools
import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpverify.changes import L2Bounded
from dpverify.privacy_loss.composing.together import AnyOf, Together, _shares
from dpverify.privacy_loss.datasets.covers import Branch
from dpverify.privacy_loss.joint.joint_change import JointChange
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.mixture import bit_probability_change
from dpverify.privacy_loss.losses.pairs import mixed_reports
from dpverify.privacy_loss.windows.contour import Contour
from tests.privacy_loss.exact import RationalPair, floats, rational_pairs, truth
from tests.privacy_loss.joint_hunt import Mechanism, mechanism, moves

Floats = NDArray[np.float64]


def laws(found: Mechanism, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw a change and the others' bits, and return the laws of all views before and after."""
    sides: list[list[Floats]] = [[], []]
    for ends in moves(rng, found.joint.change):
        view = found.views[rng.integers(len(found.views))]
        zero, one = (np.array([float(Fraction(int(mass.p), int(mass.q))) for mass in law]) for law in view)
        for side, chance in zip(sides, ends, strict=True):
            side.append((1.0 - chance) * zero + chance * one)
    before, after = (functools.reduce(lambda p, q: np.outer(p, q).ravel(), side) for side in sides)
    return before, after


def small(rng: np.random.Generator) -> Mechanism:
    """Draw a mechanism with few views."""
    while True:
        found = mechanism(rng)
        if len(found.views[0][0]) ** found.joint.change.coordinates <= 200:
            return found


def full(rng: np.random.Generator) -> tuple[tuple[Floats, Floats], PrivacyLossDistribution]:
    p = rng.uniform(0.05, 0.45)
    law = np.array([p, 1.0 - p])
    return (law, law[::-1]), PrivacyLossDistribution.from_pmfs(law, law[::-1])


def exceeded(seed: int, changes: int) -> list[tuple[float, float]]:
    """Return divergences of random changes with the bounds on them."""
    rng = np.random.default_rng(seed)
    parts = [small(rng), small(rng)]
    other, pair = full(rng)
    whole = [AnyOf([pair], 1)] if seed % 2 else []
    bound = Together([*(part.joint for part in parts), *whole], (), 1e-3)
    epsilons = [0.0, 0.3, 1.0, 2.5]
    most = [bound.delta(epsilon).upper for epsilon in epsilons]
    found = []
    for _ in range(changes):
        drawn = [laws(part, rng) for part in parts] + [other] * (seed % 2)
        p, q = (functools.reduce(lambda a, b: np.outer(a, b).ravel(), side) for side in zip(*drawn, strict=True))
        found += [
            (float(np.maximum(p - math.exp(e) * q, 0.0).sum()), end) for e, end in zip(epsilons, most, strict=True)
        ]
    return found


@pytest.mark.long
@pytest.mark.parametrize("seed", range(6))
def test_no_change_exceeds_the_bound(seed: int) -> None:
    found = exceeded(seed, 6)
    assert all(exact <= bound * (1.0 + 1e-9) + 1e-12 for exact, bound in found)
    assert any(exact > 0.0 for exact, _ in found)


def reports(square: float, coordinates: int) -> JointChange:
    pairs = [pair for ones in (0, 99, 199) for pair in mixed_reports(200, ones, 0.2)]
    return JointChange([[pair] for pair in pairs], L2Bounded(square, coordinates), reference_delta=1e-6)


@pytest.mark.long
def test_two_halves_of_a_change_are_the_whole() -> None:
    whole = reports(8.0, 64).epsilon_upper(1e-6)
    halves = Together([reports(4.0, 32), reports(4.0, 32)], (), 1e-6).epsilon(1e-6)
    assert halves.upper == pytest.approx(whole, rel=2e-3)
    uneven = Together([reports(7.5, 60), reports(0.5, 4)], (), 1e-6).epsilon(1e-6)
    assert uneven.upper == pytest.approx(whole, rel=0.02)


@pytest.mark.long
def test_a_full_change_beside_a_joint_one_counts_as_one_more() -> None:
    pair = mixed_reports(200, 0, 0.2)[0]
    beside = AnyOf([pair], 4)
    moved = bit_probability_change(pair, 0.5, 0.0)
    found = Together([reports(4.0, 16), beside], ((pair, 4), (moved, 16)), 1e-6).epsilon(1e-6)
    assert 0.9 * found.upper < found.lower
    assert reports(4.0, 16).epsilon_upper(1e-6) < found.upper < reports(8.0, 20).epsilon_upper(1e-6)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(st.lists(rational_pairs(4), min_size=1, max_size=2), st.integers(1, 2)), min_size=1, max_size=2),
    st.sampled_from([0.0, 0.3, 1.0, 2.5]),
)
def test_no_choice_of_pairs_exceeds_the_bound(parts: list[tuple[list[RationalPair], int]], epsilon: float) -> None:
    found = Together([AnyOf([floats(pair) for pair in family], count) for family, count in parts], (), 1e-3)
    instances = [family for family, count in parts for _ in range(count)]
    truths = [truth(choice, [1] * len(choice), epsilon) for choice in itertools.product(*instances)]
    assert max(each.lower for each in truths) <= found.delta(epsilon).upper


def test_errors_of_masses_and_losses_are_charged() -> None:
    pair = mixed_reports(200, 0, 0.2)[0]
    exact = Together([AnyOf([pair], 50)], (), 1e-6).epsilon(1e-6).upper
    for name, charge in (("loss_error", 1e-3 * 50), ("relative_error", 1e-3)):
        found = Together([AnyOf([dataclasses.replace(pair, **{name: 1e-3})], 50)], (), 1e-6).epsilon(1e-6).upper
        assert exact + 0.9 * charge < found


def test_what_is_infinite_is_counted_and_nothing_is_attained_unless_told() -> None:
    sure = PrivacyLossDistribution.from_pmfs(np.array([0.5, 0.5]), np.array([0.0, 1.0]))
    beside = AnyOf([sure], 1)
    found = Together([reports(1.0, 2), beside], (), 1e-6)
    assert (found.epsilon(1e-6).lower, found.epsilon(1e-6).upper) == (0.0, math.inf)
    assert found.delta(1.0).upper > 0.5
    disjoint = PrivacyLossDistribution.from_pmfs(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    nothing = Together([reports(1.0, 2), AnyOf([disjoint], 1)], (), 1e-6)
    assert nothing.delta(1.0).upper == 1.0
    with pytest.raises(ValueError, match="parts is empty"):
        Together([], (), 1e-6)
    with pytest.raises(ValueError, match="laws is empty"):
        AnyOf([], 1)


def stands_for(*parts: PrivacyLossDistribution) -> Branch:
    """Return what dominates these: all that they lose at most, always."""
    largest = max(part.largest_loss for part in parts)
    whole = PrivacyLossDistribution(np.array([-largest, largest]), np.array([1e-3, 1.0 - 1e-3]))
    return Branch(whole, lambda: [Branch(part) for part in parts])


@pytest.mark.parametrize("epsilon", [2.5, 3.0])
def test_a_branch_that_is_divided_bounds_every_pair_of_its_parts(epsilon: float) -> None:
    quarter = ([Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)])
    uneven = ([Fraction(9, 10), Fraction(1, 10)], [Fraction(1, 2), Fraction(1, 2)])
    less = ([Fraction(7, 10), Fraction(3, 10)], [Fraction(3, 10), Fraction(7, 10)])
    attained = Branch(floats(less), attained=True)
    families = [AnyOf([attained, stands_for(floats(quarter), floats(uneven))], 2) for _ in range(2)]
    found = Together(families, (), 1e-3).delta(epsilon).upper
    assert found < 1.0
    assert all(len(family.branches) == 3 for family in families)
    whole = [AnyOf([stands_for(floats(quarter), floats(uneven))], 2, most_splits=0) for _ in range(2)]
    assert found <= Together(whole, (), 1e-3).delta(epsilon).upper
    choices = itertools.product([quarter, uneven, less], repeat=4)
    assert found >= max(truth(choice, [1] * 4, epsilon).lower for choice in choices)


@pytest.mark.parametrize(
    ("name", "off", "charge"),
    [("loss_error", 1e-3, 3.9e-3), ("relative_error", 1e-3, 1e-4), ("missing_mass", 1e-7, 1e-2)],
)
def test_what_a_part_is_off_by_is_charged_once_it_is_known(name: str, off: float, charge: float) -> None:
    pair = mixed_reports(200, 0, 0.2)[0]
    less = Branch(mixed_reports(300, 0, 0.2)[0], attained=True)
    exact, charged = (
        Together([AnyOf([less, stands_for(part)], 4)], (), 1e-6)
        for part in (pair, dataclasses.replace(pair, **{name: off}))
    )
    assert exact.epsilon(1e-6).upper + charge < charged.epsilon(1e-6).upper


def test_shares_add_up_to_one_exactly() -> None:
    for exponents in ([1.0], [1.0, 2.0, 4.0], [1e-300, 1.0], [-1.0, -2.0], [0.0, 0.0, 1e300]):
        shares = _shares(exponents)
        assert sum(shares) == 1.0
        assert min(shares) > 0.0


def test_infinite_losses_of_all_parts_add_up() -> None:
    rare = PrivacyLossDistribution(np.zeros(1), np.array([0.9]), 0.1)
    parts = [AnyOf([rare], 1), AnyOf([rare], 2)]
    assert Together(parts, (), 1e-3).delta(20.0).upper >= 1.0 - 0.9**3


@pytest.mark.parametrize("share", [1.0, 0.2])
@pytest.mark.parametrize("order", [1, -1])
def test_errors_count_for_the_share_of_which_the_integral_is(share: float, order: int) -> None:
    pair = PrivacyLossDistribution(np.array([-0.5, 0.5]), np.array([0.3, 0.7]))
    contour = Contour.at(2.0, 1.0, 1e-2)
    exact = AnyOf([pair], 3).log_integral(contour, share)
    shifted, grown, missing = (
        AnyOf([dataclasses.replace(pair, **{name: 0.01}), pair][::order], 3)
        for name in ("loss_error", "relative_error", "missing_mass")
    )
    assert shifted.log_integral(contour, share) - exact >= 3 * 2.0 * 0.01 / share * (1.0 - 1e-9)
    assert grown.log_integral(contour, share) - exact >= -3 * math.log1p(-0.01) / share * (1.0 - 1e-9)
    assert missing.left_out >= 0.03


def test_charges_are_rounded_up() -> None:
    nothing, contour = PrivacyLossDistribution(np.zeros(1), np.ones(1)), Contour.at(70.3, 1.0, 1e-2)
    exact = AnyOf([nothing], 10**9).log_integral(contour, 0.3)
    for off in np.random.default_rng(0).uniform(0.0, 10.0, 50):
        found = AnyOf([dataclasses.replace(nothing, loss_error=off)], 10**9).log_integral(contour, 0.3)
        assert Fraction(found) >= Fraction(exact) + 10**9 * Fraction(70.3) * Fraction(float(off)) / Fraction(0.3)


def test_integrals_of_many_parts_are_rounded_up() -> None:
    for seed in range(10):
        logs = np.random.default_rng(seed).uniform(-50.0, 100.0, 300).tolist()
        parts = [SimpleNamespace(estimate=lambda _: (1.0, 1.0), log_integral=lambda *_, log=log: log) for log in logs]
        found = Together(parts, (), 1e-6)._log_integral(1.0)  # type: ignore[arg-type]
        exact = sum(Fraction(share) * Fraction(log) for share, log in zip(_shares([1.0] * 300), logs, strict=True))
        assert exact <= Fraction(found) <= exact + Fraction(1, 10**9)
