"""The largest loss as a bound, and the best of several curves."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from dpverify.guarantee import CapacityError, Interval, PrivacyCurve
from dpverify.privacy_loss.bounds import BestCurve, LargestLossCurve


def test_the_largest_loss_is_sharp_at_delta_0_and_settles_what_is_beyond_it() -> None:
    curve = LargestLossCurve(Interval(0.3, 0.30000000000000004), 7)
    found = curve.epsilon(0.0)
    assert Fraction(found.lower) <= 7 * Fraction(0.3)
    assert 7 * Fraction(0.30000000000000004) <= Fraction(found.upper)
    assert found.width < 1e-14
    assert curve.epsilon(1e-9) == Interval(0.0, found.upper)
    assert curve.delta(found.upper) == Interval(0.0, 0.0)
    assert curve.delta(found.lower).upper == 1.0
    assert LargestLossCurve(Interval(math.inf, math.inf), 2).epsilon(0.0).lower == math.inf


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


UNBOUNDED = LargestLossCurve(Interval(math.inf, math.inf), 1)


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
    assert BestCurve(LargestLossCurve(loss, 1), _Refuses).epsilon(0.0) == loss
    bounded = BestCurve(LargestLossCurve(loss, 1), _Refuses)
    assert bounded.delta(2.0) == Interval(0.0, 0.0)
    assert bounded.epsilon(1e-9) == Interval(0.0, 2.0)
    assert bounded.refusals == ("too large.",)
