"""A family of pairs that is used once: the profiles themselves, without any grid."""

from __future__ import annotations

import math
from collections.abc import Callable

from dpverify.guarantee import Interval
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.search import crossing
from protocols.validation import check_real

__all__ = ["OneInstance"]


class OneInstance:
    """The least of what several covers prove, and the largest of what is attained.

    - covers: Each by itself dominates the family, by the largest of its profiles.
    - attained: Members of the family.
    """

    def __init__(self, covers: list[list[PrivacyLossDistribution]], attained: list[PrivacyLossDistribution]) -> None:
        self._covers, self._attained = covers, attained
        self._largest = max(pair.largest_loss + pair.loss_error for cover in covers for pair in cover)

    def delta_upper(self, epsilon: float) -> float:
        """Return only the upper bound of `delta`."""
        return min(max(pair.delta(epsilon).upper for pair in cover) for cover in self._covers)

    def _lower(self, epsilon: float) -> float:
        return max(pair.delta(epsilon).lower for pair in self._attained)

    def delta(self, epsilon: float) -> Interval:
        """Return the largest divergence at an epsilon."""
        return Interval.proved(self._lower(epsilon), self.delta_upper(epsilon))

    def epsilon(self, delta: float) -> Interval:
        """Return the smallest epsilon at which it is at most delta."""
        upper = self.epsilon_upper(delta)
        if max(pair.infinite_mass * (1.0 - pair.relative_error) for pair in self._attained) > delta:
            return Interval(math.inf, math.inf)
        return Interval.proved(self._crossing(delta, min(upper, self._largest), self._lower, above=False), upper)

    def epsilon_upper(self, delta: float) -> float:
        """Return only the upper bound of `epsilon`."""
        check_real("delta", delta, low=0.0, high=1.0, low_open=True, high_open=True)
        if min(max(pair.unbounded_mass for pair in cover) for cover in self._covers) > delta:
            return math.inf
        return self._crossing(delta, 0.5 * self._largest, self.delta_upper, above=True)

    def _crossing(self, delta: float, guess: float, profile: Callable[[float], float], *, above: bool) -> float:
        scale = 1e-9 * max(self._largest, 1e-9)
        return crossing(
            profile, delta, guess, slope=lambda _: 8.0 / max(self._largest, scale), above=above, scale=scale
        )
