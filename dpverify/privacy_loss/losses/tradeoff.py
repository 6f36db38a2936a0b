"""Trade-off functions: the least type II error of telling P from Q at a given type I error."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpverify.guarantee import Interval
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.rounding import UNIT
from protocols.classes.frozen import dataclass
from protocols.validation import check_real

__all__ = ["EnclosedTradeOff", "TradeOff", "power_of_e"]

_MOST_ASKED = 12
"""How often a privacy curve is asked for the sake of one rate."""
_NEAR, _LEAST_GAP = 0.01, 1e-6
"""Two epsilons are no closer, relatively and absolutely: what widens both answers would be all that they tell."""
_Line = tuple[Fraction, Fraction]
"""What it is at 0, and its slope."""


@dataclass(frozen=True)
class TradeOff:
    """The trade-off function f of a pair (P, Q): a convex polygon (dong2022, Definition 2.1).

    `f(a)` is the least probability, under Q, of accepting P, over the tests that reject P with probability at most a
    under P.

    - type_one, type_two (ndarray of float64, shape (corners,)): The corners of the polygon: type I errors from 0 to 1,
      increasing, and the least type II errors, decreasing.
    - error: Bound on the absolute error of every corner.
    """

    type_one: NDArray[np.float64]
    type_two: NDArray[np.float64]
    error: float

    @classmethod
    def of(cls, pair: PrivacyLossDistribution) -> TradeOff:
        """Return the trade-off function of a pair: the likelihood-ratio tests, by increasing loss (Neyman-Pearson)."""
        # Reject P where P/Q is small: the outcomes that P lacks altogether first, then by increasing loss.
        q_mass = pair.reference_masses
        without_p = max(1.0 - float(q_mass.sum()), 0.0)
        type_one = np.concatenate([[0.0], np.cumsum(pair.masses)])
        type_two = 1.0 - without_p - np.concatenate([[0.0], np.cumsum(q_mass)])
        # Where Q has no mass, rejecting P only costs: f stays 0.
        type_one = np.append(type_one, 1.0)
        type_two = np.append(type_two, 0.0)
        # The most that a test gains under Q is concave in its cost under P: with costs and gains off by a factor each,
        # it is off by both, however steep. What P lacks is off by the error of Q's sum.
        error = pair.missing_mass + 3.0 * pair.reference_error + 4.0 * UNIT * (pair.losses.size + 4.0)
        if pair.missing_mass > 0.0:
            # Some or all of what P seems to lack may lie on the outcomes that are not listed.
            error += without_p
        return cls(np.minimum(type_one, 1.0), np.clip(type_two, 0.0, 1.0), error)

    def __call__(self, type_one: float) -> float:
        """Return f at one type I error in [0, 1], within `error`."""
        level = check_real("type_one", type_one, low=0.0, high=1.0)
        return float(np.interp(level, self.type_one, self.type_two))


@dataclass(frozen=True)
class EnclosedTradeOff:
    """The trade-off function f of all neighbours, between what a privacy curve proves above and below.

    With `D(g)` the largest of all `H_g(Q||P)`, neighbours in both orders, `f(a) = sup_g 1 - D(g) - g a`, over g >= 0:
    the largest convex function that is below the trade-off function of each of them. The privacy curve is D from 1 on,
    and `D(1/g) = 1 - (1 - D(g)) / g`; D is convex, never rises, is 1 at 0, and is at least 0 and 1 - g.

    - known: Epsilons, from 0 on and increasing by 1e-6 at least, and delta there, of the worst neighbours in both
      orders.
    """

    known: tuple[tuple[float, Interval], ...]

    @classmethod
    def of(
        cls,
        delta: Callable[[float], Interval],
        rates: Iterable[Fraction],
        tolerance: float,
        known: Iterable[tuple[float, Interval]] = (),
    ) -> EnclosedTradeOff:
        """Return it about as closely as wanted at some type I errors, by asking for delta where that tells most.

        - delta: Returns delta at an epsilon from 0 on.
        - rates: Type I errors, in (0, 1).
        - tolerance: The width wanted, absolutely; what widens delta itself is not made up for.
        - known: What delta is known to be.
        """
        found = cls(tuple(_apart({0.0: delta(0.0)} | dict(known))))
        for rate in rates:
            for _ in range(_MOST_ASKED):
                lower, upper = found(rate)
                if upper - lower <= tolerance:
                    break
                steepest = max(found._vertices, key=lambda point: 1 - point[1] - point[0] * rate)[0]
                epsilon = _beside(abs(math.log(steepest)), [other for other, _ in found.known])
                if epsilon is None:
                    break
                found = cls(tuple(sorted([*found.known, (epsilon, delta(epsilon))])))
        return found

    def __call__(self, type_one: Fraction) -> tuple[Fraction, Fraction]:
        """Return between which numbers f is at one type I error in [0, 1]."""
        check_real("type_one", type_one, low=0.0, high=1.0)
        lines = (1 - most - slope * type_one for _, most, slope in self._points)
        highest = max(1 - value - place * type_one for place, value in self._vertices)
        return max(Fraction(0), *lines), min(highest, 1 - type_one)

    @cached_property
    def _points(self) -> list[tuple[tuple[Fraction, Fraction], Fraction, Fraction]]:
        """A place and what D is there at least; what it is at most, and from which place on."""
        found = [((Fraction(0), Fraction(1)), Fraction(1), Fraction(0))]
        for epsilon, ends in reversed(self.known[1:]):
            low, high = power_of_e(epsilon)
            least, most = (1 - (1 - Fraction(end)) / power for end, power in ((ends.lower, low), (ends.upper, high)))
            found.append(((1 / low, least), most, 1 / high))
        for epsilon, ends in self.known:
            low, high = power_of_e(epsilon)
            found.append(((low, Fraction(ends.lower)), Fraction(ends.upper), high))
        return found

    @cached_property
    def _vertices(self) -> list[tuple[Fraction, Fraction]]:
        """Corners of a polygon that D is nowhere below: the chord of two points is so beyond them, as D is convex."""
        points, found = self._points, list[tuple[Fraction, Fraction]]()
        for place, (start, *_) in enumerate(points):
            lines: list[_Line] = [(Fraction(0), Fraction(0)), (Fraction(1), Fraction(-1))]
            lines += [_through(start, other) for other in points[max(place - 1, 0) : place]]
            end = None
            if place + 1 < len(points):
                end, height = points[place + 1][0]
                lines += [(height, Fraction(0))]
                lines += [_through((end, height), other) for other in points[place + 2 : place + 3]]
            found += _corners(lines, start[0], end)
        return found


def _through(point: tuple[Fraction, Fraction], other: tuple[tuple[Fraction, Fraction], Fraction, Fraction]) -> _Line:
    """Return the line through what D is at least at one place and at most at another."""
    slope = (other[1] - point[1]) / (other[2] - point[0])
    return point[1] - slope * point[0], slope


def _corners(lines: Sequence[_Line], start: Fraction, end: Fraction | None) -> list[tuple[Fraction, Fraction]]:
    """Return the corners of the largest of some lines between two places, or from one on."""
    places = {start} | ({end} if end is not None else set())
    for (height, slope), (other_height, other_slope) in itertools.combinations(lines, 2):
        if slope != other_slope:
            place = (other_height - height) / (slope - other_slope)
            if start < place and (end is None or place < end) and height + slope * place == _largest(lines, place):
                places.add(place)
    return [(place, _largest(lines, place)) for place in places]


def _largest(lines: Sequence[_Line], place: Fraction) -> Fraction:
    return max(height + slope * place for height, slope in lines)


def _apart(known: dict[float, Interval]) -> list[tuple[float, Interval]]:
    """Return what is known, in order, without what is too close to what stands before it."""
    found: list[tuple[float, Interval]] = []
    for epsilon, ends in sorted(known.items()):
        if not found or not _near(epsilon, found[-1][0]):
            found.append((epsilon, ends))
    return found


def _beside(epsilon: float, known: Sequence[float]) -> float | None:
    """Return an epsilon, or if that is known the middle of the wider gap next to it; None where both are narrow."""
    known = [*known, 3.0 * known[-1] - 2.0 * max(known[:-1], default=0.0)]  # and as far behind the last one
    place = min(range(len(known) - 1), key=lambda place: abs(known[place] - epsilon))
    if not _near(epsilon, known[place]):
        return epsilon
    around = itertools.pairwise(known[max(place - 1, 0) : place + 2])
    start, end = max(around, key=lambda gap: gap[1] - gap[0])
    return None if _near(start, 0.5 * (start + end)) else 0.5 * (start + end)


def _near(first: float, second: float) -> bool:
    return abs(first - second) < max(_NEAR * max(first, second), _LEAST_GAP)


def power_of_e(exponent: float) -> tuple[Fraction, Fraction]:
    """Return numbers between which e to a float is, which is at most 700 and at least -700."""
    check_real("exponent", exponent, low=-700.0, high=700.0)
    nearest, off = Fraction(math.exp(exponent)), Fraction(4.0 * UNIT if exponent else 0.0)
    # The exponential function of a platform is within two units in the last place.
    return nearest * (1 - off), nearest * (1 + off)
