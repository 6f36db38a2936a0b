"""Floating-point error constants and bounds that the engine charges for its own arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

__all__ = ["SUBNORMAL", "UNIT", "fft_error", "norm", "spectral_norm", "sum_above", "summation_error"]

UNIT = 2.0**-53
"""The unit roundoff of IEEE double precision."""
_NEARLY_ORTHOGONAL = 1e-9
"""Of columns: what their products, together, have of the largest square, and a bound of their norm may lose."""
SUBNORMAL = 1e-307
"""Charged to every answer: floats below 2.3e-308 are rounded to 5e-324, not relatively."""


def sum_above(first: float, second: float) -> float:
    """Return the smallest float that is not below the exact sum of two floats: infinite where one is."""
    total = first + second
    if not math.isfinite(total) or Fraction(total) >= Fraction(first) + Fraction(second):
        return total
    return math.nextafter(total, math.inf)


def summation_error(terms: int) -> float:
    """Bound the relative error of `numpy.sum` over non-negative terms.

    numpy adds blocks of 128 terms in eight running sums and combines blocks pairwise, so a term passes through at most
    16 + 3 + log2(terms / 128) additions; the bound charges 32 + log2(terms) of them (higham2002, section 4.2).
    """
    return (32.0 + math.log2(max(terms, 1))) * UNIT


def fft_error(length: int) -> float:
    """Bound the relative 2-norm error of one discrete Fourier transform of a power-of-two `length`.

    The argument is that of higham2002, Theorem 24.2, for what pocketfft (behind `numpy.fft`) does to real data of such
    a length: passes of radix 4, which take two levels at once, and one of radix 2 if the levels are odd. A pass is a
    diagonal matrix of twiddle factors and one layer (radix 2) or two (radix 4) of additions, each sqrt(2) times a
    unitary map, so that in the 2-norm a layer costs u, and a twiddle factor its own error and sqrt(5) u for the complex
    product. pocketfft gets a twiddle factor as the product of two table entries: each is off by 2.4u for its argument
    and sqrt(2) u for its cosine and sine, and their product by sqrt(5) u, 10u in all. So a pass of radix 4 costs at
    most 14.3u, of radix 2 13.3u; the former is charged 8u per level, the latter 6u more.
    """
    return UNIT * (8.0 * max(math.log2(length), 1.0) + 6.0)


def norm(values: NDArray[np.float64]) -> float:
    """Return an upper bound on the 2-norm (without a threaded library, whose start-up costs more than the sum)."""
    return math.sqrt(float(np.sum(values * values))) * (1.0 + 1e-9)


def spectral_norm(matrix: NDArray[np.float64]) -> float:
    """Return an upper bound on the largest singular value of a real matrix.

    Raises ValueError if an entry is not finite.

    With V near orthogonal, `|G|^2 <= |GV|^2 / lambda_min(V^T V)`. V holds approximate eigenvectors of G^T G, in any
    precision: P = GV then has nearly orthogonal columns, and `|P|^2 <= max_j |p_j|^2 +` the Frobenius norm of what is
    off the diagonal of P^T P. A computed product of A and B, of inner dimension k, is off by at most
    `k u / (1 - k u) |A|_F |B|_F` in the Frobenius norm, in any order of summation (higham2002, section 3.5).
    """
    largest = float(np.abs(matrix).max(initial=0.0))
    if not math.isfinite(largest):
        raise ValueError(f"matrix has an entry of size {largest:g}, but must be finite.")
    if largest == 0.0:
        return 0.0
    exponent = math.frexp(largest)[1]  # a power of two is exact, and keeps squares within the floats
    scaled = np.ldexp(matrix if matrix.shape[0] >= matrix.shape[1] else matrix.T, -exponent)
    rows, columns = scaled.shape
    inner, outer = (1.01 * length * UNIT for length in (columns, rows))

    def squared(image: NDArray[np.float64], mapped: NDArray[np.float64]) -> tuple[float, float]:
        diagonal, off = float(np.diagonal(image).max()), norm(image - np.diag(np.diagonal(image)))
        return diagonal + off + outer * norm(mapped) ** 2, off / diagonal

    products = scaled.T @ scaled
    square, off = squared(products, scaled)
    if off <= _NEARLY_ORTHOGONAL:  # rotations below each other: V = 1 is as good, without its errors
        bound = math.sqrt(square)
    else:
        vectors = np.linalg.eigh(products)[1]
        mapped, gram = scaled @ vectors, vectors.T @ vectors
        square, _ = squared(mapped.T @ mapped, mapped)
        lack = norm(gram - np.eye(columns)) + inner * norm(vectors) ** 2 + UNIT * columns
        bound = (math.sqrt(square) + inner * norm(scaled) * norm(vectors)) / math.sqrt(1.0 - lack)
    return math.ldexp(bound * (1.0 + 16.0 * UNIT), exponent) + SUBNORMAL
