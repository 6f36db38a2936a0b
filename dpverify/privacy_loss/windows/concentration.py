"""Bounds on many instances from the moments of the losses alone: no grid, so the same cost at any number of instances.

Where there are so many that the rounding of phases, or of what a grid's losses are off by, outgrows the deviation of
the total, these still bound it from both sides; and where an answer need not be sharp they are quick.

- **Chernoff, upward.** `(1 - e^-x)+ <= c(t) e^(t x)` for every t > 0, with `c(t) = t^t / (1+t)^(1+t)` (the largest of
  `(1 - e^-x) e^(-t x)`). So on outcomes of finite loss `H_eps <= c(t) e^(K(t) - t eps)`, K the sum of the logarithms of
  the moment generating functions. Every mix has `K <= instances max_j K_j`.
- **Basic composition, upward.** The total is at most instances times the largest loss.
- **Cantelli, downward.** `H_eps >= (1 - e^-c) P(L >= eps + c)`, at c = ln 2, and `P(L >= m - s v) >= s^2 / (1 + s^2)`.

Infinite and missing mass adds `1 - (1 - mass)^instances` upward; downward only listed outcomes count.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpverify.guarantee import Interval
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.windows.saddle import total_loss
from dpverify.rounding import UNIT, summation_error

__all__ = ["Concentration"]

_LN2 = math.log(2.0)


class Concentration:
    """Bounds on the composition of `instances` mechanisms, each of which may meet any pair of a family.

    - every: Every pair that an instance may present.
    - attained: Pairs that a dataset attains in every instance at once.
    - instances: How many.
    """

    def __init__(
        self,
        every: Sequence[PrivacyLossDistribution],
        attained: Sequence[PrivacyLossDistribution],
        instances: int,
    ) -> None:
        self._every = [pair for pair in every if pair.losses.size]
        self._attained = attained
        # Where to look for a good tilt: any tilt gives a bound.
        self._candidates = [pair for pair in attained if pair.losses.size]
        self._instances = instances
        unbounded = max(pair.unbounded_mass for pair in every)
        self.unbounded = _in_all(unbounded, instances) * (1.0 + 8.0 * UNIT)
        """Upper bound on the P-mass of infinite or unknown loss in all."""
        self.infinite = max(
            _in_all(pair.infinite_mass * (1.0 - pair.relative_error), instances) for pair in attained
        ) * (1.0 - 8.0 * UNIT)
        """Lower bound on the P-mass of infinite loss that a dataset attains in all."""
        self.basic = instances * max((pair.losses[-1] + pair.loss_error for pair in self._every), default=0.0)
        self.basic = max(float(self.basic) * (1.0 + 4.0 * UNIT), 0.0)
        """Upper bound on the total of finite losses."""

    def _log_mgf(self, tilt: float) -> float:
        """Return an upper bound on the largest logarithm of a moment generating function, times the instances."""
        worst = -math.inf
        for pair in self._every:
            exponents = tilt * pair.losses + np.log(pair.masses)
            shift = float(exponents.max())
            value = shift + math.log(float(np.sum(np.exp(exponents - shift))))
            lost = -math.log1p(-pair.relative_error) if pair.relative_error < 1.0 else math.inf
            error = tilt * pair.loss_error + lost + summation_error(exponents.size)
            error += UNIT * (16.0 + 8.0 * float(np.abs(exponents).max()) + 4.0 * tilt * pair.largest_loss)
            worst = max(worst, value + error)
        return self._instances * worst * (1.0 + math.copysign(4.0 * UNIT, worst))

    @staticmethod
    def _log_factor(tilt: float) -> float:
        """Return ln c(t), rounded up."""
        return (
            tilt * math.log(tilt) - (1.0 + tilt) * math.log1p(tilt) + 16.0 * UNIT * (1.0 + tilt * abs(math.log(tilt)))
        )

    def epsilon(self, delta: float) -> Interval:
        """Return the smallest epsilon >= 0 at which every mix's divergence is at most delta."""
        if self.infinite > delta:
            return Interval(math.inf, math.inf)
        lower = max((self._cantelli(pair, delta) for pair in self._attained), default=0.0)
        return Interval.proved(lower, self._chernoff(delta))

    def delta(self, epsilon: float) -> Interval:
        """Return the largest divergence of a mix at a real epsilon."""
        return Interval.proved(self.infinite, self._divergence(epsilon) if epsilon >= 0.0 else 1.0)

    def _chernoff(self, delta: float) -> float:
        left = delta - self.unbounded
        if left < 0.0 or not self._every:
            return math.inf if left < 0.0 else 0.0
        best = self.basic
        left *= 1.0 - 4.0 * UNIT
        if left > 0.0:
            for tilt in {total_loss([(pair, self._instances)]).saddle_point(delta)[1] for pair in self._candidates}:
                for near in (tilt, 1.1 * tilt):
                    if near > 0.0:
                        total = self._log_mgf(near) + self._log_factor(near) - math.log(left)
                        best = min(best, total / near + 8.0 * UNIT * (abs(total) - math.log(left)) / near)
        return max(best, 0.0)

    def _divergence(self, epsilon: float) -> float:
        """Return an upper bound on every mix's divergence at an epsilon >= 0."""
        if epsilon >= self.basic:
            return min(self.unbounded, 1.0)
        best = 1.0
        for pair in self._candidates:
            tilt = total_loss([(pair, self._instances)]).tilt_at(epsilon)
            if tilt > 0.0:
                parts = self._log_mgf(tilt), tilt * epsilon
                exponent = parts[0] - parts[1] + self._log_factor(tilt) + 8.0 * UNIT * (abs(parts[0]) + parts[1])
                best = min(best, math.exp(min(exponent, 0.0)) * (1.0 + 8.0 * UNIT))
        return min(best + self.unbounded, 1.0)

    def _cantelli(self, pair: PrivacyLossDistribution, delta: float) -> float:
        relative = pair.relative_error + summation_error(pair.losses.size)
        # What is not listed is known to far more digits than what is.
        lost = min(max(1.0 - float(np.sum(pair.masses)) * (1.0 - 2.0 * relative), 0.0), pair.unbounded_mass)
        all_listed = math.exp(self._instances * math.log1p(-lost) * (1.0 + 8.0 * UNIT)) if lost < 1.0 else 0.0
        share = 2.0 * delta * (1.0 + 1e-9) / all_listed if all_listed > 0.0 else 1.0
        if share >= 1.0 or relative > 0.1 or pair.losses.size == 0:
            return 0.0
        # Shares of the listed outcomes, whose sum is exactly 1 up to rounding.
        shares = pair.masses / float(np.sum(pair.masses))
        mean, size = float(np.sum(shares * pair.losses)), float(np.sum(shares * np.abs(pair.losses)))
        error = pair.loss_error + (4.0 * relative + 8.0 * UNIT) * size
        deviation = math.sqrt(float(np.sum(shares * (pair.losses - mean) ** 2))) * (1.0 + 4.0 * relative + 16.0 * UNIT)
        deviation += error
        spread = math.sqrt(share / (1.0 - share) * self._instances) * deviation
        return max((self._instances * (mean - error) - spread - _LN2) * (1.0 - 8.0 * UNIT), 0.0)


def _in_all(mass: float, instances: int) -> float:
    return -math.expm1(instances * math.log1p(-mass)) if mass < 1.0 else 1.0
