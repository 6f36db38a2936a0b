"""Every stated error is charged, and in full: intervals from pairs that are misreported by as much as they say."""

import functools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dpverify.guarantee import Interval
from dpverify.privacy_loss.composing.family import FamilyComposition
from dpverify.privacy_loss.datasets import chord, report_sums
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.mixture import bit_probability_change, erased
from dpverify.privacy_loss.losses.pairs import Directions, approximate_dp
from dpverify.privacy_loss.losses.renyi import renyi_divergence, zero_concentrated_rho
from dpverify.privacy_loss.losses.tradeoff import TradeOff
from dpverify.privacy_loss.windows import grid
from dpverify.privacy_loss.windows.concentration import Concentration
from dpverify.privacy_loss.windows.gaussian import GaussianPrivacyLoss
from dpverify.privacy_loss.windows.grid import connect_the_dots, dominating_grid
from dpverify.privacy_loss.windows.product import delta_of_two, product
from dpverify.privacy_loss.windows.transform import Composition
from tests.privacy_loss.exact import RationalPair, floats, rational_pairs, truth
from tests.privacy_loss.misreported import ONE_ERROR, Errors, listed

EPSILONS = (-30.0, -2.0, -0.3, 0.0, 0.1, 0.5, 1.3, 3.0)
"""At -30 the divergence is the whole mass but 1e-13: whatever is missing is missed."""
FINE = 2.0**-10
"""So fine that connect-the-dots adds less than the errors at stake."""
Curve = Callable[[float], Interval]


def check(curve: Curve, pairs: Sequence[RationalPair], counts: Sequence[int], *, low: bool) -> None:
    """The upper end (of a listing that is too low), or the lower end, is on the right side of the exact divergence."""
    for epsilon in EPSILONS:
        exact, found = truth(pairs, counts, epsilon), curve(epsilon)
        assert found.lower >= 0.0
        assert found.upper <= 1.0
        if low:
            assert exact.lower <= found.upper, epsilon
        else:
            assert found.lower <= exact.upper, epsilon


def usable(*distributions: PrivacyLossDistribution) -> bool:
    return all(distribution.losses.size for distribution in distributions)


@given(rational_pairs(5), ONE_ERROR, st.booleans())
def test_a_profile_charges_its_errors(pair: RationalPair, errors: Errors, low: bool) -> None:
    check(listed(pair, errors, low=low).delta, [pair], [1], low=low)


@pytest.mark.long
@given(rational_pairs(5), rational_pairs(5), ONE_ERROR, ONE_ERROR, st.booleans())
def test_a_product_charges_the_errors_of_both(
    first: RationalPair, second: RationalPair, errors: Errors, others: Errors, low: bool
) -> None:
    # Errors of two kinds make up for no more than their product.
    assume(errors.relative * others.relative == 0.0)
    left, right = listed(first, errors, low=low), listed(second, others, low=low)
    assume(usable(left, right))
    check(lambda epsilon: delta_of_two(left, right, epsilon), [first, second], [1, 1], low=low)


@given(rational_pairs(4), rational_pairs(4), ONE_ERROR, ONE_ERROR, st.booleans())
def test_a_product_of_grids_charges_the_errors_of_both(
    first: RationalPair, second: RationalPair, errors: Errors, others: Errors, low: bool
) -> None:
    assume(errors.relative * others.relative == 0.0)
    pairs = [listed(first, errors, low=low), listed(second, others, low=low)]
    assume(usable(*pairs))
    both = product(*(connect_the_dots(pair, FINE) for pair in pairs))
    check(Composition([(both, 1)]).delta, [first, second], [1, 1], low=low)


@pytest.mark.long
@settings(max_examples=60)
@given(rational_pairs(4), rational_pairs(4), st.integers(1, 5), st.integers(1, 3), ONE_ERROR, ONE_ERROR, st.booleans())
def test_a_composition_charges_the_errors_of_every_instance(
    first: RationalPair, second: RationalPair, many: int, few: int, errors: Errors, others: Errors, low: bool
) -> None:
    pairs = [listed(first, errors, low=low), listed(second, others, low=low)]
    assume(usable(*pairs))
    counts = [many, few]
    factors = [(connect_the_dots(pair, FINE), count) for pair, count in zip(pairs, counts, strict=True)]
    check(Composition(factors).delta, [first, second], counts, low=low)


@given(rational_pairs(4), rational_pairs(4), st.integers(1, 3), ONE_ERROR, ONE_ERROR)
def test_a_supremum_charges_the_worst_errors_of_its_members(
    first: RationalPair, second: RationalPair, count: int, errors: Errors, others: Errors
) -> None:
    pairs = [listed(first, errors, low=True), listed(second, others, low=True)]
    assume(usable(*pairs))
    curve = Composition([(dominating_grid(pairs, FINE), count)]).delta
    for pair in (first, second):
        check(curve, [pair], [count], low=True)


