"""The best of several bounds on one privacy curve, and the bound that needs the largest loss alone.

`family.FamilyComposition` counts what its laws leave out as an infinite loss, so it has no answer for a delta below
that, and it may refuse for lack of memory. Where losses are bounded the largest one answers there.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from dpverify.changes import Change, Full
from dpverify.guarantee import CapacityError, Interval, PrivacyCurve, enclosing_floats
from dpverify.privacy_loss.joint.joint_loss import largest_joint_loss
from dpverify.rounding import UNIT
from protocols.validation import check_real

__all__ = [
    "BestCurve",
    "BetweenCurves",
    "InfiniteLossCurve",
    "LargestLossCurve",
    "NearCurve",
    "WorstCurve",
    "times",
    "total",
]

_LARGEST = 700.0
_FURTHER = (1e-6, 1e-3, 0.03, 0.3, 1.0, 4.0)
"""By which share of itself, and of 1e-3 nats, an epsilon is raised to pay for what it is charged."""


class LargestLossCurve:
    """What is known from the largest loss of one instance alone, over all datasets.

    - loss: The largest privacy loss of one instance's full change, in nats; it may be infinite.
    - change: What one user's replacement changes.
    """

    def __init__(self, loss: Interval, change: Change) -> None:
        if isinstance(change, Full):
            self._largest = times(change.instances, loss)
        else:
            self._largest = largest_joint_loss(loss, change)

    def delta(self, epsilon: float) -> Interval:
        """Return 0 from the largest loss m on, and at most `(e^m - e^epsilon) / (e^m + 1)` below it.

        Of an event of masses p and q the losses, in both directions, say `q >= e^-m p` and `q >= 1 - e^m (1 - p)`.
        Of what either leaves of `p - e^epsilon q`, the first grows with p and the second falls: it is at most what
        both give where they are equal, `p = e^m / (e^m + 1)`.
        """
        check_real("epsilon", epsilon, low=0.0)
        largest = self._largest.upper
        if epsilon >= largest:
            return Interval(0.0, 0.0)
        # A difference, two of exp's family, a sum and a quotient, each off by two units at most; the last may be tiny.
        bound = -math.expm1(epsilon - largest) / (1.0 + math.exp(-largest)) * (1.0 + 16.0 * UNIT)
        return Interval(0.0, min(1.0, math.nextafter(bound, math.inf)))

    def epsilon(self, delta: float) -> Interval:
        """Return the largest loss m at delta = 0, and at most `ln(e^m - delta (e^m + 1))` elsewhere: see `delta`."""
        check_real("delta", delta, low=0.0, high=1.0, high_open=True)
        if delta == 0.0:
            return self._largest
        largest = self._largest.upper
        # Of x, rounded down, and of its logarithm each is off by a few units of itself.
        x = delta * (1.0 + math.exp(-largest)) * (1.0 - 8.0 * UNIT)
        if x >= 1.0 or largest == math.inf:
            return Interval(0.0, 0.0 if x >= 1.0 else math.inf)
        fallen = math.log1p(-x)
        return Interval(0.0, min(max(largest + fallen + 8.0 * UNIT * (largest - fallen), 0.0), largest))


class InfiniteLossCurve:
    """What is known from the P-mass of infinite loss alone: no law need be listed to see that a budget is out of reach.

    - mass: A lower bound on what a dataset attains in every instance at once, in [0, 1].
    - change: What one user's replacement changes.
    """

    def __init__(self, mass: float, change: Change) -> None:
        check_real("mass", mass, low=0.0, high=1.0)
        copies = change.instances if isinstance(change, Full) else math.floor(change.squared_change)
        whole = -math.expm1(copies * math.log1p(-mass)) if mass < 1.0 else float(copies > 0)
        self._mass = whole if mass == 1.0 else whole * (1.0 - 8.0 * UNIT)

    def delta(self, epsilon: float) -> Interval:
        """Return the mass, a lower bound at every epsilon."""
        check_real("epsilon", epsilon)
        return Interval(self._mass, 1.0)

    def epsilon(self, delta: float) -> Interval:
        """Return inf where the mass exceeds delta, and nothing but [0, inf] elsewhere."""
        check_real("delta", delta, low=0.0, high=1.0, high_open=True)
        return Interval(math.inf if self._mass > delta else 0.0, math.inf)


class BetweenCurves:
    """The curve of what is no less private than one mechanism and no more private than another.

    - least, most: The curves of the less and of the more private one.
    """

    def __init__(self, least: PrivacyCurve, most: PrivacyCurve) -> None:
        self._least, self._most = least, most

    @property
    def refusals(self) -> tuple[str, ...]:
        """Why curves were left out of the last answer."""
        found = (curve.refusals for curve in (self._least, self._most) if isinstance(curve, BestCurve))
        return tuple(dict.fromkeys(reason for reasons in found for reason in reasons))

    def delta(self, epsilon: float) -> Interval:
        """Return the delta at an epsilon."""
        return Interval.proved(self._most.delta(epsilon).lower, self._least.delta(epsilon).upper)

    def epsilon(self, delta: float) -> Interval:
        """Return the epsilon at a delta."""
        return Interval.proved(self._most.epsilon(delta).lower, self._least.epsilon(delta).upper)


class NearCurve:
    """The curve of views that are near those of another mechanism, in total variation.

    With `|R - I| <= d` for the views R of every dataset, an event has `P(R) - e^eps P(R') <= P(I) - e^eps P(I') +
    (1 + e^eps) d`: so much is charged to delta, upwards and downwards.

    - curve: Of the other mechanism, that of the views I.
    - above: The largest distance, over all datasets, in [0, 1].
    - below: The same for what is known to be attained, for the lower ends.
    """

    def __init__(self, curve: PrivacyCurve, above: float, below: float = 0.0) -> None:
        self._curve = curve
        self._above, self._below = (check_real(name, d, low=0.0) for name, d in (("above", above), ("below", below)))

    def delta(self, epsilon: float) -> Interval:
        """Return the delta at an epsilon."""
        found = self._curve.delta(epsilon)
        lower = found.lower - self._charge(epsilon, self._below)
        return Interval(
            max(0.0, lower * (1.0 - 2.0 * UNIT)),
            min(1.0, (found.upper + self._charge(epsilon, self._above)) * (1.0 + 2.0 * UNIT)),
        )

    def epsilon(self, delta: float) -> Interval:
        """Return the epsilon at a delta.

        An upper end E holds if the other curve is at most E at what E's charge leaves of delta: at smaller ones less is
        charged. A few are tried, in ascending order.
        """
        found = self._curve.epsilon(delta)
        lower = found.lower
        if self._below > 0.0 and lower > 0.0:
            # The other way round: below this one no more is charged.
            most = (delta + self._charge(lower, self._below)) * (1.0 + 4.0 * UNIT)
            lower = min(lower, self._curve.epsilon(most).lower) if most < 1.0 else 0.0
        if self._above == 0.0 or found.upper == math.inf:
            return Interval(lower, found.upper)
        for further in _FURTHER:
            end = found.upper * (1.0 + further) + 1e-3 * further
            left = (delta - self._charge(end, self._above)) * (1.0 - 4.0 * UNIT)
            if left > 0.0 and (upper := self._curve.epsilon(left).upper) <= end:
                return Interval.proved(lower, upper)
        return Interval(lower, math.inf)

    @staticmethod
    def _charge(epsilon: float, distance: float) -> float:
        if distance == 0.0:
            return 0.0
        # Beyond the floats any distance is charged all there is.
        return distance * (1.0 + math.exp(epsilon)) * (1.0 + 8.0 * UNIT) if epsilon <= _LARGEST else math.inf


class WorstCurve:
    """The curve of whichever of several mechanisms is the least private, which may depend on where it is asked.

    - curves: At least one.
    """

    def __init__(self, curves: Sequence[PrivacyCurve]) -> None:
        self._curves = curves

    def delta(self, epsilon: float) -> Interval:
        """Return the delta at an epsilon."""
        return _largest_of([curve.delta(epsilon) for curve in self._curves])

    def epsilon(self, delta: float) -> Interval:
        """Return the epsilon at a delta."""
        return _largest_of([curve.epsilon(delta) for curve in self._curves])


def _largest_of(found: Sequence[Interval]) -> Interval:
    return Interval(max(each.lower for each in found), max(each.upper for each in found))


class BestCurve:
    """The least upper and the largest lower bound of several curves of the same composition.

    - largest: It alone is asked at delta = 0.
    - *curves: Each returns a curve, quickest first; made when needed. One that refuses, by raising CapacityError, is
      left out.
    - relative_width: An interval no wider than this is good enough: the curves that are left are not asked.
    """

    def __init__(
        self, largest: LargestLossCurve, *curves: Callable[[], PrivacyCurve], relative_width: float = 0.0
    ) -> None:
        self._largest, self._curves = largest, [functools.cache(curve) for curve in curves]
        self._relative_width = relative_width
        self.refusals: tuple[str, ...] = ()
        """Why curves were left out of the last answer."""

    def or_else(self, curve: Callable[[], PrivacyCurve]) -> BestCurve:
        """Return the best of these curves and another one, which is asked last."""
        return BestCurve(self._largest, *self._curves, curve, relative_width=self._relative_width)

    def delta(self, epsilon: float) -> Interval:
        """Return the delta at an epsilon."""
        return self._best(self._largest.delta(epsilon), lambda curve: curve.delta(epsilon), 1.0)

    def epsilon(self, delta: float) -> Interval:
        """Return the epsilon at a delta."""
        first = self._largest.epsilon(delta)
        return first if delta == 0.0 else self._best(first, lambda curve: curve.epsilon(delta), math.inf)

    def _best(self, first: Interval, ask: Callable[[PrivacyCurve], Interval], nothing: float) -> Interval:
        """Return the intersection of the answers: an empty one would prove a bug."""
        lower, upper = first.lower, first.upper
        refusals: list[CapacityError] = []
        for curve in self._curves:
            if lower == upper or upper - lower <= self._relative_width * upper < math.inf:
                break
            try:
                found = ask(curve())
            except CapacityError as error:
                refusals.append(error)
                continue
            lower, upper = max(lower, found.lower), min(upper, found.upper)
        if refusals and upper == nothing:
            raise refusals[0]
        self.refusals = tuple(error.reason for error in refusals)
        return Interval.proved(lower, upper)


def times(instances: int, loss: Interval) -> Interval:
    """Return k times the largest loss: the largest of k instances."""
    if instances == 1:
        return loss
    return total([(instances, loss)])


def total(losses: Sequence[tuple[int, Interval]]) -> Interval:
    """Return the sum of so many times each loss, none negative: exactly, and then the floats around it."""
    ends = []
    for side in ("lower", "upper"):
        known = [(count, float(getattr(loss, side))) for count, loss in losses if count]
        if any(loss == math.inf for _, loss in known):
            ends.append((math.inf, math.inf))
        else:
            ends.append(enclosing_floats(sum((count * Fraction(loss) for count, loss in known), Fraction(0))))
    return Interval.proved(ends[0][0], ends[1][1])
