"""The moment generating function of a sum of independent losses, and the tilts at which to look at it.

Nothing here is proved: tilts decide where the engine computes and which candidate a search tries, not what is claimed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution

__all__ = ["LossMoments", "ManyMoments", "Moments", "TotalLoss", "rounded_tilt", "total_loss"]

Moments = tuple[float, float, float]
"""The logarithm of a moment generating function, and its first two derivatives."""

_FINE, _PLACES = 0.2, np.arange(64.0)
"""The nodes at which a sum of moduli is looked at, in standard deviations' inverses, or in tilts if these are less."""
_APART = 0.3
"""The points of a parabola, in units of one per deviation."""
_NEAR = 0.25
"""How near to the wanted tilt is near enough, in units of one per deviation: the tilted mean is off by this much."""

_LARGEST_EXPONENT = 600.0
"""Of factors that stay within the floats."""


class LossMoments:
    """The moment generating function of one loss; what was computed at a tilt is kept.

    - losses (ndarray of float64, shape (atoms,)): In nats.
    - log_masses (ndarray of float64, shape (atoms,)): The logarithms of their P-masses.
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


class ManyMoments:
    """The moment generating functions of several losses, all at once; what was computed at a tilt is kept.

    - laws: Their losses, in nats, and the logarithms of the P-masses.
    """

    def __init__(self, laws: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]]) -> None:
        most = max(losses.size for losses, _ in laws)
        self._losses, self._log_masses = np.zeros((len(laws), most)), np.full((len(laws), most), -math.inf)
        self._known: dict[float, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
        for row, (losses, log_masses) in enumerate(laws):
            self._losses[row, : losses.size], self._log_masses[row, : losses.size] = losses, log_masses
        self._masses = np.exp(self._log_masses)

    def know(self, tilts: Sequence[float]) -> None:
        """Compute at once what is asked for at tilts each of which is twice the one before."""
        exponents = [
            np.abs(self._losses).max() * tilts[-1],
            -self._log_masses.min(where=self._masses > 0.0, initial=0.0),
        ]
        if tilts[0] in self._known or max(exponents) > _LARGEST_EXPONENT:
            return
        grown = np.exp(tilts[0] * self._losses)
        for place, tilt in enumerate(tilts):
            if place > 0:
                grown *= grown
            weights = self._masses * grown
            totals = weights.sum(axis=1)
            weights *= self._losses
            means = weights.sum(axis=1) / totals
            weights *= self._losses
            self._known[tilt] = np.log(totals), np.maximum(weights.sum(axis=1) / totals - means * means, 0.0)

    def at(self, tilt: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the logarithms of the moment generating functions at a tilt, and their second derivatives."""
        if tilt not in self._known:
            weights = tilt * self._losses
            weights += self._log_masses
            shifts = weights.max(axis=1)
            weights -= shifts[:, None]
            np.exp(weights, out=weights)
            totals = weights.sum(axis=1)
            weights *= self._losses
            means = weights.sum(axis=1) / totals
            weights *= self._losses
            variances = np.maximum(weights.sum(axis=1) / totals - means * means, 0.0)
            self._known[tilt] = shifts + np.log(totals), variances
        return self._known[tilt]


