"""A pair that dominates whatever has a profile below given values: what composes a bound that is known point by point.

The profile of a pair, as a function of `x = e^eps`, is convex and falls from 1 at x = 0. So it lies below the convex
hull, from below, of any points above it: the hull is the profile of a pair with one loss at each corner, of second mass
the change of slope and first mass x times as much. What the last point leaves counts as a missing mass. The hull is
formed in rationals, so that only the masses themselves are rounded.

For two directions with one bound, `H_(-eps)(P||Q) = 1 - e^-eps (1 - H_eps(Q||P))` gives the points at negative losses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np

from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.rounding import UNIT
from protocols.validation import check_real

__all__ = ["pair_above"]

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

    Parameters
    ----------
    bound : callable
        An upper bound, in [0, 1], on the divergence at an epsilon >= 0 in either direction.
    epsilons : sequence of float
        Where it is asked, increasing and positive; 0 is asked, too. The last should leave little.
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
    corners = _hull([(Fraction(0), Fraction(1)), *negative, *zip(powers, values, strict=True)])
    slopes = [(y1 - y0) / (x1 - x0) for (x0, y0), (x1, y1) in pairwise(corners)] + [Fraction(0)]
    losses, masses = [], []
    for (x, _), before, after in zip(corners[1:], slopes, slopes[1:], strict=False):
        if after > before:
            losses.append(math.log(x))
            masses.append(float(x * (after - before)))
    missing = float(corners[-1][1])
    return PrivacyLossDistribution.from_atoms(
        np.array(losses),
        np.array(masses),
        0.0,
        missing * (1.0 + 2.0 * UNIT),
        relative_error=4.0 * UNIT,
        loss_error=UNIT * (4.0 + 4.0 * max(map(abs, losses))),
    )
