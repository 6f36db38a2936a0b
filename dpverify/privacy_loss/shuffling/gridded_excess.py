"""The expected excess of a sum of independent copies from above, by one Fourier transform on a grid.

Where large values are so rare that few of them decide, the tilted law is far from normal and a contour needs too many
nodes for each value. Here each value is split between its two neighbours on a grid, which keeps the mean: a
mean-preserving spread, and the excess is convex, so that it only grows.

**Cap.** What values exceed R by is taken out: `(u + v)+ <= u+ + v+`, so that it adds at most n times its mean. R is so
large that this is a ten-thousandth of the answer.

**Window.** With `v(s) = s e^(-tilt s)` and M the moment generating function on the grid, the excess is M^n times the
sum of v over the tilted law of the sum. A transform of finite length wraps that law around. What is wrapped onto
positive sums of the window adds to the bound; sums beyond its end B, from where v falls, add at most `v(B) M^n`.

**Rounding.** Weights are listed too large, all by the same factor. The errors of the transforms are bounded in the
2-norm, as in docs/accounting.md ("From a grid to many instances"), and meet v in its 2-norm.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpverify.privacy_loss.shuffling.few_counts import Values
from dpverify.rounding import SUBNORMAL, UNIT, fft_error, norm, summation_error
from dpverify.search import bisected

__all__ = ["gridded_excess"]

Floats = NDArray[np.float64]

_CAPPED = 1e-4
"""Of the answer: what the cap may add."""
_ENOUGH = 0.95
"""A larger cap is tried while the answer falls below this much of itself."""
_FINE, _COARSE = 2.0**-7, 2.0**-2
"""The spacing in standard deviations of one tilted copy: its variance grows by a quarter of the square, at most."""
_MOST_POINTS = 2**18
_DECAY, _DEVIATIONS = 60.0, 12.0
"""The window ends at so many multiples of 1 / tilt, and begins so many deviations below 0."""
_FLATTEST = 0.1
"""The least tilt, over the deviation of the sum."""
_LARGEST = 600.0


def gridded_excess(variable: Values, copies: int) -> float:
    """Return an upper bound on `E[(Z_1 + ... + Z_n)+]` for n independent copies, no more than `n E[Z+]`.

    - variable: The law of one of them.
    - copies: n, at least 1.
    """
    weights = variable.weights * (1.0 + variable.weight_error)
    values = variable.values + variable.value_errors
    lack = 0.0 if variable.complete else variable.weight_error + 4.0 * UNIT
    rest = 0.0 if variable.complete else max(1.0 - math.fsum(variable.weights), 0.0) + lack
    order = np.argsort(values)
    ends = np.maximum(values[order], 0.0)
    # What exceeds each value in turn, on average.
    masses = np.append(np.cumsum(weights[order][::-1])[::-1], 0.0)
    means = np.append(np.cumsum((weights[order] * ends)[::-1])[::-1], 0.0)
    beyond = copies * (means[1:] - ends * masses[1:])
    found = copies * float(np.sum(weights * np.maximum(values, 0.0))) * (1.0 + 1e-12)
    while True:
        cap = float(ends[int(np.argmax(beyond <= _CAPPED * found))])
        over = copies * float(np.sum(weights * np.maximum(values - cap, 0.0))) * (1.0 + 1e-12)
        here = _on_grid(weights, np.minimum(values, cap), rest, copies) + over
        if not here < _ENOUGH * found:
            return min(here, found)
        found = here


def _on_grid(weights: Floats, values: Floats, rest: float, copies: int) -> float:
    """Return a bound where Z has these values with these weights, and 0 with what rests: no weight is too small."""
    most = float(values.max())

    def tilted_mean(tilt: float) -> float:
        return float(np.sum(weights * values * np.exp(tilt * values)))

    low = tilt = min(_FLATTEST / math.sqrt(copies * float(np.sum(weights * values**2))), 1.0 / most)
    while tilted_mean(tilt) < 0.0 and tilt * most < _LARGEST:
        low, tilt = tilt, 2.0 * tilt
    tilt = bisected(lambda point: tilted_mean(point) >= 0.0, low, tilt, relative=1e-3)[1]
    deviation = math.sqrt(float(np.sum(weights * values**2 * np.exp(tilt * values))))
    reach = _DECAY / tilt + _DEVIATIONS * math.sqrt(copies) * deviation
    step = 2.0 ** math.floor(math.log2(_FINE * deviation))
    while reach > step * _MOST_POINTS and step < _COARSE * deviation:
        step *= 2.0
    if not reach <= step * _MOST_POINTS:
        return math.inf
    length, last = 2 ** math.ceil(math.log2(reach / step)), math.ceil(_DECAY / tilt / step)
    # A step is a power of two: the quotients are exact.
    below = np.floor(values / step)
    share = values / step - below
    cells = np.concatenate([below, below + 1.0, [0.0]])
    split = np.concatenate([weights * (1.0 - share), weights * share, [rest]])
    cells, split = cells[split > 0.0], split[split > 0.0]
    exponents = tilt * step * cells + np.log(split)
    top = float(exponents.max())
    tilted = np.exp(exponents - top)
    total = float(tilted.sum())
    log_mgf = top + math.log(total)
    if not abs(copies * log_mgf) < _LARGEST:
        return math.inf
    units = 8.0 * (tilt * step * float(np.abs(cells).max()) + float(np.abs(np.log(split)).max())) + 16.0
    relative = copies * (UNIT * (units + 8.0 * abs(log_mgf) + cells.size) + summation_error(cells.size))
    folded = np.bincount(cells.astype(np.int64) % length, weights=tilted / total, minlength=length)
    masses, error = _summed(folded.astype(np.float64, copy=False), copies)
    sums = step * np.arange(1.0, last + 1.0)
    falling = sums * np.exp(-tilt * sums)
    terms = falling * masses[1 : last + 1]
    found = float(np.sum(terms)) + norm(falling) * error + float(falling[-1])
    found += float(np.sum(np.abs(terms))) * (summation_error(last) + 256.0 * UNIT)
    return found * math.exp(copies * log_mgf + min(relative, _LARGEST)) * (1.0 + 1e-9) + SUBNORMAL


def _summed(folded: Floats, copies: int) -> tuple[Floats, float]:
    """Return the law of the sum of copies, wrapped around, and a bound on the 2-norm of its error."""
    length = folded.size
    transform = np.fft.rfft(folded)
    # By Parseval's identity the error of a transform is bounded in the 2-norm, hence at each frequency.
    off = fft_error(length) * math.sqrt(length) * norm(folded)
    square = np.maximum(transform.real**2 + transform.imag**2, 1e-300)
    logs, angles = 0.5 * copies * np.log(square), copies * np.angle(transform)
    sizes = np.exp(np.minimum(logs, 1.0))
    units = 12.0 * (np.abs(logs) + np.abs(angles)) + copies + 48.0
    moved = copies * off * math.exp(min(copies * (off + summation_error(length)), _LARGEST))
    # The other half of the frequencies is the conjugate of this one: sqrt(2) in the 2-norm.
    moved += 1.5 * (norm(UNIT * sizes * units) + fft_error(length) * norm(sizes))
    return np.fft.irfft(sizes * np.exp(1j * angles), length), moved / math.sqrt(length)