class TotalLoss:
    """The total of independent losses, each taken a number of times.

    - parts: The losses, and how often each occurs.
    - resolution: The smallest difference of losses that matters: no tilt above one per `resolution` is tried.
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
        return self._solve(lambda _, moments: moments[1] - mean, lambda start: mean - start[1])

    def saddle_point(self, delta: float) -> tuple[float, float, float]:
        """Return estimates of epsilon at delta, of its tilt, and of the total loss's standard deviation there."""
        target = math.log(delta)

        def excess(tilt: float, moments: Moments) -> float:
            log_mgf, mean, variance = moments
            deviation = math.sqrt(2.0 * math.pi * max(variance, self._resolution**2))
            prefactor = math.log(max(max(tilt, 1e-3) * (1.0 + tilt) * deviation, 1.0))
            return (target - (log_mgf - tilt * mean - prefactor)) / max(tilt, 1e-3)

        tilt = self._solve(excess, lambda start: math.sqrt(-2.0 * target * start[2]))
        _, mean, variance = self.moments(tilt)
        return max(mean, 0.0), tilt, math.sqrt(max(variance, 0.0))

    def least_sum(self, epsilon: float, tilt: float) -> float:
        """Return about the tilt near a given one, positive, at which a contour's sum of moduli at epsilon is least.

        The vertex of a parabola through three logarithms of that sum, as if the tilted law were normal; twice.
        """

        def log_sum(tilt: float) -> float:
            log_mgf, _, variance = self.moments(tilt)
            square = (_FINE * min(1.0 / math.sqrt(max(variance, self._resolution**2)), tilt) * _PLACES) ** 2
            moduli = np.exp(-0.5 * variance * square) / np.sqrt(((1.0 + tilt) ** 2 + square) * (tilt**2 + square))
            # Where all of it is below the floats one tilt is as good as another.
            return log_mgf - tilt * epsilon + math.log(float(np.sum(moduli)) * math.sqrt(square[1]) or 5e-324)

        apart = _APART / math.sqrt(max(self.moments(tilt)[2], self._resolution**2))
        for _ in range(2 if tilt > 0.0 else 0):
            step = min(apart, 0.25 * tilt)
            below, here, above = (log_sum(tilt + offset) for offset in (-step, 0.0, step))
            curvature = below - 2.0 * here + above
            downwards = math.copysign(2.0, below - above)
            move = 0.5 * (below - above) / curvature if curvature > 0.0 else downwards
            tilt += step * min(max(move, -2.0), 2.0)
        return tilt

    def _solve(self, condition: Callable[[float, Moments], float], gaussian: Callable[[Moments], float]) -> float:
        """Return a tilt >= 0 next to where an increasing condition crosses zero.

        Safeguarded Newton steps, as if the condition grew like the tilted mean, from the tilt at which a normal law
        with the variance at 0 would cross: `gaussian` over that variance. Tilts are multiples of a power of two, so
        that compositions of the same grids in other proportions meet at the same ones.
        """
        start = self.moments(0.0)
        if condition(0.0, start) >= 0.0:
            return 0.0
        steepest = 1.0 / self._resolution
        low, high = 0.0, math.inf
        tilt = gaussian(start) / max(start[2], self._resolution**2)
        tilt = rounded_tilt(min(tilt if tilt > 0.0 else 1.0, steepest), start)
        for _ in range(100):
            moments = self.moments(tilt)
            value, deviation = condition(tilt, moments), math.sqrt(max(moments[2], self._resolution**2))
            low, high = (tilt, high) if value < 0.0 else (low, tilt)
            if low >= steepest or high - low <= 1e-12 * high:
                break
            proposed = tilt - value / deviation / deviation
            if high == math.inf:
                proposed = min(proposed, 4.0 * tilt, steepest)
            elif not low < proposed < high:
                proposed = 0.5 * (low + high)
            nearest = rounded_tilt(proposed, moments)
            proposed = nearest if low < nearest < high else proposed
            # The second condition for laws of two scales, whose deviation jumps with the tilt.
            if abs(proposed - tilt) <= min(_NEAR / deviation, 0.05 * tilt):
                break
            tilt = proposed
        return tilt


def total_loss(parts: Sequence[tuple[PrivacyLossDistribution, int]]) -> TotalLoss:
    """Return the total loss of pairs that are used many times each, from their atoms."""
    resolution = max(1e-9, *(pair.largest_loss for pair, _ in parts)) / 2.0**14
    return TotalLoss([(LossMoments(pair.losses, np.log(pair.masses)), count) for pair, count in parts], resolution)


def rounded_tilt(tilt: float, moments: Moments, near: float = _NEAR) -> float:
    """Return a multiple of a power of two that is near enough to a positive tilt, for a law of these moments.

    The tilted mean is off by half of `near` standard deviations at most.
    """
    quantum = near / math.sqrt(max(moments[2], 1e-280))
    quantum = 2.0 ** math.floor(math.log2(min(quantum, tilt / 4.0)))
    return quantum * round(tilt / quantum)
