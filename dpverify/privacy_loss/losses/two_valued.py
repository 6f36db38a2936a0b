"""The exact composition of the worst pure mechanism, which has two losses, eps0 and -eps0 (kairouz2015, Theorem 3.3).

The total loss is `(m - 2l) eps0` with l, the number of lies, binomial: the divergence is a difference of two binomial
tails, here as Arb balls. It bounds the composition of every mechanism of which only eps0 is known, and it is the truth
for randomized response without a shuffler and for discrete Laplace noise.
"""

from __future__ import annotations

import math
from fractions import Fraction

import flint

from dpverify.formulas.contexts import arb_context, lower_float, upper_float
from dpverify.guarantee import CapacityError, Interval
from dpverify.search import largest_integer
from protocols.validation import check_integer, check_real

__all__ = ["TwoValuedCurve", "composed_delta", "composed_epsilon"]

_BITS, _GUARD = 192, 64
"""Of all balls, behind what a small eps0 cancels; a binomial tail is cut, relative to the part that was summed, so many
bits before: the cut enters the ball."""
_MOST_TERMS = 2e5
"""How many terms of a binomial tail are added up at most: a second's work over all tails that an answer takes."""


def _bits(epsilon0: float) -> int:
    """Return the working precision: both sides' tails differ by no more than about eps0, relatively."""
    return _BITS + max(0, -math.frexp(epsilon0)[1])


def _lower_tail(trials: int, most: int, odds: flint.arb) -> flint.arb:
    """Return P(Bin(trials, odds / (1 + odds)) <= most) as a ball."""
    if most < 0:
        return flint.arb(0)
    if most > trials * float(odds / (1 + odds)):
        return flint.arb(1) - _lower_tail(trials, trials - most - 1, 1 / odds)
    log_choose = flint.arb(trials + 1).lgamma() - flint.arb(most + 1).lgamma() - flint.arb(trials - most + 1).lgamma()
    term: flint.arb = (log_choose + most * odds.log() - trials * odds.log1p()).exp()
    total = term
    inverse, cut = 1 / odds, flint.arb(2) ** (_GUARD - flint.ctx.prec)
    for successes in range(most, 0, -1):
        ratio = inverse * successes / (trials - successes + 1)
        term *= ratio
        total += term
        # Below the mean the ratios fall with `successes`, so that a geometric series bounds all that is left.
        if successes % 32 == 0 and term * ratio < total * cut * (1 - ratio):
            return total + (term * ratio / (1 - ratio)).union(0)
    return total


def _tails(epsilon0: float, mechanisms: int, most: int) -> tuple[flint.arb, flint.arb]:
    """Return the masses, under the two sides of m-fold randomized response, of at most `most` lies."""
    # A tail that starts next to its mean is summed over d standard deviations where e^(-d^2/2) is cut: 13 for 2^-128.
    deviations = math.sqrt(2.0 * math.log(2.0) * (_bits(epsilon0) - _GUARD))
    spread = math.sqrt(mechanisms) / (1.0 + math.exp(min(epsilon0, 700.0) / 2.0))
    if min(deviations * 2.0 * spread, most) > _MOST_TERMS:
        raise CapacityError(
            f"{mechanisms} mechanisms at epsilon0={epsilon0:.4g} are too many to add up their binomial tails."
        )
    odds = flint.arb(epsilon0).exp()
    return _lower_tail(mechanisms, most, 1 / odds), _lower_tail(mechanisms, most, odds)


def composed_delta(epsilon0: float, mechanisms: int, epsilon: Fraction) -> flint.arb:
    """Return the divergence of m-fold eps0-randomized response at an exact epsilon >= 0, as a ball.

    `formulas.composition.optimal_slack` from two binomial tails instead of a sum over all terms.
    """
    # The terms with a positive part are those of (m - 2l) epsilon0 > epsilon, decided in exact arithmetic.
    most = math.ceil((mechanisms - epsilon / Fraction(epsilon0)) / 2) - 1
    if most < 0:
        return flint.arb(0)
    with arb_context(_bits(epsilon0)) as ctx:
        first, second = _tails(epsilon0, mechanisms, most)
        return flint.arb(first - ctx.exp(epsilon) * second)


def composed_epsilon(epsilon0: float, mechanisms: int, delta: float) -> flint.arb:
    """Return the epsilon at which that divergence falls to `delta`, from above."""

    def kink(lies: int) -> Fraction:
        return max((mechanisms - 2 * lies) * Fraction(epsilon0), Fraction(0))

    def enough(lies: int) -> bool:
        return bool(composed_delta(epsilon0, mechanisms, kink(lies)) <= delta)

    # At the kink of 0 lies the divergence is 0. The guess is the normal limit.
    mean, deviation = mechanisms / (1 + math.exp(min(epsilon0, 700.0))), math.sqrt(mechanisms) / 2
    quantile = math.sqrt(-2 * math.log(delta)) if delta > 0 else mechanisms
    lies = largest_integer(enough, int(mean - quantile * deviation), 0, mechanisms // 2 + 1)
    with arb_context(_bits(epsilon0)) as ctx:
        right, left = ctx.convert(kink(lies)), ctx.convert(kink(lies + 1))
        # Between two kinks the divergence is A - e^epsilon B.
        first, second = _tails(epsilon0, mechanisms, lies)
        excess = first - flint.arb(delta)
        if excess > 0:
            return flint.arb(right.min(left.max((excess / second).log())))
        return flint.arb(left if excess <= 0 else right)


class TwoValuedCurve:
    """The privacy curve of m instances of a mechanism whose only losses are eps0 and -eps0.

    - loss: Contains eps0 > 0, finite. A larger one dominates a smaller one, so each end serves one bound.
    - instances: m, at least 1.
    """

    def __init__(self, loss: Interval, instances: int) -> None:
        check_real("loss", loss.lower, low=0.0, low_open=True)
        self._loss, self._instances = loss, check_integer("instances", instances, low=1)

    def delta(self, epsilon: float) -> Interval:
        """Return the delta at an epsilon >= 0."""
        at = Fraction(check_real("epsilon", epsilon, low=0.0))
        low, high = (composed_delta(end, self._instances, at) for end in (self._loss.lower, self._loss.upper))
        return Interval.proved(max(0.0, lower_float(low)), min(1.0, max(0.0, upper_float(high))))

    def epsilon(self, delta: float) -> Interval:
        """Return the epsilon at a delta in [0, 1)."""
        check_real("delta", delta, low=0.0, high=1.0, high_open=True)
        upper = upper_float(composed_epsilon(self._loss.upper, self._instances, delta))
        lower, margin = upper, 1e-15 + 4.0 * self._loss.width / self._loss.lower
        # Only an epsilon whose divergence is certainly above delta is below the truth.
        while lower > 0.0 and self.delta(lower).lower <= delta:
            lower, margin = max(upper * (1.0 - margin), 0.0), 8.0 * margin
        return Interval.proved(lower, upper)
