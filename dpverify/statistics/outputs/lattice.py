"""The exact law of a sum of independent integer scores, by one Fourier transform: exact levels and exact power.

A likelihood ratio summed over N trials has no closed law. Rounded to a lattice of a hundred levels it loses next to
no power and its law is an N-fold convolution, known within a stated error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from dpverify.rounding import UNIT
from dpverify.search import least_integer
from protocols.validation import check_integer, check_probability

__all__ = ["LatticeSum", "lattice_scores"]

_CUT = 1e-15
"""Mass of the sum that may wrap around at each side of the window."""


def lattice_scores(
    scores: NDArray[np.float64], weights: NDArray[np.float64], *, levels: int = 128, deviations: float = 8.0
) -> NDArray[np.int64]:
    """Return scores rounded to the lattice {0, ..., levels - 1}, an increasing affine map of them but for clipping.

    Parameters
    ----------
    scores : ndarray, shape (atoms,)
        May hold infinities, which go to the ends.
    weights : ndarray, shape (atoms,)
        Probabilities of the atoms; scores beyond `deviations` standard deviations of the finite ones are clipped.
    levels : int
        At least 2.
    """
    check_integer("levels", levels, low=2)
    finite = np.isfinite(scores) & (weights > 0)
    if not finite.any():
        return np.where(scores > 0, levels - 1, 0).astype(np.int64)
    mean = float(np.average(scores[finite], weights=weights[finite]))
    spread = deviations * math.sqrt(float(np.average((scores[finite] - mean) ** 2, weights=weights[finite])))
    low = max(float(scores[finite].min()), mean - spread)
    high = min(float(scores[finite].max()), mean + spread)
    if not high > low:
        low, high = mean - 1.0, mean + 1.0
    return np.rint((np.clip(scores, low, high) - low) / (high - low) * (levels - 1)).astype(np.int64)


@dataclass(frozen=True)
class LatticeSum:
    """The sum of `trials` independent scores with `P(score = k) = pmf[k]`.

    Parameters
    ----------
    pmf : ndarray of float64, shape (levels,)
        Sums to 1 up to rounding; it is normalised.
    trials : int
        At least 1.
    """

    pmf: NDArray[np.float64]
    trials: int

    def __post_init__(self) -> None:
        check_integer("trials", self.trials, low=1)
        object.__setattr__(self, "pmf", self.pmf / self.pmf.sum())

    @property
    def highest(self) -> int:
        """The largest value of the sum."""
        return self.trials * (self.pmf.size - 1)

    @cached_property
    def _window(self) -> tuple[int, NDArray[np.float64], float]:
        """Return (first value, P(S >= first + i) for i = 0, 1, ..., a bound on the error of each)."""
        levels, n = self.pmf.size, self.trials
        mean = n * float(self.pmf @ np.arange(levels))
        # Hoeffding: beyond this distance from the mean there is at most _CUT at each side.
        reach = math.ceil((levels - 1) * math.sqrt(n * math.log(1.0 / _CUT) / 2.0)) + 1
        start, stop = max(0, math.floor(mean) - reach), min(self.highest, math.ceil(mean) + reach) + 1
        length = 1 << (max(stop - start, levels) - 1).bit_length()
        transform = np.fft.rfft(self.pmf, length)
        size = np.abs(transform)
        wrapped = np.fft.irfft(transform**n, length)
        masses = np.roll(wrapped, -(start % length))[: stop - start]
        # Each factor is off by some log2(length) units; the n-th power multiplies that by n |transform|^(n-1).
        error = 8.0 * UNIT * math.log2(length) * n * float(2.0 * np.sum(size ** (n - 1)) + 1.0)
        return start, np.cumsum(masses[::-1])[::-1], error + 2.0 * _CUT

    def tail(self, threshold: int) -> tuple[float, float]:
        """Return a lower and an upper bound of P(S >= threshold)."""
        start, tails, error = self._window
        at = threshold - start
        value = 1.0 if at <= 0 else (float(tails[at]) if at < tails.size else 0.0)
        upper = min(1.0, max(0.0, value) + error)
        return max(0.0, value - error), min(upper, self._chernoff(threshold)) if upper < 1e-6 else upper

    def critical(self, level: float) -> int:
        """Return the smallest t with P(S >= t) <= level: where the test of that level starts to reject.

        It is `highest + 1` if there is none.
        """
        check_probability("level", level)
        start, tails, _ = self._window
        beyond = min(self.highest, start + tails.size) + 1
        return least_integer(lambda threshold: self.tail(threshold)[1] <= level, start - 1, beyond)

    def _chernoff(self, threshold: int) -> float:
        """Bound P(S >= threshold) by `inf_t E[e^(t X)]^n e^(-t threshold)`: good where the transform's error is not."""
        occupied = np.flatnonzero(self.pmf)
        log_pmf, mean = np.log(self.pmf[occupied]), threshold / self.trials
        if mean > occupied[-1]:
            return 0.0

        def exponent(tilt: float) -> float:
            return float(special.logsumexp(log_pmf + tilt * (occupied - mean)))

        best = optimize.minimize_scalar(exponent, bounds=(0.0, 50.0), method="bounded")
        return min(1.0, math.exp(self.trials * min(0.0, float(best.fun)) + 1e-9))
