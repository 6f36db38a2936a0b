"""The truth for `benchmarks.accounting`, by ways that share nothing with the engine: no grid of losses, no FFT."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from mpmath import mp


def bromwich(trials: int, p: float, count: int, delta: float) -> tuple[float, float]:
    """Return epsilon at delta for Bin + 1 against Bin, up and down, by inverting the moment generating function.

    The line of integration goes through the saddle point s of `count K(s) - s epsilon`, where epsilon = count K'(s) is
    the one whose Chernoff bound is delta. tests/benchmarks/test_accounting_reference.py compares 1e-6 and 1e-30.
    """
    y = np.arange(trials, dtype=np.longdouble)
    log_ratio = np.log((trials - y) * np.longdouble(p)) - np.log((y + 1) * (1 - np.longdouble(p)))  # ln f(y+1)/f(y)
    log_f = np.concatenate([[np.longdouble(0)], np.cumsum(log_ratio)])
    f = np.exp(log_f - log_f.max())
    f /= f.sum()
    # Halving the spacing and doubling the points change no printed digit.
    spacing, points = 0.02, 1200
    found = []
    for masses, losses in ((f[:-1], -log_ratio), (f[1:], log_ratio)):
        kept = masses > 1e-200
        mass, loss = masses[kept].astype(float), losses[kept].astype(float)

        def chernoff(at: float, mass: np.ndarray = mass, loss: np.ndarray = loss) -> float:
            tilted = mass * np.exp(at * loss)
            return count * float(np.log(tilted.sum()) - at * (tilted @ loss) / tilted.sum())

        low, high = 0.0, 1000.0
        while high - low > 1e-3:
            middle = 0.5 * (low + high)
            low, high = (middle, high) if chernoff(middle) > math.log(delta) else (low, middle)
        s = low + 1j * spacing * np.arange(points)
        log_mgf = np.log(np.array([np.sum(mass * np.exp(point * loss)) for point in s]))

        def profile(epsilon: float, log_mgf: np.ndarray = log_mgf, s: np.ndarray = s) -> float:
            values = (np.exp(count * log_mgf - s * epsilon) / (s * (s + 1.0))).real
            return float((values[0] / 2.0 + values[1:].sum()) * spacing / math.pi)

        low, high = 0.0, 10.0
        while high - low > 1e-12:
            middle = 0.5 * (low + high)
            low, high = (middle, high) if profile(middle) > delta else (low, middle)
        found.append(low)
    return found[0], found[1]


def gaussian_truth(sigma: float, count: int, targets: Sequence[str]) -> list[tuple[float, mp.mpf]]:
    """Return for each delta (a decimal) a float epsilon near it, and the true delta there to 60 digits."""

    def exact(epsilon: mp.mpf) -> mp.mpf:
        mu = mp.sqrt(count) / sigma
        return mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)

    found = []
    with mp.workdps(60):
        for target in targets:
            low, high = mp.mpf(0), mp.mpf(20)
            while high - low > mp.mpf("1e-18"):
                middle = (low + high) / 2
                low, high = (middle, high) if exact(middle) > mp.mpf(target) else (low, middle)
            epsilon = float(low)
            found.append((epsilon, exact(mp.mpf(epsilon))))
    return found