@given(rational_pairs(4), rational_pairs(4), st.integers(1, 3))
def test_a_supremum_charges_its_ties(first: RationalPair, second: RationalPair, count: int) -> None:
    pairs = [listed(pair, Errors(), low=True) for pair in (first, second)]
    assume(usable(*pairs))
    with mock.patch.object(grid, "_TIE", 0.01):
        curve = Composition([(dominating_grid(pairs, FINE), count)]).delta
    for pair in (first, second):
        check(curve, [pair], [count], low=True)


@given(rational_pairs(4), rational_pairs(4), ONE_ERROR, ONE_ERROR, st.booleans())
def test_one_instance_of_a_family_charges_the_worst_errors(
    first: RationalPair, second: RationalPair, errors: Errors, others: Errors, low: bool
) -> None:
    pairs = [listed(first, errors, low=low), listed(second, others, low=low)]
    assume(usable(*pairs))
    family = FamilyComposition(pairs, 1)
    for epsilon in EPSILONS:
        exact = [truth([pair], [1], epsilon) for pair in (first, second)]
        if low:
            assert max(e.lower for e in exact) <= family.delta(epsilon).upper
        else:
            assert family.delta(epsilon).lower <= max(e.upper for e in exact)


@pytest.mark.long
@pytest.mark.parametrize("low", [True, False])
@given(rational_pairs(5), ONE_ERROR, st.floats(0.01, 0.4))
def test_epsilon_charges_the_errors(low: bool, pair: RationalPair, errors: Errors, delta: float) -> None:
    one = listed(pair, errors, low=low)
    assume(usable(one))
    for curve, count in ((FamilyComposition([one], 1), 1), (Composition([(connect_the_dots(one, FINE), 2)]), 2)):
        found = curve.epsilon(delta)
        if low and math.isfinite(found.upper):
            assert truth([pair], [count], found.upper).lower <= Fraction(delta)
        if not low and found.lower > 0.0:
            assert truth([pair], [count], min(found.lower, 1e3)).upper > Fraction(delta)


def mixture(pair: RationalPair, share: Fraction) -> list[Fraction]:
    return [share * p + (1 - share) * q for p, q in zip(*pair, strict=True)]


@given(rational_pairs(5), ONE_ERROR, st.sampled_from([(1.0, 0.5), (0.5, 1.0), (0.25, 0.75)]), st.booleans())
def test_mixtures_charge_the_errors(pair: RationalPair, errors: Errors, ends: tuple[float, float], low: bool) -> None:
    found = listed(pair, errors, low=low)
    assume(usable(found))
    first, second = (mixture(pair, Fraction(end)) for end in ends)
    check(bit_probability_change(found, *ends).delta, [(first, second)], [1], low=low)


@given(rational_pairs(5), ONE_ERROR, st.sampled_from([0.1, 0.5, 0.9]), st.booleans(), st.booleans())
def test_erasure_charges_the_errors(
    pair: RationalPair, errors: Errors, probability: float, upwards: bool, low: bool
) -> None:
    # The losses of the two directions are each other's negatives: only one of them can be too low.
    first, second = pair
    up, down = listed((first, second), errors, low=low == upwards), listed((second, first), errors, low=low != upwards)
    if errors.missing is not None:
        up, down = listed((first, second), errors, low=low), listed((second, first), errors, low=low)
    assume(usable(up, down))
    mixed = mixture(pair, 1 - Fraction(probability))
    found = erased(Directions(up, down), probability)
    if upwards:
        check(found.up.delta, [(mixed, second)], [1], low=low)
    else:
        check(found.down.delta, [(second, mixed)], [1], low=low)


@pytest.mark.long
@given(rational_pairs(5), ONE_ERROR, st.sampled_from([1.5, 2.0, 5.0]), st.booleans())
def test_renyi_charges_the_errors(pair: RationalPair, errors: Errors, order: float, low: bool) -> None:
    found = listed(pair, errors, low=low)
    assume(usable(found))
    interval = renyi_divergence(found, order)
    p, q = (np.array([float(x) for x in law]) for law in pair)
    if ((p > 0) & (q == 0)).any():
        assert interval.upper == math.inf
        return
    exact = math.log(float(np.sum(p[p > 0] ** order * q[p > 0] ** (1.0 - order)))) / (order - 1.0)
    if low:
        assert exact <= interval.upper + 1e-13
    else:
        assert interval.lower <= exact + 1e-13


@given(rational_pairs(5), ONE_ERROR, st.booleans(), st.floats(0.0, 1.0))
def test_a_trade_off_charges_the_errors(pair: RationalPair, errors: Errors, low: bool, level: float) -> None:
    found = listed(pair, errors, low=low)
    assume(usable(found))
    polygon = TradeOff.of(found)
    # Neyman and Pearson's test of the exact pair, randomised at its threshold.
    left, exact = level, 1.0
    order = sorted(zip(*pair, strict=True), key=lambda masses: (masses[1] == 0, masses[0] / (masses[1] or 1)))
    for p, q in order:
        taken = 1.0 if p == 0 else min(1.0, left / float(p))
        exact -= taken * float(q)
        left -= taken * float(p)
    assert abs(polygon(level) - exact) <= polygon.error + 1e-13


