"""One report among the reports of others that come from a law of their own: the exact divergence, at any number.

The other n - 1 users report j with probability `others[j]`, and with what is left something that is seen apart from
the rest; the user herself reports j with probability `first[j]`, or `second[j]` for the neighbour. The view is how
often each j was reported. If S reports were, each is hers with equal chance: the likelihood against S reports of the
others' law is the mean of `first[j] / others[j]` over them. As `P(m of n-1) / (m+1) = P(m+1 of n) / (n sum(others))`,

    H_eps = E[(Z_1 + ... + Z_n)+] / n,  Z = (first[j] - e^eps second[j]) / others[j] with probability others[j], else 0,

over n independent copies (balle2019, Lemma 5.3, for any law of the others). What she reports with a probability that
the others do not have is seen to be hers, and is added.

Two simpler bounds stand beside it, as where the expectation is out of reach. The view is post-processing of her report
and of the others', so that `H_eps <= sum (first - e^eps second)+`. That any report of a set T was made has at least the
probability `first(T)` under the one law, and at most `second(T) + (n - 1) others(T)` under the other:

    H_eps >= sum (first[j] - e^eps (second[j] + (n - 1) others[j]))+.

For n = 1 they agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import field, replace
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from dpverify.guarantee import CapacityError, Interval
from dpverify.privacy_loss.shuffling.excess import Variable, expected_excess
from dpverify.privacy_loss.shuffling.gridded_excess import gridded_excess
from dpverify.rounding import SUBNORMAL, UNIT
from dpverify.search import bisected, crossing
from protocols.classes.frozen import dataclass
from protocols.validation import check_integer, check_real

__all__ = ["HiddenReport"]

Floats = NDArray[np.float64]

_MOST_USERS = 2**52
_FARTHEST = 100.0
_FAR = 36.0
"""In deviations of the loss: beyond, a normal one leaves less than 1e-280."""
_MANY, _WIDE, _LITTLE = 16, 0.02, 1e-280
"""An expectation over so many reports is bounded on a grid, too, if it is so wide and not next to nothing.

