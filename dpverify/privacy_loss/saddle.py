"""The moment generating function of a sum of independent losses, and the tilts at which to look at it.

Nothing here is proved: tilts decide where the engine computes and which candidate a search tries, not what is claimed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["LossMoments", "Moments", "TotalLoss"]

Moments = tuple[float, float, float]
"""The logarithm of a moment generating function, and its first two derivatives."""

_NEAR = 1e-2
"""Relative width to which tilts are solved: a hundredth of the tilted law's deviation, for the tilts that occur."""
_BITS = 8
"""Tilts have this many binary digits, so that compositions of the same grids meet at the same tilts."""


class LossMoments:
    """The moment generating function of one loss; what was computed at a tilt is kept.

    Parameters
    ----------
    losses : ndarray of float64, shape (atoms,)
        In nats.
    log_masses : ndarray of float64, shape (atoms,)
        The logarithms of their P-masses.
    """

    def __init__(self, losses: NDArray[np.float64], log_masses: NDArray[np.float64]) -> None:
        self.losses = losses
        self.log_masses = log_masses
        self._known: dict[float, Moments] = {}

    def at(self, tilt: float) -> Moments:
        """Return the logarithm of the moment generating function at a tilt, and two derivatives."""
        if tilt not in self._known:
            weights = tilt * self.losses
            weights += self.log_masses
            shift = float(weights.max())
            weights -= shift
            np.exp(weights, out=weights)
            total = float(weights.sum())
            weights *= self.losses
            mean = float(weights.sum()) / total
            weights *= self.losses
            variance = max(float(weights.sum()) / total - mean * mean, 0.0)
            self._known[tilt] = shift + math.log(total), mean, variance
        return self._known[tilt]


class TotalLoss:
    """The total of independent losses, each taken a number of times.

    Parameters
    ----------
    parts : sequence of (LossMoments, int)
        The losses, and how often each occurs.
    resolution : float
        The smallest difference of losses that matters: no tilt above one per `resolution` is tried.
    """

    def __init__(self, parts: Sequence[tuple[LossMoments, int]], resolution: float) -> None:
        self._parts = tuple(parts)
        self._resolution = resolution

    def moments(self, tilt: float) -> Moments:
        """Return the logarithm of the moment generating function of the total loss at a tilt, and two derivatives."""
        log_mgf = mean = variance = 0.0
        for part, count in self._parts:
            one = part.at(tilt)
            log_mgf, mean, variance = log_mgf + count * one[0], mean + count * one[1], variance + count * one[2]
        return log_mgf, mean, variance

    def tilt_at(self, mean: float) -> float:
        """Return the tilt >= 0, approximately, at which the tilted mean reaches a value (0 if it is beyond there)."""
        return self._solve(lambda _, moments: (moments[1] - mean, moments[2]), lambda start: mean - start[1])

    def saddle_point(self, delta: float) -> tuple[float, float, float]:
        """Return estimates of epsilon at delta, of its tilt, and of the total loss's standard deviation there."""
        target = math.log(delta)

        def excess(tilt: float, moments: Moments) -> tuple[float, float]:
            log_mgf, mean, variance = moments
            prefactor = math.log(
                max(tilt, 1e-3) * (1.0 + tilt) * math.sqrt(2.0 * math.pi * max(variance, self._resolution**2))
            )
            return target - (log_mgf - tilt * mean - max(prefactor, 0.0)), tilt * variance

        tilt = self._solve(excess, lambda start: math.sqrt(-2.0 * target * start[2]))
        _, mean, variance = self.moments(tilt)
        return max(mean, 0.0), tilt, math.sqrt(max(variance, 0.0))

    def _solve(
        self, condition: Callable[[float, Moments], tuple[float, float]], gaussian: Callable[[Moments], float]
    ) -> float:
        """Return a tilt >= 0 next to where an increasing condition, given with its slope, crosses zero.

        Safeguarded Newton steps from the tilt at which a normal law with the variance at 0 would cross: `gaussian`
        over that variance.
        """
        start = self.moments(0.0)
        if condition(0.0, start)[0] >= 0.0:
            return 0.0
        steepest = 1.0 / self._resolution
        low, high = 0.0, math.inf
        tilt = gaussian(start) / max(start[2], self._resolution**2)
        tilt = _rounded(min(tilt if tilt > 0.0 else 1.0, steepest))
        for _ in range(100):
            value, slope = condition(tilt, self.moments(tilt))
            low, high = (tilt, high) if value < 0.0 else (low, tilt)
            if low >= steepest:
                break
            proposed = tilt - value / slope if slope > 0.0 else math.inf
            if high == math.inf:
                proposed = min(proposed, 4.0 * tilt, steepest)
            elif not low < proposed < high:
                proposed = 0.5 * (low + high)
            proposed = _rounded(proposed)
            if abs(proposed - tilt) <= _NEAR * tilt:
                break
            tilt = proposed
        return tilt


def _rounded(tilt: float) -> float:
    mantissa, exponent = math.frexp(tilt)
    return math.ldexp(round(mantissa * 2.0**_BITS), exponent - _BITS)