Crossings = dict[float, tuple[Interval, dict[float, float]]]
"""By delta: the epsilon, and a lower bound on the divergence at some epsilons around it."""


def rarely_infinite(rare: Fraction) -> RationalPair:
    more, less = Fraction(6, 10), Fraction(4, 10)
    return [more - rare, less, rare], [less, more, Fraction(0)]


@functools.cache
def crossings(rare: Fraction, instances: int) -> Crossings:
    exact, found = FamilyComposition([floats(rarely_infinite(rare))], instances), {}
    infinite = -math.expm1(instances * math.log1p(-float(rare)))
    for level in (0.1, 0.01, 1e-6):
        delta = infinite + (1.0 - infinite) * level
        crossing = exact.epsilon(delta)
        around = (crossing.upper, 0.9 * crossing.upper, 2.0 * crossing.upper)
        found[delta] = crossing, {epsilon: exact.delta(epsilon).lower for epsilon in around}
    return found


@pytest.mark.long
@pytest.mark.parametrize("errors", [Errors(relative=0.01), Errors(shift=0.02), Errors(missing=2)])
@pytest.mark.parametrize("rare", [Fraction(0), Fraction(1, 1000)])
def test_bounds_from_moments_charge_the_errors_of_every_instance(errors: Errors, rare: Fraction) -> None:
    # So many instances that their errors outweigh what Chernoff's and Cantelli's bounds lose; so few, for the sum of
    # the largest losses.
    for instances in (3, 30, 2000):
        made = [listed(rarely_infinite(rare), errors, low=low) for low in (True, False)]
        low, high = (Concentration([one], [one], instances) for one in made)
        infinite = -math.expm1(instances * math.log1p(-float(rare)))
        assert high.infinite <= infinite <= low.unbounded
        for delta, (crossing, around) in crossings(rare, instances).items():
            assert crossing.lower <= low.epsilon(delta).upper
            assert high.epsilon(delta).lower <= crossing.upper
            for epsilon, divergence in around.items():
                assert divergence <= low.delta(epsilon).upper


@pytest.mark.parametrize("tilt", [-1.5, -0.2, 0.0, 0.2, 1.5])
@pytest.mark.parametrize("width", [1, 2, 7])
def test_factors_of_sums_of_reports_are_at_most_their_bounds(tilt: float, width: int) -> None:
    bounds = report_sums.ReportSums._largest_factors(tilt, width)
    for turn in range(28):
        factors = report_sums._node(0.2, tilt, Fraction(turn, 28), width).factors
        assert (np.abs(np.array(factors)) <= bounds * (1.0 + 1e-12)).all()


def test_negative_masses_are_repaired_upwards() -> None:
    rng = np.random.default_rng(3)
    step = 0.1
    ratios = np.expm1(step * np.arange(-20, 21))
    for _ in range(20):
        masses = rng.uniform(0.01, 0.05, 41)
        masses[rng.choice(np.arange(5, 36, 6), 3, replace=False)] = -0.004
        repaired = masses.copy()
        chord._repair(repaired, np.zeros(41), step)
        assert (repaired >= -1e-16).all()
        assert repaired.sum() == pytest.approx(masses.sum(), rel=1e-12)
        assert repaired @ ratios == pytest.approx(masses @ ratios, rel=1e-9, abs=1e-12)
        above = np.maximum(ratios - ratios[:, np.newaxis], 0.0)
        assert (above @ repaired >= above @ masses - 1e-14).all()


def test_the_largest_order_decides_what_is_refuted() -> None:
    pair, orders = approximate_dp(1.0, 0.0), np.array([1.1, 2.0, 8.0])
    each = [zero_concentrated_rho(pair, orders[i : i + 1]) for i in range(3)]
    assert len(set(each)) == 3
    assert zero_concentrated_rho(pair, orders) == max(each)


@pytest.mark.parametrize("delta", [1e-2, 1e-6])
def test_epsilon_of_normal_noise_is_proved_at_both_ends(monkeypatch: pytest.MonkeyPatch, delta: float) -> None:
    composed = GaussianPrivacyLoss(0.5).composed(3)
    exact = type(composed).delta

    def wider(self: object, epsilon: float) -> Interval:
        found = exact(composed, epsilon)
        return Interval(found.lower * (1.0 - 1e-11), found.upper * (1.0 + 1e-11))

    monkeypatch.setattr(type(composed), "delta", wider)
    found = composed.epsilon(delta)
    assert composed.delta(found.lower).lower > delta
    assert composed.delta(found.upper).upper <= delta