Fewer have ratios that are nearly as large as the largest: then little is to be gained.
"""
_LARGEST = 700.0
_SHARE = 1e-3
"""Of delta: less than this is no guide to how far the crossing is."""
_ROOT2 = math.sqrt(2.0)


@dataclass(frozen=True, eq=False)
class HiddenReport:
    """A report of one of two laws, among those of the other users.

    - users: n, the user herself included; at most 2^52.
    - others (ndarray of float64, shape (reports,)): The probability of each report of another user, positive; it may
      add up to less than 1.
    - first, second (ndarray of float64, shape (reports,)): The probability of each of her reports, given the one input
      and the other.
    - missing: Bound on the probability that she reports anything else, given either input: it counts as seen in upper
      bounds.
    - replaced: Bound on the distance of the views from those described: upper bounds on delta get `(1 + e^epsilon)`
      times it.
    - seen: The probability of reports that nobody else makes, where the first law exceeds the second to any extent (the
      second has none): it is added to both bounds.
    - complete: Whether the others' probabilities add up to 1 but for rounding.
    - error: Bound on the relative error of every probability.
    - smoothing: As in `expected_excess`.
    """

    users: int
    others: Floats
    first: Floats
    second: Floats
    missing: float = 0.0
    seen: float = 0.0
    complete: bool = False
    error: float = field(default=4.0 * UNIT, kw_only=True)
    replaced: float = field(default=0.0, kw_only=True)
    smoothing: float = field(default=3e-4, kw_only=True)

    def __post_init__(self) -> None:
        if check_integer("users", self.users, low=1) > _MOST_USERS:
            raise CapacityError(
                f"users={self.users} must be at most 2^52, the reports that are hidden among each other."
            )
        check_real("missing", self.missing, low=0.0)
        shape = self.others.shape
        if len(shape) != 1 or self.first.shape != shape or self.second.shape != shape:
            raise ValueError(
                f"others, first and second have shapes {shape}, {self.first.shape} and {self.second.shape}, but must "
                "all be (reports,)."
            )
        if not (self.others > 0.0).all() or not (np.minimum(self.first, self.second) >= 0.0).all():
            raise ValueError("others must hold positive probabilities, and first and second non-negative ones.")
        for name, most in (("others", self.others), ("first", self.first), ("second", self.second)):
            if not float(most.sum()) <= 1.0 + 1e-9:
                raise ValueError(f"{name} adds up to {float(most.sum())!r}, but must to at most 1.")

    def reversed(self) -> HiddenReport:
        """Return the other direction: the two inputs exchanged."""
        return replace(self, first=self.second, second=self.first)

    @property
    def index(self) -> float:
        """The shuffle index of this law of the others: to first order, epsilon is that of a normal law with this mean.

        The inverse of the root of `sum (first - second)^2 / others`: over n users the loss is about normal with the
        standard deviation `1 / (index sqrt(n))` (takagi2026).
        """
        return 1.0 / math.sqrt(self._spread) if self._spread > 0.0 else math.inf

    @cached_property
    def _spread(self) -> float:
        return float(np.sum((self.first - self.second) ** 2 / self.others))

    @cached_property
    def _answers(self) -> dict[float, Interval]:
        return {}

    def delta(self, epsilon: float) -> Interval:
        """Return the divergence `H_eps` of the first law's view from the second's, epsilon >= 0."""
        check_real("epsilon", epsilon, low=0.0)
        if epsilon not in self._answers:
            self._answers[epsilon] = self._delta(epsilon)
        return self._answers[epsilon]

    def _delta(self, epsilon: float) -> Interval:
        if epsilon > _LARGEST:
            return Interval(0.0, 1.0)
        power = math.exp(epsilon)
        beyond = self.missing + self.seen * (1.0 + self.error) + (1.0 + power) * self.replaced
        below = self.seen * (1.0 - self.error)
        found = self._told(power)
        if self.users > 1 and found.upper > 0.0:
            hidden = self._hidden(power, found)
            upper, far = min(found.upper, hidden.upper), _FAR * math.sqrt(self._spread / self.users)
            if hidden.upper >= found.upper and 0.0 < far < epsilon:
                # Out of reach, as next to nothing is left: what is left before is no less, and may be in reach.
                upper = min(upper, self._hidden(math.exp(far), self._told(math.exp(far))).upper)
            found = Interval.proved(max(found.lower, hidden.lower), upper)
        lower = (found.lower + below) * (1.0 - 4.0 * UNIT)
        upper = (found.upper + beyond) * (1.0 + 8.0 * UNIT) + SUBNORMAL
        return Interval.proved(min(lower, 1.0), min(upper, 1.0))

    def _told(self, power: float) -> Interval:
        """Return the two simple bounds: for a report that is known to be hers, and for reports in a set."""
        unit = 2.0 * self.error + 8.0 * UNIT
        with np.errstate(over="ignore"):
            gain, off = self.first - power * self.second, unit * (self.first + power * self.second)
            crowd = power * (self.users - 1.0) * self.others * (1.0 + unit)
            least = float(np.sum(np.maximum(gain - off - crowd, 0.0))) * (1.0 - 1e-12)
        most = float(np.sum(np.where(gain + off > 0.0, np.maximum(gain, 0.0) + off, 0.0))) * (1.0 + 1e-12)
        return Interval(least, max(least, most))

    def _hidden(self, power: float, known: Interval) -> Interval:
        """Return the expectation over n: from 0 to 1 where it is out of reach. What is known needs no grid."""
        try:
            with np.errstate(over="raise", invalid="raise", divide="raise"):
                values = (self.first - power * self.second) / self.others
                off = (2.0 * self.error + 8.0 * UNIT) * (self.first + power * self.second) / self.others
                variable = Variable(self.others, values, self.error, off, self.complete)
                try:
                    found = expected_excess(variable, self.users, smoothing=self.smoothing)
                except CapacityError:
                    found = Interval(0.0, math.inf)
                most = min(found.upper, self.users * known.upper)
                least = max(found.lower, self.users * known.lower, _LITTLE)
                if variable.values.size > _MANY and most > least / (1.0 - _WIDE):
                    found = Interval.proved(found.lower, min(found.upper, gridded_excess(variable, self.users)))
        except ArithmeticError:
            return Interval(0.0, 1.0)
        return Interval.proved(found.lower / self.users * (1.0 - 2.0 * UNIT), found.upper / self.users)

    def epsilon(self, delta: float) -> Interval:
        """Return the least epsilon >= 0 at which the divergence is at most delta, in (0, 1)."""
        upper = self.epsilon_upper(delta)
        return Interval.proved(self.epsilon_lower(delta, guess=upper if upper < math.inf else None), upper)

    def epsilon_upper(self, delta: float) -> float:
        """Return an upper bound on it; inf if there is none."""
        return self._crossing(delta, lambda epsilon: self.delta(epsilon).upper, None, above=True)

    def epsilon_lower(self, delta: float, *, guess: float | None = None) -> float:
        """Return a lower bound on it."""
        return self._crossing(delta, lambda epsilon: self.delta(epsilon).lower, guess, above=False)

    def _crossing(self, delta: float, profile: Callable[[float], float], guess: float | None, *, above: bool) -> float:
        check_real("delta", delta, low=0.0, high=1.0, low_open=True, high_open=True)
        if above and self.missing + self.seen * (1.0 - self.error) + 2.0 * self.replaced >= delta:
            return math.inf
        deviation = math.sqrt(self._spread / self.users)
        if deviation == 0.0:
            # Equal laws, but for what only one of them reports.
            return 0.0 if not above or profile(0.0) <= delta else math.inf
        if guess is None:
            excess = bisected(lambda epsilon: _normal(deviation, epsilon) <= delta, 0.0, _FARTHEST, relative=1e-6)
            guess = excess[1]
        if self.seen == self.replaced == 0.0 and self._told(1.0).upper > delta:
            edge = bisected(lambda point: self._told(math.exp(point)).upper == 0.0, 0.0, _LARGEST, relative=1e-15)[1]
            if guess > edge:
                # A normal law is no guide to few users.
                return self._crossing_near(edge, delta, profile, above=above)

        def slope(epsilon: float) -> float:
            # -d ln H / d eps of a normal loss; nothing is lost if it underflows.
            tail = 0.5 * math.exp(min(epsilon, _FARTHEST)) * math.erfc((epsilon / deviation + deviation / 2) / _ROOT2)
            return max(tail / max(_normal(deviation, epsilon), 1e-300), 1.0)

        return crossing(profile, delta, guess, slope=slope, above=above, scale=1e-3 * min(deviation, 1.0))

    def _crossing_near(self, edge: float, delta: float, profile: Callable[[float], float], *, above: bool) -> float:
        """Return the crossing where what one report tells, not the crowd, decides: next to the largest loss, as a rule.

        There the divergence is about a share of what the report tells if it is known to be hers, which falls to 0 at
        `edge`, and that share hardly moves. So the search is for the logarithm of that.
        """
        most = self._told(1.0).upper

        @cache
        def epsilon(fallen: float) -> float:
            level = most * math.exp(-fallen)
            return bisected(lambda point: self._told(math.exp(point)).upper <= level, 0.0, edge, relative=1e-15)[1]

        guess, least = math.log(most / delta), _SHARE * delta
        found = crossing(
            lambda fallen: max(profile(epsilon(fallen)), least),
            delta,
            guess,
            slope=lambda _: 1.0,
            above=above,
            scale=1.0,
            relative=1e-8,
        )
        return epsilon(found) if 0.0 < found < math.inf else found


def _normal(deviation: float, epsilon: float) -> float:
    """Estimate the divergence of a normal privacy loss of this standard deviation."""
    first, second = (math.erfc((epsilon / deviation + side * deviation / 2) / _ROOT2) for side in (-1.0, 1.0))
    return 0.5 * (first - math.exp(min(epsilon, _FARTHEST)) * second)
