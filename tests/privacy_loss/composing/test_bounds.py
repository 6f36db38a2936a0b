"""The largest loss as a bound, and the best of several curves."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpverify.changes import Full, L2Bounded
from dpverify.guarantee import CapacityError, Interval, PrivacyCurve
from dpverify.privacy_loss.composing.bounds import (
    BestCurve,
    BetweenCurves,
    InfiniteLossCurve,
    LargestLossCurve,
    NearCurve,
    WorstCurve,
)
from dpverify.privacy_loss.joint.joint_loss import largest_loss_within


def test_the_largest_loss_is_sharp_at_delta_0_and_settles_what_is_beyond_it() -> None:
    curve = LargestLossCurve(Interval(0.3, 0.30000000000000004), Full(7))
    found = curve.epsilon(0.0)
    assert Fraction(found.lower) <= 7 * Fraction(0.3)
    assert 7 * Fraction(0.30000000000000004) <= Fraction(found.upper)
    assert found.width < 1e-14
    for delta in (1e-300, 1e-9, 0.3, 0.78, 0.79, 0.999):
        exact = max(math.log(max(math.exp(found.upper) - delta * (math.exp(found.upper) + 1.0), 1.0)), 0.0)
        assert abs(curve.epsilon(delta).upper - exact) <= 1e-14
        assert curve.delta(curve.epsilon(delta).upper).upper <= delta * (1.0 + 1e-12) + 1e-14
    assert curve.delta(found.upper) == Interval(0.0, 0.0)
    assert 0.0 < curve.delta(found.lower).upper < 1e-14
    # Attained by a report that is flipped with a probability of 1/(1 + e^m), and by nothing that is more.
    for loss, epsilon in ((0.5, 0.0), (3.0, 1.0), (2.0**-40, 2.0**-41), (700.0, 0.0), (1e-320, 0.0), (5e-324, 0.0)):
        bound = Fraction(LargestLossCurve(Interval(loss, loss), Full(1)).delta(epsilon).upper)
        with mpmath.workdps(800):
            exact = (mpmath.exp(loss) - mpmath.exp(epsilon)) / (mpmath.exp(loss) + 1)
            assert exact <= mpmath.mpf(bound.numerator) / bound.denominator <= exact * (1 + 1e-14) + 1e-323
    assert LargestLossCurve(Interval(math.inf, math.inf), Full(2)).delta(1.0).upper == 1.0
    assert LargestLossCurve(Interval(math.inf, math.inf), Full(2)).epsilon(0.0).lower == math.inf


class _Refuses:
    def delta(self, epsilon: float) -> Interval:
        raise CapacityError("too large.")

    epsilon = delta


class _Says:
    def __init__(self, lower: float, upper: float) -> None:
        self._said = Interval(lower, upper)

    def delta(self, epsilon: float) -> Interval:
        return self._said

    epsilon = delta


UNBOUNDED = LargestLossCurve(Interval(math.inf, math.inf), Full(1))


def best(*curves: PrivacyCurve, relative_width: float = 0.0) -> BestCurve:
    makers = [(lambda curve=curve: curve) for curve in curves]
    return BestCurve(UNBOUNDED, *makers, relative_width=relative_width)


def test_the_best_of_several_curves() -> None:
    wide = best(_Says(0.1, math.inf), _Refuses(), _Says(0.0, 0.9), _Says(0.2, 1.0))
    assert wide.epsilon(1e-6) == Interval(0.2, 0.9)
    assert wide.refusals == ("too large.",)
    # What is wide enough, or exact, needs no more curves.
    assert best(_Says(0.5, 0.5), _Refuses()).epsilon(1e-6) == Interval(0.5, 0.5)
    assert best(_Says(0.5, 0.52), _Says(0.51, 1.0), relative_width=0.1).epsilon(1e-6) == Interval(0.5, 0.52)
    for nothing in (best(_Refuses()), best(_Says(0.0, math.inf), _Refuses())):
        with pytest.raises(CapacityError, match="too large"):
            nothing.epsilon(1e-6)
    with pytest.raises(ArithmeticError, match="report this as a bug"):
        best(_Says(0.0, 0.3), _Says(0.4, 1.0)).epsilon(1e-6)


def test_at_delta_0_only_the_largest_loss_counts() -> None:
    loss = Interval(2.0, 2.0)
    assert BestCurve(LargestLossCurve(loss, Full(1)), _Refuses).epsilon(0.0) == loss
    bounded = BestCurve(LargestLossCurve(loss, Full(1)), _Refuses)
    assert bounded.delta(2.0) == Interval(0.0, 0.0)
    assert bounded.epsilon(1e-20) == Interval(0.0, 2.0)
    assert bounded.refusals == ("too large.",)


def _loss(ratio: float, start: float, end: float) -> float:
    """The loss of a bit whose probability moves from start to end, where a 1 is `ratio` times as likely."""
    return math.log((1.0 - end + end * ratio) / (1.0 - start + start * ratio))


@pytest.mark.parametrize("largest", [1e-9, 0.7, 4.0, 600.0])
@pytest.mark.parametrize("square", [0.01, 1.0, 2.5, 4.0])
def test_no_joint_change_loses_more_than_the_largest_loss(largest: float, square: float) -> None:
    bits, rng = 4, np.random.default_rng(1)
    curve = LargestLossCurve(Interval(largest, largest), L2Bounded(square, bits))
    found = curve.epsilon(0.0)
    assert math.floor(square) * largest * (1.0 - 1e-15) <= found.lower
    for _ in range(100):
        t = rng.dirichlet(np.full(bits, rng.choice([0.1, 1.0, 100.0])))
        t = np.minimum(np.sqrt(square * t), 1.0)
        starts = rng.choice([0.0, 1.0], bits) * (1.0 - t) + rng.choice([0.0, 0.5]) * (1.0 - t)
        starts = np.clip(starts, 0.0, 1.0 - t)
        ends = [(a, a + b) if rng.random() < 0.5 else (a + b, a) for a, b in zip(starts, t, strict=True)]
        ratios = [math.exp(largest if a < b else -largest) for a, b in ends]
        assert sum(_loss(ratio, *pair) for ratio, pair in zip(ratios, ends, strict=True)) <= found.upper * (1 + 1e-12)
    # Attained by equal changes that begin at a sure bit.
    t = math.sqrt(square / bits)
    assert found.upper == pytest.approx(bits * _loss(math.exp(largest), 0.0, t), rel=1e-9)
    assert found.upper <= bits * largest * (1.0 + 1e-12)
    assert curve.delta(found.upper) == Interval(0.0, 0.0)


def test_an_infinite_loss_stays_infinite_however_little_changes() -> None:
    infinite = Interval(math.inf, math.inf)
    assert LargestLossCurve(infinite, L2Bounded(0.5, 3)).epsilon(0.0) == infinite
    assert LargestLossCurve(infinite, L2Bounded(1.0, 3)).epsilon(0.0) == infinite


@pytest.mark.parametrize("mass", [1e-20, 1e-6, 0.3, 1.0])
def test_infinite_mass_of_many_instances_is_a_lower_bound(mass: float) -> None:
    curve = InfiniteLossCurve(mass, Full(7))
    exact = 1 - (1 - Fraction(mass)) ** 7
    found = curve.delta(3.0)
    assert 0.999999 * exact <= found.lower <= exact <= found.upper
    assert curve.epsilon(found.lower * 0.999).lower == math.inf
    if found.lower < 0.9:
        assert curve.epsilon(found.lower * 1.001) == Interval(0.0, math.inf)


def test_infinite_mass_counts_in_full_changes_only() -> None:
    assert InfiniteLossCurve(0.5, L2Bounded(2.5, 7)).delta(0.0).lower == pytest.approx(0.75)
    assert InfiniteLossCurve(1.0, L2Bounded(0.5, 7)).delta(0.0).lower == 0.0


def test_between_two_curves_each_gives_the_end_that_it_bounds() -> None:
    less, more = _Says(3.0, 4.0), _Says(1.0, 2.0)
    assert BetweenCurves(less, more).delta(0.5) == Interval(1.0, 4.0)
    assert BetweenCurves(less, more).epsilon(0.5) == Interval(1.0, 4.0)
    with pytest.raises(ArithmeticError):  # the more private one cannot be the less private one
        BetweenCurves(more, less).delta(0.5)


def test_between_two_curves_what_either_left_out_is_told() -> None:
    made = [
        BestCurve(LargestLossCurve(Interval(1.0, 1.0), Full(1)), _Refuses, lambda: _Says(0.1, 0.2)) for _ in range(2)
    ]
    curve = BetweenCurves(*made)
    assert curve.delta(0.5) == Interval(0.1, 0.2)
    assert curve.refusals == ("too large.",)


def test_the_worst_of_several_curves() -> None:
    worst = WorstCurve([_Says(0.1, 0.9), _Says(0.3, 0.4)])
    assert worst.epsilon(1e-6) == Interval(0.3, 0.9)
    assert worst.delta(1.0) == Interval(0.3, 0.9)


@pytest.mark.parametrize("change", [Full(7), L2Bounded(7.0, 7), L2Bounded(2.5, 7), L2Bounded(1e-6, 300)])
@pytest.mark.parametrize("epsilon", ["1e-9", "0.3", "600"])
def test_the_largest_loss_within_an_epsilon_uses_all_of_it(change: Full | L2Bounded, epsilon: str) -> None:
    loss = largest_loss_within(Fraction(epsilon), change)
    largest = LargestLossCurve(Interval(loss, loss), change).epsilon(0.0).upper
    assert float(epsilon) * (1.0 - 1e-12) <= largest <= float(epsilon)


class _Line:
    """The curve delta = 1 - epsilon, known within 1/64."""

    def delta(self, epsilon: float) -> Interval:
        return Interval(max(0.0, 1.0 - epsilon - 1 / 64), max(0.0, 1.0 - epsilon))

    def epsilon(self, delta: float) -> Interval:
        return Interval(max(0.0, 1.0 - delta - 1 / 64), max(0.0, 1.0 - delta))


def test_a_curve_nearby_is_charged_the_distance_in_both_laws() -> None:
    curve = NearCurve(_Line(), 0.01, 0.02)
    for epsilon in (0.0, 0.3, 0.7):
        charge = 1.0 + math.exp(epsilon)
        found = curve.delta(epsilon)
        assert found.upper == pytest.approx(min(1.0, 1.0 - epsilon + 0.01 * charge), rel=1e-12)
        assert found.lower == pytest.approx(max(1.0 - epsilon - 1 / 64 - 0.02 * charge, 0.0), rel=1e-12)
        # At a delta, epsilon is a point where the charged curves are on the safe side of it, and not far.
        at = curve.epsilon(0.5)
        assert curve.delta(at.upper).upper <= 0.5 <= curve.delta(max(at.upper - 0.02, 0.0)).upper
        assert curve.delta(at.lower - 1e-9).lower >= 0.5 >= curve.delta(at.lower + 0.02).lower
    assert NearCurve(_Line(), 0.3).epsilon(0.5).upper == math.inf
    assert NearCurve(_Line(), 0.3).epsilon(0.5).lower == _Line().epsilon(0.5).lower
    assert NearCurve(_Line(), 1.0, 1.0).delta(0.0) == Interval(0.0, 1.0)
    # e^800 times the least float is more than 1, though e^700 times it is nothing.
    assert NearCurve(_Line(), 5e-324, 5e-324).delta(800.0) == Interval(0.0, 1.0)
    assert NearCurve(_Line(), 0.0).epsilon(0.5) == _Line().epsilon(0.5)
