"""Floating-point error constants and bounds that the engine charges for its own arithmetic."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["SUBNORMAL", "UNIT", "fft_error", "norm", "summation_error"]

UNIT = 2.0**-53
"""The unit roundoff of IEEE double precision."""
SUBNORMAL = 1e-307
"""Charged to every answer: floats below 2.3e-308 are rounded to 5e-324, not relatively."""


def summation_error(terms: int) -> float:
    """Bound the relative error of `numpy.sum` over non-negative terms.

    numpy adds blocks of 128 terms in eight running sums and combines blocks pairwise, so a term passes through at most
    16 + 3 + log2(terms / 128) additions; the bound charges 32 + log2(terms) of them (higham2002, section 4.2).
    """
    return (32.0 + math.log2(max(terms, 1))) * UNIT


def fft_error(length: int) -> float:
    """Bound the relative 2-norm error of one discrete Fourier transform of a power-of-two `length`.

    higham2002, Theorem 24.2, for the radix-2 algorithm with twiddle factors correct to one unit: at most
    `log2(length) * (u + 4 sqrt(2) u)` to first order. Passes of higher radix do the same arithmetic with fewer
    roundings. The bound charges 8u per level.
    """
    return 8.0 * UNIT * max(math.log2(length), 1.0)


def norm(values: NDArray[np.float64]) -> float:
    """Return an upper bound on the 2-norm (without a threaded library, whose start-up costs more than the sum)."""
    return math.sqrt(float(np.sum(values * values))) * (1.0 + 1e-9)
