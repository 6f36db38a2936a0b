"""Pairs above and below what is known of a profile at some points: what composes a bound that is known point by point.

The profile of a pair, as a function of `x = e^eps`, is convex and falls from 1 at x = 0. So it lies below the convex
hull, from below, of any points above it: the hull is the profile of a pair with one loss at each corner, of second mass
the change of slope and first mass x times as much. What the last point leaves counts as a missing mass. The hull is
formed in rationals, so that only the masses themselves are rounded.

`H_(-eps)(P||Q) = 1 - e^-eps (1 - H_eps(Q||P))` gives the points at negative losses, of a pair that is known in both
directions, or of two directions with one bound.

From below: between two points a convex profile is above its chords to the next points on either side, extended. So it
is above the hull of the points themselves and of those where two such lines cross. A pair of which no profile is larger
is post-processing of the other (Blackwell), so that its compositions are no more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np

from dpverify.guarantee import Interval
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.rounding import UNIT
from protocols.validation import check_real

__all__ = ["pair_above", "pair_below"]

Point = tuple[Fraction, Fraction]


def _hull(points: Sequence[Point]) -> list[Point]:
    """Return the corners of the convex hull, seen from below, of points in the order of their first coordinates."""
    corners: list[Point] = []
    for x, y in points:
        while len(corners) > 1:
            (x0, y0), (x1, y1) = corners[-2:]
            if (y1 - y0) * (x - x1) < (y - y1) * (x1 - x0):
                break
            corners.pop()
        corners.append((x, y))
    return corners


def pair_above(bound: Callable[[float], float], epsilons: Sequence[float]) -> PrivacyLossDistribution:
    """Return a pair whose profile is no less than any that is at most a bound, in both directions.

    - bound: An upper bound, in [0, 1], on the divergence at an epsilon >= 0 in either direction.
    - epsilons: Where it is asked, increasing and positive; 0 is asked, too. The last should leave little.
    """
    last = 0.0
    for epsilon in epsilons:
        check_real("epsilons", epsilon, low=last, high=700.0, low_open=True)
        last = epsilon
    powers = [Fraction(1)]
    values = [Fraction(bound(0.0))]
    for epsilon in epsilons:
        power = Fraction(math.exp(epsilon))
        # The bound falls: asked a little before the logarithm of the float it holds there.
        asked = max(epsilon - 4.0 * UNIT * (1.0 + epsilon), 0.0)
        powers.append(power)
        values.append(min(Fraction(bound(asked)), values[-1]))
    negative = [(1 / x, 1 - (1 - y) / x) for x, y in zip(powers[:0:-1], values[:0:-1], strict=True)]
    points = [(Fraction(0), Fraction(1)), *negative, *zip(powers, values, strict=True)]
    return _pair(_hull(points), float(values[-1]) * (1.0 + 2.0 * UNIT))


def pair_below(
    first: Callable[[float], Interval], second: Callable[[float], Interval], epsilons: Sequence[float]
) -> PrivacyLossDistribution:
    """Return a pair that is post-processing of another one, of which both profiles are known at some points.

    - first, second: The divergence at an epsilon >= 0 in the one and in the other direction, as an interval.
    - epsilons: Where they are asked, increasing and positive; 0 is asked, too.
    """
    low, high = [(Fraction(0), Fraction(1))], [(Fraction(0), Fraction(1))]
    for sign, epsilon in [*((-1, each) for each in reversed(epsilons)), (1, 0.0), *((1, each) for each in epsilons)]:
        found = (first if sign > 0 else second)(epsilon)
        # The profile falls: it has the lower end at any smaller power, and the upper end at any larger one.
        unit = Fraction(4.0 * UNIT * (1.0 + epsilon)) if epsilon else Fraction(0)
        power = Fraction(math.exp(epsilon)) ** sign
        less, more = power * (1 - unit), power * (1 + unit)
        for points, end, x, y in ((low, found.lower, less, more), (high, found.upper, more, less)):
            points.append((x, Fraction(end) if sign > 0 else 1 - (1 - Fraction(end)) * y))
    raised = list[Point]()
    for place, left in enumerate(low):
        raised.append(left)
        before = _line(high[place - 1], left) if place else (Fraction(-1), left)
        after = (Fraction(0), (left[0], Fraction(0)))
        if place + 2 < len(low):
            after = _line(low[place + 1], high[place + 2])
        crossed = _crossing(before, after)
        if crossed is not None and crossed[0] > left[0] and (place + 1 == len(low) or crossed[0] < low[place + 1][0]):
            raised.append(crossed)
    return _pair(_hull([(x, max(y, Fraction(0))) for x, y in raised]), 0.0)


def _line(first: Point, second: Point) -> tuple[Fraction, Point]:
    """Return a line through two points, of which the first is left of the second: its slope, and one of them."""
    return (second[1] - first[1]) / (second[0] - first[0]), second


def _crossing(first: tuple[Fraction, Point], second: tuple[Fraction, Point]) -> Point | None:
    (steep, (x0, y0)), (flat, (x1, y1)) = first, second
    if steep >= flat:
        return None
    x = (y1 - y0 + steep * x0 - flat * x1) / (steep - flat)
    return x, y0 + steep * (x - x0)


def _pair(corners: list[Point], missing: float) -> PrivacyLossDistribution:
    """Return the pair whose profile has these corners, from (0, 1) on, and is constant after the last."""
    slopes = [(y1 - y0) / (x1 - x0) for (x0, y0), (x1, y1) in pairwise(corners)] + [Fraction(0)]
    losses, masses = [], []
    for (x, _), before, after in zip(corners[1:], slopes, slopes[1:], strict=False):
        if after > before:
            losses.append(math.log(x))
            masses.append(float(x * (after - before)))
    return PrivacyLossDistribution.from_atoms(
        np.array(losses),
        np.array(masses),
        0.0,
        missing,
        relative_error=4.0 * UNIT,
        loss_error=UNIT * (4.0 + 4.0 * max(map(abs, losses))),
    )
